// The types of abi.h against the CUDA toolkit's own headers: a small file of static assertions, compiled with g++ where the toolkit is
// there.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/fs.h"
#include "base/subprocess.h"

namespace cutegen::sim {
namespace {

std::filesystem::path cuda_include() {
  const std::filesystem::path nvcc = find_program("nvcc");
  if (nvcc.empty()) return {};
  const auto include = std::filesystem::canonical(nvcc).parent_path().parent_path() / "include";
  return std::filesystem::exists(include / "cuda_runtime_api.h") ? include : std::filesystem::path();
}

TEST(Abi, MatchesTheToolkitsHeaders) {
  const auto include = cuda_include();
  if (include.empty()) GTEST_SKIP() << "no CUDA toolkit: nvcc is not on PATH";
  const auto version = read_file(include / "cuda_runtime_api.h");
  ASSERT_TRUE(version.ok());
  if (version->find("#define CUDART_VERSION  13") == std::string::npos) GTEST_SKIP() << "the toolkit on PATH is not CUDA 13";
  const std::string source = std::string(CUTEGEN_SOURCE_DIR) + "/tests/sim/abi_check.cc";
  const auto compiled =
      run({{"g++", "-std=c++20", "-fsyntax-only", "-I" + std::string(CUTEGEN_SOURCE_DIR) + "/src", "-isystem", include.string(), source},
           {},
           {},
           ""},
          Deadline::in(system_clock(), Seconds(120)));
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  EXPECT_TRUE(compiled->status.success()) << compiled->err;
}

}  // namespace
}  // namespace cutegen::sim
