#include "device/lease.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "base/fs.h"

namespace cutegen {
namespace {

using ::testing::HasSubstr;

class LeaseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto dir = TempDir::make("cutegen-lease-test");
    ASSERT_TRUE(dir.ok());
    dir_.emplace(std::move(dir).value());
    ::setenv("CUTEGEN_LOCK_DIR", dir_->path().c_str(), 1);
  }
  void TearDown() override { ::unsetenv("CUTEGEN_LOCK_DIR"); }
  static Deadline at_once() { return Deadline::in(system_clock(), Seconds(0)); }
  static Deadline soon() { return Deadline::in(system_clock(), Seconds(20)); }

  // A child that holds the lease of `gpu`; returns once it has it.
  static pid_t holder(const std::string& gpu) {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(ready[0]);
      auto lease = acquire_gpu_lease(gpu, soon());
      const char byte = lease.ok() ? 'y' : 'n';
      [[maybe_unused]] const ssize_t n = ::write(ready[1], &byte, 1);
      for (;;) ::pause();
    }
    ::close(ready[1]);
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    EXPECT_EQ(byte, 'y');
    ::close(ready[0]);
    return child;
  }
  static void kill_and_reap(pid_t pid) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }

  std::optional<TempDir> dir_;
};

TEST_F(LeaseTest, ExcludesASecondHolderAndNamesTheFirst) {
  const pid_t first = holder("GPU-a");
  const auto second = acquire_gpu_lease("GPU-a", at_once());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Errc::timeout);
  EXPECT_THAT(second.error().message, HasSubstr("process " + std::to_string(first)));
  kill_and_reap(first);
}

TEST_F(LeaseTest, DiesWithItsHolderEvenByKillMinusNine) {
  const pid_t first = holder("GPU-a");
  kill_and_reap(first);
  EXPECT_TRUE(acquire_gpu_lease("GPU-a", at_once()).ok());
}

TEST_F(LeaseTest, WaitsUntilTheGpuIsFree) {
  const pid_t first = holder("GPU-a");
  const pid_t killer = ::fork();
  if (killer == 0) {
    ::usleep(200'000);
    ::kill(first, SIGKILL);
    ::_exit(0);
  }
  EXPECT_TRUE(acquire_gpu_lease("GPU-a", soon()).ok());
  ::waitpid(killer, nullptr, 0);
  ::waitpid(first, nullptr, 0);
}

TEST_F(LeaseTest, EndsWithItsObject) {
  {
    const auto lease = acquire_gpu_lease("GPU-a", at_once());
    ASSERT_TRUE(lease.ok());
    EXPECT_FALSE(acquire_gpu_lease("GPU-a", at_once()).ok());  // also within one process
  }
  EXPECT_TRUE(acquire_gpu_lease("GPU-a", at_once()).ok());
}

TEST_F(LeaseTest, GpusDoNotDisturbEachOther) {
  const auto a = acquire_gpu_lease("GPU-a", at_once());
  EXPECT_TRUE(a.ok());
  EXPECT_TRUE(acquire_gpu_lease("GPU-b", at_once()).ok());
}

TEST_F(LeaseTest, TheFileIsOpenToEveryUserWhateverTheUmask) {
  const mode_t before = ::umask(077);
  const auto lease = acquire_gpu_lease("GPU-a", at_once());
  ::umask(before);
  ASSERT_TRUE(lease.ok());
  struct stat st = {};
  ASSERT_EQ(::stat(lease_path("GPU-a").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0666u);
}

TEST_F(LeaseTest, AnUnusableDirectoryIsAnErrorWithAHint) {
  ::setenv("CUTEGEN_LOCK_DIR", "/no/such/directory", 1);
  const auto lease = acquire_gpu_lease("GPU-a", at_once());
  ASSERT_FALSE(lease.ok());
  EXPECT_EQ(lease.error().code, Errc::io);
  EXPECT_THAT(lease.error().hint, HasSubstr("CUTEGEN_LOCK_DIR"));
}

TEST_F(LeaseTest, NamesNeverLeaveTheDirectory) { EXPECT_EQ(lease_path("../../etc/passwd").parent_path(), dir_->path()); }

}  // namespace
}  // namespace cutegen
