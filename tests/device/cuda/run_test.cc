// run(): what a candidate reads, writes and must not write.
#include <bit>

#include "device/cuda/fixture.h"

namespace cutegen::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RunTest : public CudaDeviceTest {};

TEST_F(RunTest, ReadsInputsAndParametersAndReturnsOutputs) {
  config_.outputs_in = SharedTensor::Where::shm;
  open();
  RunRequest r = request(plan({launch_of("add", {input(0), param(0), output(0), scalar(3, 8)})}), 3);
  r.inputs = {tensors_.floats("x", {1, 2, 3})};
  r.params = {tensors_.floats("bias", {10, 20, 30})};
  auto result = device_->run(r);
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_TRUE(result->outcome.ok()) << result->outcome.detail;
  ASSERT_EQ(result->outputs.size(), 1u);
  EXPECT_EQ(result->outputs[0].spec, r.outputs[0]);
  EXPECT_THAT(read_shm<float>(result->outputs[0]), ElementsAre(11, 22, 33));
}

TEST_F(RunTest, DescribesTheGpu) {
  open();
  const DeviceInfo info = device_->info();
  EXPECT_EQ(info.kind, DeviceKind::cuda);
  EXPECT_EQ(info.name, "Stand-in GPU");
  EXPECT_EQ(info.arch, "sm_90a");
  EXPECT_EQ(info.sm_count, 4);
  EXPECT_EQ(info.l2_bytes, 1 << 20);
  EXPECT_EQ(info.uuid, "GPU-00112233-4455-6677-8899-aabbccddeeff");
  EXPECT_TRUE(device_->measures_time());
}

TEST_F(RunTest, WhatNobodyWritesHoldsThePoison) {
  RunRequest r = request(plan({launch_of("noop", {output(0)})}), 5);
  r.poison = 0x7fc0beef;
  open();
  auto result = device_->run(r);
  ASSERT_TRUE(result.ok() && result->outcome.ok());
  EXPECT_THAT(read_shm<uint32_t>(result->outputs[0]), Each(0x7fc0beefu));
}

TEST_F(RunTest, PoisonCoversTheLastOddBytes) {
  RunRequest r = request(plan({launch_of("noop", {output(0)})}));
  r.outputs = {TensorSpec{"y", DType::u8, {7}}};
  open();
  auto result = device_->run(r);
  ASSERT_TRUE(result.ok() && result->outcome.ok());
  EXPECT_THAT(read_shm<uint8_t>(result->outputs[0]), ElementsAre(0xad, 0xde, 0xc0, 0x7f, 0xad, 0xde, 0xc0));
}

TEST_F(RunTest, WorkspaceIsPoisonedUnlessThePlanWantsZeroes) {
  Plan p = plan({launch_of("read_workspace", {output(0), workspace()})});
  p.workspace_bytes = 64;
  RunRequest r = request(p, 1);
  open();
  for (int i = 0; i < 2; ++i) {  // the second run must not find what the first left behind
    auto result = device_->run(r);
    ASSERT_TRUE(result.ok() && result->outcome.ok()) << result->outcome.detail;
    EXPECT_THAT(read_shm<uint32_t>(result->outputs[0]), ElementsAre(r.poison));
  }
  p.workspace_zeroed = true;
  r.build = build(p);
  auto zeroed = device_->run(r);
  ASSERT_TRUE(zeroed.ok() && zeroed->outcome.ok());
  EXPECT_THAT(read_shm<float>(zeroed->outputs[0]), ElementsAre(0));
}

TEST_F(RunTest, WritingBeforeABufferBreaksItsCanary) {
  RunRequest r = request(plan({launch_of("write_before", {output(0)})}));
  open();
  const Outcome outcome = outcome_of(r);
  EXPECT_EQ(outcome.kind, OutcomeKind::canary_broken);
  // A float at index -3 changes bytes -12 to -9; whether the first of them differs from the guard's is fixed by the pattern.
  EXPECT_THAT(outcome.detail, HasSubstr("output 0 'y': written before its start, at byte -12"));
  expect_healthy();
  EXPECT_EQ(device_->executors_started(), 1);  // no fault of the GPU: the executor goes on
}

TEST_F(RunTest, WritingOneBytePastAnOddSizedBufferBreaksItsCanary) {
  RunRequest r = request(plan({launch_of("write_after", {output(0), scalar(7, 4)})}));
  r.outputs = {TensorSpec{"y", DType::u8, {7}}};
  open();
  const Outcome outcome = outcome_of(r);
  EXPECT_EQ(outcome.kind, OutcomeKind::canary_broken);
  EXPECT_THAT(outcome.detail, HasSubstr("output 0 'y': written past its end, at byte 7 of 7"));
}

TEST_F(RunTest, TheFarEndOfACanaryIsWatchedToo) {
  RunRequest r = request(plan({launch_of("write_after", {output(0), scalar(16 + 4095, 4)})}));
  open();
  EXPECT_EQ(outcome_of(r).kind, OutcomeKind::canary_broken);
  r.build = build(plan({launch_of("write_after", {output(0), scalar(15, 4)})}));  // the last byte of the output itself
  EXPECT_EQ(outcome_of(r).kind, OutcomeKind::ok);
}

TEST_F(RunTest, WritingAnInputIsNoticed) {
  RunRequest r = request(plan({launch_of("write_input", {input(0), output(0)})}));
  r.inputs = {tensors_.floats("x", {1, 2, 3, 4})};
  open();
  Outcome outcome = outcome_of(r);
  EXPECT_EQ(outcome.kind, OutcomeKind::input_modified);
  EXPECT_THAT(outcome.detail, HasSubstr("input 0 'x'"));
  r.build = build(plan({launch_of("write_input", {param(0), output(0)})}));
  r.params = {tensors_.floats("weight", {1, 2, 3, 4})};
  outcome = outcome_of(r);
  EXPECT_EQ(outcome.kind, OutcomeKind::input_modified);
  EXPECT_THAT(outcome.detail, HasSubstr("parameter 0 'weight'"));
  EXPECT_THAT(read_shm<float>(r.params[0]), ElementsAre(1, 2, 3, 4));  // the oracle's own copy is out of reach
}

TEST_F(RunTest, LaunchAttributesReachTheDriver) {
  Launch launch = launch_of("report", {output(0)});
  launch.grid = {32, 1, 1};
  launch.block = {96, 1, 1};
  launch.cluster = {16, 1, 1};
  launch.smem_bytes = 200 << 10;
  launch.cooperative = true;
  Launch second = launch;
  second.args = {output(1)};
  second.cooperative = false;
  second.pdl = true;
  RunRequest r = request(plan({launch, second}), 6);
  r.outputs.push_back(TensorSpec{"z", DType::f32, {6}});
  open();
  auto result = device_->run(r);
  ASSERT_TRUE(result.ok() && result->outcome.ok()) << result->outcome.detail;
  EXPECT_THAT(read_shm<float>(result->outputs[0]), ElementsAre(32, 96, 16, 200 << 10, 1, 0));
  EXPECT_THAT(read_shm<float>(result->outputs[1]), ElementsAre(32, 96, 16, 200 << 10, 0, 1));
}

TEST_F(RunTest, TensorMapsAreEncodedAndPassedByValue) {
  Plan p = plan({launch_of("copy_map", {PlanArg{ArgKind::tensor_map, 0, 0, 0, 128}, output(0)})});
  PlanTensorMap map;
  map.shape = {2, 3};
  map.strides = {8};
  map.box = {2, 3};
  map.element_strides = {1, 1};
  p.tensor_maps = {map};
  RunRequest r = request(p, 6);
  r.inputs = {tensors_.floats("x", {1, 2, 3, 4, 5, 6})};
  open();
  auto result = device_->run(r);
  ASSERT_TRUE(result.ok() && result->outcome.ok()) << result->outcome.detail;
  EXPECT_THAT(read_shm<float>(result->outputs[0]), ElementsAre(1, 2, 3, 4, 5, 6));
  p.tensor_maps[0].box = {1024, 3};
  r.build = build(p);
  const Outcome refused = outcome_of(r);
  EXPECT_EQ(refused.kind, OutcomeKind::invalid_launch);
  EXPECT_THAT(refused.detail, HasSubstr("tensor map 0"));
}

TEST_F(RunTest, OutputHashesDependOnEveryBitAndOnNothingElse) {
  open();
  const auto hash = [&](const std::vector<float>& x, bool graph) -> uint64_t {
    RunRequest r = scale_request(x);
    r.graph = graph;
    auto result = device_->run(r);
    EXPECT_TRUE(result.ok() && result->outcome.ok());
    EXPECT_EQ(result->used_graph, graph);
    EXPECT_EQ(result->output_hashes.size(), 1u);
    return result->output_hashes.at(0);
  };
  // Five floats end inside a 16-byte word, so what follows the output must not matter.
  const uint64_t first = hash({1, 2, 3, 4, 5}, false);
  EXPECT_EQ(hash({1, 2, 3, 4, 5}, true), first);
  EXPECT_NE(hash({1, 2, 3, 5, 4}, false), first);
  EXPECT_NE(hash({1, 2, 3, 4, std::bit_cast<float>(std::bit_cast<uint32_t>(5.0f) + 1)}, false), first);
}

TEST_F(RunTest, CandidatesPayNoAllocationOnceThePoolIsWarm) {
  open();
  expect_healthy();
  clear_trace();
  expect_healthy();
  EXPECT_EQ(traced("alloc"), 0) << trace();
  EXPECT_EQ(traced("load"), 1);  // another build
}

TEST_F(RunTest, ModulesAreKeptByBuildKey) {
  open();
  const RunRequest r = scale_request({1, 2});
  ASSERT_TRUE(outcome_of(r).ok());
  clear_trace();
  ASSERT_TRUE(outcome_of(r).ok());
  EXPECT_EQ(traced("load"), 0);
}

TEST_F(RunTest, OutputsAreGoneAtTheNextCall) {
  open();
  auto first = device_->run(scale_request({1}));
  ASSERT_TRUE(first.ok() && first->outcome.ok());
  ASSERT_TRUE(Shm::open_readable(first->outputs[0].handle).ok());
  auto second = device_->run(scale_request({1}));
  EXPECT_FALSE(Shm::open_readable(first->outputs[0].handle).ok());
  const std::string last = second->outputs.at(0).handle;
  device_.reset();
  EXPECT_FALSE(Shm::open_readable(last).ok());
}

TEST_F(RunTest, MissingInputMemoryIsAnErrorThatNamesIt) {
  open();
  RunRequest r = scale_request({1, 2});
  r.inputs[0].handle = "/cutegen-test-no-such-object";
  auto result = device_->run(r);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("/cutegen-test-no-such-object"));
  r = scale_request({1, 2});
  r.inputs[0].offset = 8;
  result = device_->run(r);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Errc::invalid_input);
  expect_healthy();
}

}  // namespace
}  // namespace cutegen::test
