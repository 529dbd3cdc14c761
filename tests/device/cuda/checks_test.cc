#include "device/cuda/checks.h"

#include <gtest/gtest.h>

#include "base/fs.h"
#include "base/subprocess.h"

namespace cutegen::cuda {
namespace {

TEST(ChecksPtx, AssemblesForEveryGpuThatCountsItSelf) {
  if (find_program("ptxas").empty()) GTEST_SKIP() << "ptxas is not on PATH";
  auto dir = TempDir::make("cutegen-checks-test");
  ASSERT_TRUE(dir.ok());
  const auto ptx = dir->path() / "checks.ptx";
  ASSERT_TRUE(write_file_atomic(ptx, kChecksPtx).ok());
  for (const char* arch : {"sm_80", "sm_90a"}) {
    const auto cubin = (dir->path() / arch).string();
    auto done =
        run({{"ptxas", std::string("-arch=") + arch, ptx.string(), "-o", cubin}, {}, {}, {}}, Deadline::in(system_clock(), Seconds(60)));
    ASSERT_TRUE(done.ok());
    EXPECT_TRUE(done->status.success()) << arch << "\n" << done->err;
  }
}

TEST(ChecksPtx, GuardBytesFollowTheFormulaOfThePtx) {
  EXPECT_EQ(guard_byte(0), 13);
  EXPECT_EQ(guard_byte(1), 180);
  EXPECT_EQ(guard_byte(4095), static_cast<uint8_t>(4095u * 167u + 13u));
}

}  // namespace
}  // namespace cutegen::cuda
