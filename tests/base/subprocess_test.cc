#include "base/subprocess.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "base/fs.h"

namespace cutegen {
namespace {

Deadline soon(double seconds = 20) { return Deadline::in(system_clock(), Seconds(seconds)); }

int processes_named(const std::string& argument) {
  auto found = run({{"sh", "-c", "pgrep -fc \"$0\" || true", "[" + argument.substr(0, 1) + "]" + argument.substr(1)}, {}, {}, {}}, soon());
  return found.ok() ? std::atoi(found->out.c_str()) : -1;
}

TEST(Run, CollectsBothStreamsAndTheExitCode) {
  auto r = run({{"sh", "-c", "echo out; echo err >&2; exit 3"}, {}, {}, {}}, soon());
  ASSERT_TRUE(r.ok()) << r.error().message;
  EXPECT_EQ(r->out, "out\n");
  EXPECT_EQ(r->err, "err\n");
  EXPECT_EQ(r->status.code, 3);
  EXPECT_FALSE(r->status.success());
}

TEST(Run, FeedsStandardInputLargerThanAPipe) {
  const std::string big(1 << 20, 'x');
  auto r = run({{"wc", "-c"}, {}, {}, big}, soon());
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(std::atoi(r->out.c_str()), 1 << 20);
}

TEST(Run, PassesEnvironmentAndDirectory) {
  auto r = run({{"sh", "-c", "printf '%s %s' \"$COLOUR\" \"$PWD\""}, {{"COLOUR", "teal"}}, "/", {}}, soon());
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r->out, "teal /");
}

TEST(Run, ReportsTheSignal) {
  auto r = run({{"sh", "-c", "kill -SEGV $$"}, {}, {}, {}}, soon());
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r->status.signal, SIGSEGV);
  EXPECT_EQ(r->status.describe(), "killed by SIGSEGV");
}

TEST(Run, MissingProgramIsAnErrorThatNamesIt) {
  auto r = run({{"no-such-program-here"}, {}, {}, {}}, soon());
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().code, Errc::missing_dependency);
  EXPECT_NE(r.error().message.find("no-such-program-here"), std::string::npos);
}

TEST(Run, TimeoutKillsGrandchildrenToo) {
  auto r = run({{"sh", "-c", "sleep 98761 & sleep 98761"}, {}, {}, {}}, soon(0.3));
  ASSERT_TRUE(r.ok());
  EXPECT_TRUE(r->status.timed_out);
  EXPECT_EQ(r->status.describe(), "timed out");
  EXPECT_EQ(processes_named("sleep 98761"), 0);
}

TEST(Run, BackgroundLeftoversAreSwept) {
  auto r = run({{"sh", "-c", "sleep 98762 >/dev/null 2>&1 & exit 0"}, {}, {}, {}}, soon());
  ASSERT_TRUE(r.ok());
  EXPECT_TRUE(r->status.success());
  EXPECT_EQ(processes_named("sleep 98762"), 0);
}

TEST(Child, EchoesFramesAndDiesWithItsParent) {
  auto dir = TempDir::make("child-test");
  ASSERT_TRUE(dir.ok());
  auto child = Child::spawn({{"sh", "-c", "echo noise; cat <&3 >&3"}, {}, {}, {}}, dir->path() / "log");
  ASSERT_TRUE(child.ok()) << child.error().message;
  ASSERT_TRUE(send_frame(child->channel(), Json{{"op", "hello"}, {"n", 7}}).ok());
  auto back = receive_frame(child->channel(), soon());
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ((*back)["n"], 7);
  EXPECT_TRUE(child->alive());
  EXPECT_TRUE(child->stop().success());
  EXPECT_FALSE(child->alive());
  EXPECT_EQ(*read_file(dir->path() / "log"), "noise\n");
}

TEST(Child, KilledParentLeavesNoOrphans) {
  const int parent = ::fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    auto child = Child::spawn({{"sh", "-c", "sleep 98763 & sleep 98763"}, {}, {}, {}}, "/dev/null");
    ::pause();
  }
  for (int i = 0; i < 100 && processes_named("sleep 98763") < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_GE(processes_named("sleep 98763"), 2);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  for (int i = 0; i < 100 && processes_named("sleep 98763") > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(processes_named("sleep 98763"), 0);
}

TEST(Frames, AnOversizedLengthIsRefused) {
  int pair[2];
  ASSERT_EQ(::socketpair(1, 1, 0, pair), 0);
  const unsigned char header[4] = {0xff, 0xff, 0xff, 0xff};
  ASSERT_EQ(::write(pair[0], header, 4), 4);
  auto r = receive_frame(pair[1], soon());
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().code, Errc::protocol);
}

TEST(Frames, ASilentPeerTimesOut) {
  int pair[2];
  ASSERT_EQ(::socketpair(1, 1, 0, pair), 0);
  auto r = receive_frame(pair[1], soon(0.05));
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().code, Errc::timeout);
}

}  // namespace
}  // namespace cutegen
