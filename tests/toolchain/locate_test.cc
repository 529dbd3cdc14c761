#include "toolchain/locate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fs.h"

namespace cutegen {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A machine made of small files: tools that answer as the real ones do.
class LocateTest : public testing::Test {
 protected:
  LocateTest() : dir_(*TempDir::make("locate-")) {
    for (const char* name : {"CUTEGEN_NVCC", "CUTEGEN_CUTLASS", "CUTEGEN_HOST_CXX"}) unsetenv(name);
    write("data/kernels/include/cutegen/kernel.cuh", "");
    script("data/.toolchain/cuda/bin/nvcc", "echo 'Cuda compilation tools, release 13.0, V13.0.88'");
    script("data/.toolchain/cuda/bin/ptxas", "exit 0");
    script("bin/g++", "exit 0");
    write("data/.toolchain/cutlass/include/cute/tensor.hpp", "");
    write("data/.toolchain/cutlass/include/cutlass/version.h",
          "#define CUTLASS_MAJOR 4\n#define CUTLASS_MINOR 2\n#define CUTLASS_PATCH 0\n");
    places_.data = dir_.path() / "data";
    places_.host_compiler = dir_.path() / "bin/g++";
  }
  void write(const fs::path& path, const std::string& text) { ASSERT_TRUE(write_file_atomic(dir_.path() / path, text).ok()); }
  void script(const fs::path& path, const std::string& body) {
    write(path, "#!/bin/sh\n" + body + "\n");
    fs::permissions(dir_.path() / path, fs::perms::owner_all);
  }
  std::string error() {
    const auto tools = locate_tools(places_);
    if (tools.ok()) return "found";
    EXPECT_EQ(tools.error().code, Errc::missing_dependency);
    EXPECT_FALSE(tools.error().hint.empty());
    return tools.error().message;
  }
  TempDir dir_;
  ToolchainPlaces places_;
};

TEST_F(LocateTest, FindsTheProjectsOwnTools) {
  const auto tools = locate_tools(places_);
  ASSERT_TRUE(tools.ok()) << tools.error().message;
  EXPECT_EQ(tools->nvcc, places_.data / ".toolchain/cuda/bin/nvcc");
  EXPECT_EQ(tools->ptxas, places_.data / ".toolchain/cuda/bin/ptxas");
  EXPECT_EQ(tools->cutlass, fs::canonical(places_.data / ".toolchain/cutlass/include"));
  EXPECT_EQ(tools->nvcc_version, "13.0.88");
  EXPECT_EQ(tools->cutlass_version, "4.2.0");
}

TEST_F(LocateTest, AcceptsACutlassCheckout) {
  fs::rename(places_.data / ".toolchain/cutlass", dir_.path() / "checkout");
  places_.cutlass = dir_.path() / "checkout";
  EXPECT_EQ(error(), "found");
}

TEST_F(LocateTest, SaysWhatIsMissing) {
  places_.nvcc = "/nowhere/nvcc";
  EXPECT_THAT(error(), HasSubstr("the CUDA compiler '/nowhere/nvcc' is not an executable file"));
  places_.nvcc.clear();
  places_.host_compiler = "/nowhere/g++";
  EXPECT_THAT(error(), HasSubstr("the host compiler '/nowhere/g++'"));
  places_.host_compiler = dir_.path() / "bin/g++";
  places_.cutlass = "/nowhere";
  EXPECT_THAT(error(), HasSubstr("/nowhere holds no cute/tensor.hpp"));
  places_.cutlass.clear();
  fs::remove(places_.data / ".toolchain/cuda/bin/ptxas");
  EXPECT_THAT(error(), HasSubstr("ptxas was not found beside"));
  script("data/.toolchain/cuda/bin/ptxas", "exit 0");
  script("data/.toolchain/cuda/bin/nvcc", "echo broken; exit 3");
  EXPECT_THAT(error(), HasSubstr("does not answer as nvcc does (exit code 3)"));
  places_.data = dir_.path() / "bin";
  EXPECT_THAT(error(), HasSubstr("holds no cutegen/kernel.cuh"));
}

TEST_F(LocateTest, SaysThatNoCompilerIsOnPath) {
  const std::string path = getenv("PATH");
  places_.host_compiler.clear();
  setenv("PATH", (dir_.path() / "empty").c_str(), 1);
  EXPECT_THAT(error(), HasSubstr("no C++ compiler was found on PATH; nvcc needs one to preprocess"));
  setenv("PATH", (dir_.path() / "bin").c_str(), 1);
  script("bin/clang++", "exit 0");
  fs::remove(dir_.path() / "bin/g++");
  const auto tools = locate_tools(places_);
  setenv("PATH", path.c_str(), 1);
  ASSERT_TRUE(tools.ok()) << tools.error().message;
  EXPECT_EQ(tools->host_compiler, dir_.path() / "bin/clang++");
}

TEST(LocateParsers, TolerateOtherTexts) {
  EXPECT_EQ(parse_nvcc_version(""), "");
  EXPECT_EQ(parse_nvcc_version("release 12.8, V12.8.61\nBuild x"), "12.8.61");
  EXPECT_EQ(parse_cutlass_version("#define CUTLASS_MAJOR 4"), "");
}

}  // namespace
}  // namespace cutegen
