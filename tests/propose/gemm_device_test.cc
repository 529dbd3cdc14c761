// The gemm family's device code as nvcc compiles it: layouts proved by static_assert, and the instructions that the design counts on.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/fs.h"
#include "base/subprocess.h"
#include "propose/gemm_tasks.h"
#include "propose/playbook/gemm.h"

namespace cutegen::playbook {
namespace {

const std::filesystem::path kRoot = CUTEGEN_SOURCE_DIR;

std::filesystem::path cute_headers() {
  if (const char* given = std::getenv("CUTEGEN_CUTLASS")) return given;
  return kRoot / ".toolchain/cutlass/include";
}

bool have_nvcc() {
  auto version = run({{"nvcc", "--version"}, {}, {}, {}}, Deadline::in(system_clock(), Seconds(60)));
  return version.ok() && version->status.success();
}

int count(const std::string& text, const std::string& what) {
  int n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++n;
  return n;
}

// The PTX of `source`, or the compiler's complaints as a test failure.
std::string ptx_of(const Task& task, const std::string& source) {
  auto folder = TempDir::make("gemm");
  if (!folder.ok()) return ADD_FAILURE() << folder.error().message, "";
  const std::filesystem::path dir = folder->path();
  EXPECT_TRUE(write_file_atomic(dir / "task.h", task_header(task)).ok());
  EXPECT_TRUE(write_file_atomic(dir / "candidate.cu", source).ok());
  auto built = run(
      {{"nvcc", "-ptx", "-arch=compute_90a", "-std=c++20", "-O3", "--expt-relaxed-constexpr", "-I" + (kRoot / "kernels/include").string(),
        "-I" + cute_headers().string(), "-I" + dir.string(), "candidate.cu", "-o", "candidate.ptx"},
       {},
       dir,
       {}},
      Deadline::in(system_clock(), Seconds(600)));
  if (!built.ok()) return ADD_FAILURE() << built.error().message, "";
  EXPECT_TRUE(built->status.success()) << built->out << built->err;
  auto ptx = read_file(dir / "candidate.ptx");
  return ptx.ok() ? *ptx : "";
}

TEST(GemmDevice, LayoutsHoldAndTheMainLoopIsTensorCoreCode) {
  if (!std::filesystem::exists(cute_headers() / "cute/tensor.hpp")) GTEST_SKIP() << "no CuTe headers at " << cute_headers();
  if (!have_nvcc()) GTEST_SKIP() << "no nvcc on PATH";
  const Task task = testing::linear_relu_divide(300, 200, 4096);
  auto match = gemm_schema().match({task, "sm_90a", 132, kRoot / "kernels"});
  ASSERT_TRUE(match.ok()) << match.error().message;
  auto config = (*match)->with((*match)->default_config(), "cluster", 2);
  ASSERT_TRUE(config.ok()) << config.error().message;
  auto source = (*match)->render(*config);
  ASSERT_TRUE(source.ok()) << source.error().message;
  auto facts = read_file(kRoot / "tests/propose/gemm_layouts.cu");
  ASSERT_TRUE(facts.ok());
  const std::string ptx = ptx_of(task, *source + *facts);
  EXPECT_EQ(count(ptx, "wgmma.mma_async"), 12) << "three products of 64 of K, 16 at a time";
  EXPECT_GE(count(ptx, ".multicast::cluster"), 1) << "a cluster's CTAs fetch one term of B each";
  EXPECT_EQ(count(ptx, ".local"), 0) << "a fragment that is indexed at run time lives in local memory";
}

}  // namespace
}  // namespace cutegen::playbook
