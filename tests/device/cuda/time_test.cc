// time(): what lies inside the measured window, what outside, and what is kept between calls.
#include "device/cuda/driver.h"
#include "device/cuda/fixture.h"

namespace cutegen::test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class TimeTest : public CudaDeviceTest {
 protected:
  TimeRequest time_request(Plan p, int sets = 1) {
    TimeRequest r;
    r.build = build(std::move(p));
    for (int s = 0; s < sets; ++s) r.input_sets.push_back({tensors_.floats("x", {1, 2, 3, 4})});
    r.outputs = {TensorSpec{"y", DType::f32, {4}}};
    r.repeats = 5;
    return r;
  }
  Plan scale_plan() { return plan({launch_of("scale", {input(0), output(0), scalar(4, 4)})}); }

  TimeResult timed(const TimeRequest& r) {
    auto result = device_->time(r);
    EXPECT_TRUE(result.ok()) << result.error().message;
    return result.ok() ? std::move(result).value() : TimeResult{};
  }
};

// The stand-in takes 0.25 ms a kernel and 0.1 ms a memset: poisoning, flushing and copying must not be in the window.
TEST_F(TimeTest, OnlyThePlanIsInTheWindow) {
  open();
  const TimeResult one = timed(time_request(scale_plan()));
  ASSERT_TRUE(one.outcome.ok()) << one.outcome.detail;
  EXPECT_THAT(one.ms, AllOf(SizeIs(5), Each(::testing::DoubleNear(0.25, 1e-6))));
  Plan two = scale_plan();
  two.launches.push_back(two.launches[0]);
  EXPECT_THAT(timed(time_request(two)).ms, Each(::testing::DoubleNear(0.5, 1e-6)));
}

TEST_F(TimeTest, ZeroingTheWorkspaceIsTimedWithThePlan) {
  Plan p = scale_plan();
  p.workspace_bytes = 256;
  p.workspace_zeroed = true;
  open();
  EXPECT_THAT(timed(time_request(p)).ms, Each(::testing::DoubleNear(0.35, 1e-6)));
}

TEST_F(TimeTest, FlushesL2BeforeEachRepeatOnlyWhenCold) {
  open();
  TimeRequest r = time_request(scale_plan());
  r.warmup = 2;
  timed(r);
  EXPECT_EQ(traced("memset32 67108864 "), 7) << "256 MiB, more than twice the L2, before each repeat";
  EXPECT_EQ(traced("reset_l2"), 7);
  EXPECT_EQ(traced("limit 6 0"), 1);
  clear_trace();
  r.cold_l2 = false;
  timed(r);
  EXPECT_EQ(traced("memset32 67108864 "), 0);
  EXPECT_EQ(traced("kernel cutegen_spin"), 7);
}

TEST_F(TimeTest, EverySetHasItsGraphAndAllRotate) {
  open();
  TimeRequest r = time_request(scale_plan(), 3);
  r.warmup = 1;  // raised to one a set
  timed(r);
  EXPECT_EQ(traced("capture"), 3);
  EXPECT_EQ(traced("graph_launch"), 3 + 5);
  EXPECT_EQ(traced("kernel scale"), 3 + 5);
}

TEST_F(TimeTest, ASecondCallIsCheap) {
  open();
  const TimeRequest r = time_request(scale_plan(), 2);
  ASSERT_TRUE(timed(r).outcome.ok());
  clear_trace();
  ASSERT_TRUE(timed(r).outcome.ok());
  EXPECT_EQ(traced("capture"), 0);
  EXPECT_EQ(traced("load"), 0);
  EXPECT_EQ(traced("alloc"), 0);
}

TEST_F(TimeTest, InputsAreCopiedAnewAtEachCall) {
  open();
  TimeRequest r = time_request(scale_plan());
  ASSERT_TRUE(timed(r).outcome.ok());
  clear_trace();
  ShmTensors others;
  r.input_sets = {{others.floats("x", {9, 9, 9, 9})}};
  ASSERT_TRUE(timed(r).outcome.ok());
  EXPECT_EQ(traced("capture"), 0);  // the same buffers and graph ...
  r.input_sets[0][0].handle = "/cutegen-test-gone";
  EXPECT_FALSE(device_->time(r).ok());  // ... but the memory named by this request is opened again
}

TEST_F(TimeTest, MisbehaviourWhileTimingIsNoticed) {
  open();
  EXPECT_EQ(timed(time_request(plan({launch_of("write_input", {input(0), output(0)})}))).outcome.kind, OutcomeKind::input_modified);
  EXPECT_EQ(timed(time_request(plan({launch_of("write_before", {output(0)})}))).outcome.kind, OutcomeKind::canary_broken);
  const TimeResult fault = timed(time_request(plan({launch_of("fault_700", {output(0)})})));
  EXPECT_EQ(fault.outcome.kind, OutcomeKind::illegal_address);
  EXPECT_TRUE(fault.ms.empty());
  EXPECT_EQ(timed(time_request(plan({launch_of("reject_701", {output(0)})}))).outcome.kind, OutcomeKind::invalid_launch);
  TimeRequest hang = time_request(plan({launch_of("hang", {output(0)})}));
  hang.time_limit = Seconds(0.5);
  EXPECT_EQ(timed(hang).outcome.kind, OutcomeKind::timeout);
  expect_healthy();
}

TEST_F(TimeTest, AfterARejectedCaptureTheStreamWorksAgain) {
  open();
  EXPECT_EQ(timed(time_request(plan({launch_of("reject_1", {output(0)})}))).outcome.kind, OutcomeKind::invalid_launch);
  EXPECT_THAT(timed(time_request(scale_plan())).ms, Each(::testing::DoubleNear(0.25, 1e-6)));
  EXPECT_EQ(device_->executors_started(), 1);
}

TEST_F(TimeTest, TimingMemoryIsGivenUpForARunThatNeedsIt) {
  config_.env["FAKE_CUDA_MEMORY"] = std::to_string(448 << 20);
  open();
  Plan big = scale_plan();
  big.workspace_bytes = 90 << 20;
  const TimeResult result = timed(time_request(big));
  ASSERT_TRUE(result.outcome.ok()) << result.outcome.detail;
  RunRequest r = request(big);  // another 90 MiB do not fit beside the kept 90 and the 256 that flush the L2
  r.inputs = {tensors_.floats("x", {1, 2, 3, 4})};
  const Outcome outcome = outcome_of(r);
  EXPECT_TRUE(outcome.ok()) << outcome.detail;
  EXPECT_GT(traced("free"), 0);
}

TEST_F(TimeTest, NeedsAnInputSet) {
  open();
  TimeRequest r = time_request(scale_plan(), 0);
  const auto result = device_->time(r);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Errc::invalid_input);
}

// The oracle on a GPU: memory of another process by CUDA IPC, here this test's own through the stand-in.
TEST_F(TimeTest, TensorsCrossByCudaIpc) {
  auto loaded = cuda::Driver::load(std::string(CUTEGEN_FAKE_CUDA_DIR) + "/libcuda.so.1");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const cuda::Driver& oracle = **loaded;
  cuda::CUdeviceptr memory = 0;
  ASSERT_EQ(oracle.cuMemAlloc(&memory, 4096), cuda::kSuccess);
  cuda::CUipcMemHandle handle = {};
  ASSERT_EQ(oracle.cuIpcGetMemHandle(&handle, memory), cuda::kSuccess);
  const float values[] = {5, 6, 7, 8};
  std::memcpy(reinterpret_cast<char*>(memory) + 512, values, sizeof values);

  open();
  RunRequest r;
  r.build = build(plan({launch_of("add", {input(0), input(1), output(0), scalar(4, 8)})}));
  const TensorSpec spec{"x", DType::f32, {4}};
  r.inputs = {{spec, SharedTensor::Where::cuda_ipc, cuda::to_hex(handle), 512},
              {spec, SharedTensor::Where::cuda_ipc, cuda::to_hex(handle), 512}};
  r.outputs = {TensorSpec{"y", DType::f32, {4}}};
  auto result = device_->run(r);
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_TRUE(result->outcome.ok()) << result->outcome.detail;
  EXPECT_EQ(traced("ipc_open"), 1) << "both tensors live in one allocation";
  EXPECT_EQ(traced("ipc_close"), 1) << "the candidate must not find it mapped";
  const std::string order = trace();
  EXPECT_LT(order.find("ipc_close"), order.find("kernel add"));

  const SharedTensor& y = result->outputs.at(0);
  ASSERT_EQ(y.where, SharedTensor::Where::cuda_ipc);
  const auto theirs = cuda::ipc_handle_from_hex(y.handle);
  ASSERT_TRUE(theirs.ok());
  cuda::CUdeviceptr mapped = 0;
  ASSERT_EQ(oracle.cuIpcOpenMemHandle(&mapped, *theirs, 1), cuda::kSuccess);
  const auto* got = reinterpret_cast<const float*>(mapped + static_cast<uint64_t>(y.offset));
  EXPECT_THAT(std::vector<float>(got, got + 4), ElementsAre(10, 12, 14, 16));
  oracle.cuIpcCloseMemHandle(mapped);
  oracle.cuMemFree(memory);

  const auto closed = device_->run(r);  // the oracle's memory is gone: its handle does not open
  ASSERT_FALSE(closed.ok());
  EXPECT_THAT(closed.error().message, HasSubstr("input 0 'x'"));
}

}  // namespace
}  // namespace cutegen::test
