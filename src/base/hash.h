// Content hashes: BLAKE2b-256 through libsodium, as 64 lower-case hex digits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cutegen {

std::string hash_hex(std::string_view content);

// Hashes several fields without ambiguity (each is length-prefixed).
class Hasher {
 public:
  Hasher();
  Hasher& add(std::string_view field);
  Hasher& add(int64_t number);
  std::string hex();  // finishes; call once

 private:
  alignas(64) unsigned char state_[512];  // crypto_generichash_state, kept out of this header
};

// A 64-bit stream of pseudo-random numbers (SplitMix64): reproducible on every machine, for seeds and shuffles.
class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t bound) { return bound == 0 ? 0 : next() % bound; }

 private:
  uint64_t state_;
};

}  // namespace cutegen
