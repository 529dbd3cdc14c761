#include "sim/elf.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "base/fs.h"

namespace cutegen::sim {
namespace {

std::string own_binary() {
  auto content = read_file("/proc/self/exe");
  EXPECT_TRUE(content.ok());
  return content.ok() ? *content : std::string();
}

TEST(Elf, TellsWhatAProgramNeeds) {
  const auto facts = read_elf(own_binary());
  ASSERT_TRUE(facts.ok()) << facts.error().message;
  EXPECT_TRUE(facts->needs("libc.so"));
  EXPECT_FALSE(facts->needs("libcudart.so"));
  EXPECT_FALSE(facts->holds_device_code);
}

TEST(Elf, OtherFilesAreErrors) {
  EXPECT_FALSE(read_elf("").ok());
  EXPECT_FALSE(read_elf("#!/bin/sh\nexit 0\n").ok());
  EXPECT_FALSE(read_elf(own_binary().substr(0, 200)).ok());
}

TEST(Elf, DamageNeverReadsOutside) {
  std::string bytes = own_binary();
  bytes.resize(std::min<size_t>(bytes.size(), 1 << 16));
  std::mt19937 random(3);
  for (int i = 0; i < 500; ++i) {
    std::string damaged = bytes;
    for (int k = 0; k < 3; ++k) damaged[24 + random() % 40] = static_cast<char>(random());  // the header behind its magic
    (void)read_elf(damaged).ok();
  }
}

}  // namespace
}  // namespace cutegen::sim
