// Comparing rendered kernels with the files in tests/propose/golden; CUTEGEN_UPDATE_GOLDEN=1 writes them anew for review.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/fs.h"

namespace cutegen::testing {

inline void expect_golden(const std::string& name, const std::string& text) {
  const std::filesystem::path path = std::filesystem::path(CUTEGEN_SOURCE_DIR) / "tests/propose/golden" / name;
  if (std::getenv("CUTEGEN_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(write_file_atomic(path, text).ok());
    return;
  }
  auto golden = read_file(path);
  ASSERT_TRUE(golden.ok()) << "no golden file " << path;
  EXPECT_EQ(text, *golden) << name << " changed; if that is meant, run with CUTEGEN_UPDATE_GOLDEN=1 and review the difference";
}

}  // namespace cutegen::testing
