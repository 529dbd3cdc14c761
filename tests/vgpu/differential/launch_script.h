// Launch scripts of templates/: what buffers a candidate has and how its kernels are launched. See scripts/gpu/differential_templates.py
// for the lines. Depends on nothing: the runner on the GPU uses it too.
#pragma once

#include <array>
#include <cstring>
#include <fstream>
#include <sstream>

#include "vgpu/differential/inputs.h"

namespace cutegen::differential {

struct LaunchScript {
  struct Buffer {
    std::string kind;  // "f32", "f16", "bf16", "s64": an input; "out", "work"
    size_t bytes = 0;
    std::vector<char> contents;
  };
  struct Argument {
    bool is_buffer = false;
    size_t buffer = 0, bytes = 8;
    uint64_t value = 0;  // or the offset
  };
  struct Launch {
    std::string kernel;
    std::array<unsigned, 3> grid{}, block{}, cluster{};
    unsigned smem_bytes = 0;
    bool cooperative = false;
    std::vector<Argument> arguments;
  };
  std::vector<Buffer> buffers;
  std::vector<Launch> launches;
};

inline uint64_t tensor_element(Random& r, const std::string& kind) {
  if (kind == "f32") {  // about normal: four uniform variables
    int64_t sum = -2 * 65535;
    for (int i = 0; i < 4; ++i) sum += static_cast<int64_t>(r.next() >> 48);
    const auto x = static_cast<float>(static_cast<double>(sum) / 37837.0);
    uint32_t bits = 0;
    std::memcpy(&bits, &x, 4);
    return bits;
  }
  if (kind == "s64") return r.below(2001) - 1000;
  const FloatFormat f = float_format(kind);
  return f.make(r.next(), f.bias() - 3 + static_cast<int64_t>(r.below(4)), r.next());
}

inline LaunchScript read_launch_script(const std::string& path, const std::string& name) {
  LaunchScript s;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "buffer") {
      LaunchScript::Buffer b;
      size_t count = 0;
      words >> b.kind >> count;
      size_t size = b.kind == "s64" ? 8 : b.kind == "f32" ? 4 : 2;
      const bool input = b.kind.find(':') == std::string::npos;
      if (!input) size = std::stoul(b.kind.substr(b.kind.find(':') + 1)), b.kind = b.kind.substr(0, b.kind.find(':'));
      b.bytes = count * size;
      b.contents.assign(b.bytes, b.kind == "out" ? static_cast<char>(0xcd) : 0);
      Random r{hash_text(name) + s.buffers.size()};
      for (size_t i = 0; input && i < count; ++i) {
        const uint64_t v = tensor_element(r, b.kind);
        std::memcpy(&b.contents[i * size], &v, size);
      }
      s.buffers.push_back(std::move(b));
    } else if (word == "launch") {
      LaunchScript::Launch l;
      auto dims = [&](std::array<unsigned, 3>& d) {
        char comma = 0;
        words >> d[0] >> comma >> d[1] >> comma >> d[2];
      };
      words >> l.kernel;
      dims(l.grid), dims(l.block), dims(l.cluster);
      words >> l.smem_bytes >> l.cooperative;
      while (words >> word) {
        LaunchScript::Argument a;
        const size_t mark = word.find_first_of("+:");
        a.is_buffer = word[0] == 'b';
        (a.is_buffer ? a.buffer : a.bytes) = std::stoul(word.substr(1, mark - 1));
        a.value = std::stoull(word.substr(mark + 1));
        l.arguments.push_back(a);
      }
      s.launches.push_back(std::move(l));
    }
  }
  return s;
}

}  // namespace cutegen::differential
