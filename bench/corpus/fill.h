// The contents of the corpus' buffers: the same bytes on the GPU and on the virtual GPU.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

namespace corpus {

inline uint32_t mixed(uint32_t x) {  // a permutation of 32-bit integers
  x ^= x >> 16, x *= 0x7feb352du;
  x ^= x >> 15, x *= 0x846ca68bu;
  return x ^ x >> 16;
}

// 32-bit words of a buffer of `words` words. `count` is the number behind the colon of index and cycle.
inline void fill(uint32_t* data, uint64_t words, const std::string& how, uint32_t count) {
  for (uint64_t i = 0; i < words; ++i) {
    const uint32_t h = mixed(static_cast<uint32_t>(i));
    uint32_t v = 0;
    if (how == "unit") {
      const float f = static_cast<float>(h >> 8) * 0x1p-24f;
      std::memcpy(&v, &f, 4);
    } else if (how == "half") {
      v = 0x3f003f00u | (h & 0x007f007fu);  // bf16 in [0.5, 1); as fp16, between 1.75 and 2
    } else if (how == "index") {
      v = h % count;
    } else if (how == "cycle") {  // every 32nd word names the next one: x -> (5 x + 1) mod count is one cycle when count is a power of two
      v = static_cast<uint32_t>((i / 32 * 5 + 1) % count * 32);
    }
    data[i] = v;
  }
}

}  // namespace corpus
