#include "device/cuda/wire.h"

#include <gtest/gtest.h>

namespace cutegen::cuda {
namespace {

std::shared_ptr<const Build> sample_build() {
  auto build = std::make_shared<Build>();
  build->key = "k";
  build->cubin = "/a/b.cubin";
  build->ptx = "/a/b.ptx";
  Launch launch;
  launch.kernel = "f";
  launch.grid = {1, 2, 3};
  launch.block = {4, 5, 6};
  launch.cluster = {1, 2, 1};
  launch.smem_bytes = 77;
  launch.cooperative = true;
  launch.pdl = true;
  launch.args = {{ArgKind::param, 3, 16, 0, 8}, {ArgKind::scalar, 0, 0, ~uint64_t{0}, 8}};
  build->plan.launches = {launch};
  PlanTensorMap map;
  map.dtype = DType::bf16;
  map.buffer = ArgKind::output;
  map.index = 2;
  map.offset = 32;
  map.shape = {64, 8};
  map.strides = {128};
  map.box = {64, 4};
  map.element_strides = {1, 1};
  map.swizzle = 3;
  map.oob_fill = 1;
  build->plan.tensor_maps = {map};
  build->plan.workspace_bytes = 12;
  build->plan.workspace_zeroed = true;
  return build;
}

// What is written, sent as text, read and written again must be the same.
template <class T, class Read>
void expect_round_trip(const T& value, const Read& read) {
  const Json first = to_wire(value);
  const auto back = read(Json::parse(first.dump()));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(to_wire(*back), first);
}

TEST(Wire, RequestsAndResultsSurvive) {
  const SharedTensor tensor{TensorSpec{"x", DType::f16, {2, 3}}, SharedTensor::Where::shm, "/n", 8};
  RunRequest run;
  run.build = sample_build();
  run.inputs = {tensor};
  run.params = {tensor, tensor};
  run.outputs = {tensor.spec};
  run.poison = 0xffffffff;
  run.time_limit = Seconds(1.5);
  run.graph = true;
  expect_round_trip(run, run_request_from_wire);
  TimeRequest time;
  time.build = run.build;
  time.input_sets = {{tensor}, {tensor, tensor}};
  time.repeats = 7;
  time.cold_l2 = false;
  expect_round_trip(time, time_request_from_wire);
  RunResult ran;
  ran.outcome = {OutcomeKind::canary_broken, "why"};
  ran.outputs = {tensor};
  ran.output_hashes = {~uint64_t{0}};
  ran.used_graph = true;
  expect_round_trip(ran, run_result_from_wire);
  TimeResult timed;
  timed.ms = {0.25, 1e-3};
  timed.before.sm_mhz = 1980;
  timed.after.throttle_reasons = uint64_t{1} << 40;
  expect_round_trip(timed, time_result_from_wire);
}

TEST(Wire, ThePlanArrivesWhole) {
  const auto sent = sample_build();
  const auto got = build_from_wire(to_wire(*sent));
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(to_json((*got)->plan), to_json(sent->plan));
}

TEST(Wire, EveryErrorCodeAndOutcomeHasAName) {
  for (const Errc code : {Errc::invalid_input, Errc::missing_dependency, Errc::io, Errc::timeout, Errc::device, Errc::unsupported}) {
    const Error back = error_from_wire(to_wire(Error{code, "m", "h", "d"}));
    EXPECT_EQ(back.code, code);
    EXPECT_EQ(back.message + back.hint + back.detail, "mhd");
  }
  for (int kind = 0; kind <= static_cast<int>(OutcomeKind::check_failed); ++kind) {
    const auto outcome = static_cast<OutcomeKind>(kind);
    EXPECT_EQ(parse_outcome_kind(to_string(outcome)), outcome) << kind;
  }
}

TEST(Wire, MalformedMessagesAreErrors) {
  EXPECT_FALSE(run_request_from_wire(Json::object()).ok());
  EXPECT_FALSE(time_request_from_wire(Json::array()).ok());
  EXPECT_FALSE(run_result_from_wire({{"outcome", {{"kind", "splendid"}, {"detail", ""}}}}).ok());
  Json build = to_wire(*sample_build());
  build["launches"][0]["args"][0] = {1, 2, -3, 4, 5};
  EXPECT_FALSE(build_from_wire(build).ok());
  build["launches"][0]["args"][0] = {1, 2};
  EXPECT_FALSE(build_from_wire(build).ok());
}

TEST(IpcHandle, HexSurvivesAndNonsenseIsRefused) {
  CUipcMemHandle handle = {};
  for (size_t i = 0; i < sizeof handle.reserved; ++i) handle.reserved[i] = static_cast<unsigned char>(i * 5);
  const std::string hex = to_hex(handle);
  const auto back = ipc_handle_from_hex(hex);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(to_hex(*back), hex);
  EXPECT_FALSE(ipc_handle_from_hex(hex.substr(1)).ok());
  EXPECT_FALSE(ipc_handle_from_hex("zz" + hex.substr(2)).ok());
}

}  // namespace
}  // namespace cutegen::cuda
