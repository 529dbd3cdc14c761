// Shared by the tests of the virtual GPU.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/fs.h"
#include "vgpu/vgpu.h"

namespace cutegen::vgpu {

inline std::shared_ptr<const Program> load_fixture(const std::string& name) {
  auto text = read_file(std::string(CUTEGEN_SOURCE_DIR) + "/tests/vgpu/fixtures/" + name);
  EXPECT_TRUE(text.ok()) << name;
  auto program = load_ptx(std::move(text).value(), name);
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().message);
  return program.ok() ? *program : nullptr;
}

// Packs arguments as a kernel's parameters are laid out: each aligned to its size.
template <class... A>
std::vector<uint8_t> pack_arguments(A... args) {
  std::vector<uint8_t> bytes;
  auto one = [&](auto a) {
    bytes.resize((bytes.size() + sizeof a - 1) / sizeof a * sizeof a);
    const size_t at = bytes.size();
    bytes.resize(at + sizeof a);
    std::memcpy(bytes.data() + at, &a, sizeof a);
  };
  (one(args), ...);
  return bytes;
}

// A vector as a device buffer for the time of a test.
template <class T>
uint64_t map(Memory& memory, const char* name, std::vector<T>& v) {
  return memory.map(name, v.data(), v.size() * sizeof(T));
}

}  // namespace cutegen::vgpu
