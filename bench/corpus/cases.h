// cases.txt: one launch a line. Shared by the program that runs them on a GPU and the one that runs them on the virtual GPU.
#pragma once

#include <array>
#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace corpus {

struct Argument {
  bool is_buffer = false;
  int buffer = 0;
  uint64_t offset = 0;  // bytes into it
  uint64_t value = 0;   // little-endian, `size` bytes
  uint32_t size = 8;
};

struct Buffer {
  uint64_t bytes = 0;
  std::string fill;
  uint32_t count = 0;
};

struct Case {
  std::string name, source, kernel;
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  uint32_t smem = 0;
  std::vector<Argument> args;
  std::map<int, Buffer> buffers;
};

inline std::array<uint32_t, 3> dims(const std::string& text) {
  std::array<uint32_t, 3> d{1, 1, 1};
  std::stringstream in(text);
  std::string part;
  for (size_t i = 0; i < 3 && std::getline(in, part, 'x'); ++i) d[i] = static_cast<uint32_t>(std::stoul(part));
  return d;
}

inline uint64_t size_of(const std::string& text) {
  const uint64_t n = std::stoull(text);
  return text.back() == 'K' ? n << 10 : text.back() == 'M' ? n << 20 : n;
}

inline std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> out;
  std::stringstream in(text);
  for (std::string part; std::getline(in, part, by);) out.push_back(part);
  return out;
}

inline Argument argument(const std::string& text, std::map<int, Buffer>& buffers) {
  const std::vector<std::string> part = split(text, ':');
  Argument a;
  if (text[0] == 'b') {
    a.is_buffer = true;
    a.buffer = std::stoi(part[0].substr(1));
    Buffer& b = buffers[a.buffer];
    b.bytes = size_of(part[1]), b.fill = part[2];
    if (part.size() > 3 && part[3][0] == '+')
      a.offset = std::stoull(part[3].substr(1));
    else if (part.size() > 3)
      b.count = static_cast<uint32_t>(std::stoul(part[3]));
  } else if (text[0] == 'f') {
    const float f = std::stof(part[1]);
    static_assert(sizeof f == 4);
    __builtin_memcpy(&a.value, &f, 4);
    a.size = 4;
  } else {
    a.value = static_cast<uint64_t>(std::stoll(part[1]));
    a.size = text[0] == 'l' ? 8 : 4;
  }
  return a;
}

inline std::vector<Case> read_cases(const std::string& path) {
  std::vector<Case> out;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::stringstream words(line);
    Case c;
    std::string grid, block, arg;
    words >> c.name >> c.source >> c.kernel >> grid >> block >> c.smem;
    c.grid = dims(grid), c.block = dims(block);
    while (words >> arg) {
      if (arg[0] == 'c')
        c.cluster = dims(arg.substr(2));
      else
        c.args.push_back(argument(arg, c.buffers));
    }
    out.push_back(std::move(c));
  }
  return out;
}

}  // namespace corpus
