// Every way in which a candidate can end, and the recovery after it.
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <thread>

#include "base/fd.h"
#include "device/cuda/driver.h"
#include "device/cuda/fixture.h"
#include "device/cuda/wire.h"

namespace cutegen::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class FaultTest : public CudaDeviceTest {
 protected:
  RunRequest kernel(const std::string& name) { return request(plan({launch_of(name, {output(0)})})); }
};

// Whether a process ends within five seconds (or has ended). A pidfd tells also where nobody reaps orphans.
bool gone(int pid) {
  const Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.valid()) return errno == ESRCH;
  pollfd ended = {pidfd.get(), POLLIN, 0};
  return ::poll(&ended, 1, 5000) == 1;
}

struct FaultCase {
  int code;
  OutcomeKind kind;
};
class FaultCodeTest : public FaultTest, public ::testing::WithParamInterface<FaultCase> {};

TEST_P(FaultCodeTest, BecomesItsOutcomeAndTheNextRunHasAFreshExecutor) {
  open();
  const Outcome outcome = outcome_of(kernel("fault_" + std::to_string(GetParam().code)));
  EXPECT_EQ(outcome.kind, GetParam().kind) << outcome.detail;
  EXPECT_THAT(outcome.detail, HasSubstr("launch 0 'fault_" + std::to_string(GetParam().code) + "'"));
  expect_healthy();
  EXPECT_EQ(device_->executors_started(), 2);
}

INSTANTIATE_TEST_SUITE_P(Codes, FaultCodeTest,
                         ::testing::Values(FaultCase{700, OutcomeKind::illegal_address}, FaultCase{717, OutcomeKind::illegal_address},
                                           FaultCase{716, OutcomeKind::misaligned_address}, FaultCase{719, OutcomeKind::launch_failure},
                                           FaultCase{714, OutcomeKind::launch_failure}, FaultCase{715, OutcomeKind::illegal_instruction},
                                           FaultCase{718, OutcomeKind::illegal_instruction}, FaultCase{710, OutcomeKind::assert_or_trap},
                                           FaultCase{702, OutcomeKind::timeout}),
                         [](const auto& row) { return "Code" + std::to_string(row.param.code); });

TEST_F(FaultTest, TheDriversNameAndTextAreKept) {
  open();
  EXPECT_THAT(outcome_of(kernel("fault_700")).detail, HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS: as told to the stand-in"));
}

TEST_F(FaultTest, TheFaultingLaunchOfAPlanIsNamed) {
  RunRequest r = request(plan({launch_of("noop", {output(0)}), launch_of("fault_700", {output(0)}), launch_of("report", {output(0)})}), 6);
  open();
  EXPECT_THAT(outcome_of(r).detail, AllOf(HasSubstr("launch 1 'fault_700'"), Not(HasSubstr("launch 0")), Not(HasSubstr("report"))));
  Plan overlapping = r.build->plan;
  overlapping.launches[1].pdl = true;  // may run beside launch 0, so the two are named together
  r.build = build(overlapping);
  EXPECT_THAT(outcome_of(r).detail, AllOf(HasSubstr("launch 0 'noop', launch 1 'fault_700'"), Not(HasSubstr("report"))));
}

TEST_F(FaultTest, AFaultInAGraphReplayIsAnOutcomeToo) {
  RunRequest r = kernel("fault_716");
  r.graph = true;
  open();
  const Outcome outcome = outcome_of(r);
  EXPECT_EQ(outcome.kind, OutcomeKind::misaligned_address);
  EXPECT_THAT(outcome.detail, HasSubstr("graph"));
}

TEST_F(FaultTest, RejectedLaunchesAreInvalidAndKeepTheExecutor) {
  open();
  for (const int code : {1, 701, 720, 912}) {
    const Outcome outcome = outcome_of(kernel("reject_" + std::to_string(code)));
    EXPECT_EQ(outcome.kind, OutcomeKind::invalid_launch) << code;
    EXPECT_THAT(outcome.detail, HasSubstr("launch 0 'reject_" + std::to_string(code) + "'"));
  }
  expect_healthy();
  EXPECT_EQ(device_->executors_started(), 1);
}

TEST_F(FaultTest, PlansThatDoNotFitTheirKernelAreInvalid) {
  open();
  const auto invalid = [&](const RunRequest& r, const std::string& why) {
    const Outcome outcome = outcome_of(r);
    EXPECT_EQ(outcome.kind, OutcomeKind::invalid_launch) << why;
    EXPECT_THAT(outcome.detail, HasSubstr(why));
  };
  Launch big = launch_of("noop", {output(0)});
  big.smem_bytes = 228 << 10;
  invalid(request(plan({big})), "dynamic shared memory");
  invalid(request(plan({launch_of("noop", {})})), "the plan has 0 arguments, the kernel takes more");
  invalid(request(plan({launch_of("noop", {output(0), output(0)})})), "the plan has 2 arguments, the kernel takes 1");
  invalid(request(plan({launch_of("noop", {scalar(1, 4)})})), "argument 0 has 4 bytes, the kernel takes 8");
  invalid(request(plan({launch_of("noop", {input(0)})})), "no tensor number 0");
  invalid(request(plan({launch_of("noop", {workspace()})})), "asks for no workspace");
  invalid(request(plan({launch_of("noop", {PlanArg{ArgKind::output, 0, 17, 0, 8}})})), "offset 17 is outside output 0 'y' of 16 bytes");
  invalid(request(plan({launch_of("copy_map", {PlanArg{ArgKind::tensor_map, 3, 0, 0, 128}, output(0)})})), "no tensor map 3");
  invalid(request(plan({})), "no launches");
  expect_healthy();
}

TEST_F(FaultTest, LoadFailures) {
  open();
  RunRequest r = kernel("noop");
  r.build = build(plan({launch_of("noop", {output(0)})}), "not a cubin");
  EXPECT_EQ(outcome_of(r).kind, OutcomeKind::load_failure);
  r.build = build(plan({launch_of("noop", {output(0)})}), "fake cubin with other kernels");
  Outcome outcome = outcome_of(r);
  EXPECT_EQ(outcome.kind, OutcomeKind::load_failure);
  EXPECT_THAT(outcome.detail, HasSubstr("finding kernel 'noop'"));
  auto absent = std::make_shared<Build>(*r.build);
  absent->key = "absent";
  absent->cubin = dir_->path() / "absent.cubin";
  r.build = absent;
  EXPECT_EQ(outcome_of(r).kind, OutcomeKind::load_failure);
  expect_healthy();
  EXPECT_EQ(device_->executors_started(), 1);
}

TEST_F(FaultTest, OutOfMemory) {
  config_.env["FAKE_CUDA_MEMORY"] = std::to_string(32 << 20);
  open();
  Plan p = plan({launch_of("noop", {output(0)})});
  p.workspace_bytes = 30 << 20;
  Outcome outcome = outcome_of(request(p));
  EXPECT_EQ(outcome.kind, OutcomeKind::out_of_memory);
  EXPECT_THAT(outcome.detail, HasSubstr("the workspace"));
  p.workspace_bytes = uint64_t{1} << 63;
  EXPECT_EQ(outcome_of(request(p)).kind, OutcomeKind::out_of_memory);
  expect_healthy();
  EXPECT_EQ(device_->executors_started(), 1);
}

TEST_F(FaultTest, KeptMemoryIsGivenUpBeforeMemoryRunsOut) {
  config_.env["FAKE_CUDA_MEMORY"] = std::to_string(32 << 20);
  open();
  for (const int mib : {4, 6, 12, 20}) {  // together more than there is
    Plan p = plan({launch_of("noop", {output(0)})});
    p.workspace_bytes = static_cast<uint64_t>(mib) << 20;
    EXPECT_TRUE(outcome_of(request(p)).ok()) << mib;
  }
}

TEST_F(FaultTest, AHangIsKilledAtItsTimeLimitAndTheLaunchNamed) {
  RunRequest r = request(plan({launch_of("noop", {output(0)}), launch_of("hang", {output(0)})}));
  r.time_limit = Seconds(0.5);
  open();
  const int pid = device_->executor_pid();
  const Outcome outcome = outcome_of(r);
  EXPECT_EQ(outcome.kind, OutcomeKind::timeout);
  EXPECT_THAT(outcome.detail, AllOf(HasSubstr("0.5 s"), HasSubstr("launch 1 'hang'")));
  EXPECT_TRUE(gone(pid));
  expect_healthy();
}

TEST_F(FaultTest, ACrashOfTheExecutorIsReportedWithItsLog) {
  open();
  const Outcome outcome = outcome_of(kernel("crash"));
  EXPECT_EQ(outcome.kind, OutcomeKind::executor_lost);
  EXPECT_THAT(outcome.detail, HasSubstr("launch 0 'crash'"));
  EXPECT_THAT(outcome.detail, HasSubstr("SIGSEGV"));
  EXPECT_THAT(outcome.detail, HasSubstr("fake driver: crashing as told"));
  expect_healthy();
  const Outcome second = outcome_of(kernel("crash"));
  EXPECT_EQ(second.kind, OutcomeKind::executor_lost);
}

TEST_F(FaultTest, NonsenseOnTheChannelLosesTheExecutor) {
  open();
  const Outcome outcome = outcome_of(kernel("garbage"));
  EXPECT_EQ(outcome.kind, OutcomeKind::executor_lost);
  EXPECT_THAT(outcome.detail, HasSubstr("nonsense"));
  expect_healthy();
}

TEST_F(FaultTest, AnExecutorKilledBetweenCallsIsReplaced) {
  open();
  expect_healthy();
  const int pid = device_->executor_pid();
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  ASSERT_TRUE(gone(pid));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // its guard passes the news on
  expect_healthy();
  EXPECT_EQ(device_->executors_started(), 2);
}

TEST_F(FaultTest, ClosingTheDeviceEndsTheExecutor) {
  open();
  const int pid = device_->executor_pid();
  device_.reset();
  EXPECT_TRUE(gone(pid));
}

TEST_F(FaultTest, TheExecutorDiesWithItsParentEvenInAHang) {
  int pipe_fds[2];
  ASSERT_EQ(::pipe(pipe_fds), 0);
  RunRequest r = kernel("hang");
  const pid_t parent = ::fork();
  if (parent == 0) {
    open();
    const int pid = device_->executor_pid();
    [[maybe_unused]] const ssize_t n = ::write(pipe_fds[1], &pid, sizeof pid);
    [[maybe_unused]] const auto never = device_->run(r);
    ::_exit(0);
  }
  ::close(pipe_fds[1]);
  int executor = 0;
  ASSERT_EQ(::read(pipe_fds[0], &executor, sizeof executor), static_cast<ssize_t>(sizeof executor));
  ::close(pipe_fds[0]);
  ASSERT_GT(executor, 0);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  EXPECT_TRUE(gone(executor));
}

TEST_F(FaultTest, NoDriverIsAMissingDependencyWithAHint) {
  config_.env["LD_LIBRARY_PATH"] = dir_->path().string();
  // A machine with a GPU has a driver of its own, where the stand-in is asked to have none.
  if (cuda::Driver::load().ok()) config_.env = {{"LD_LIBRARY_PATH", CUTEGEN_FAKE_CUDA_DIR}, {"FAKE_CUDA_INIT", "100"}};
  const auto opened = CudaDevice::open(config_);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, Errc::missing_dependency);
  EXPECT_THAT(opened.error().hint, HasSubstr("nvidia-smi"));
}

TEST_F(FaultTest, ADriverWithoutGpuIsAMissingDependencyWithTheDriversText) {
  config_.env["FAKE_CUDA_INIT"] = "100";
  const auto opened = CudaDevice::open(config_);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, Errc::missing_dependency);
  EXPECT_THAT(opened.error().message, HasSubstr("CUDA_ERROR_NO_DEVICE"));
}

TEST_F(FaultTest, AnUnknownOrdinalIsInvalidInput) {
  config_.ordinal = 3;
  const auto opened = CudaDevice::open(config_);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, Errc::invalid_input);
  EXPECT_THAT(opened.error().message, HasSubstr("no GPU number 3: this machine shows 1"));
}

TEST_F(FaultTest, AProgramThatIsNoExecutorIsADeviceError) {
  config_.executor = "/bin/sh";
  config_.arguments = {"-c", "echo this is no executor"};
  const auto opened = CudaDevice::open(config_);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, Errc::device);
  EXPECT_THAT(opened.error().detail, HasSubstr("this is no executor"));
}

}  // namespace
}  // namespace cutegen::test
