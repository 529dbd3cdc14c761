#include "judge/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "judge/scripted.h"
#include "support/fake_clock.h"
#include "support/fake_oracle.h"

namespace cutegen {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace cutegen::test;

constexpr char kSource[] = R"(#include <cutegen/kernel.cuh>
#include <task.h>
extern "C" __global__ void f(float const* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }
CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(f).grid(1).block(32).args(cutegen::input(0), cutegen::output(0))));
)";

Candidate candidate() { return {kSource, Backend::cuda, "test", Json::object()}; }

// The module of most tests: rounding makes its fp32 reference differ from float64.
template <class Real>
Real square_plus_third(Real x) {
  return x * x + Real(1) / Real(3);
}
constexpr auto kModule = [](auto x) { return square_plus_third(x); };

Outcome correct(KernelCall& call) {
  for (size_t i = 0; i < call.inputs[0].size(); ++i) call.outputs[0][i] = square_plus_third(call.inputs[0][i]);
  return {};
}

// Correct, then spoiled.
KernelDevice::Kernel correct_then(std::function<void(KernelCall&)> spoil) {
  return [spoil = std::move(spoil)](KernelCall& call) {
    Outcome outcome = correct(call);
    spoil(call);
    return outcome;
  };
}

// An evaluation of one kernel, with everything in reach of the test.
struct Bench {
  explicit Bench(KernelDevice::Kernel kernel, FakeModule module = elementwise_module(1000, kModule))
      : oracle(std::move(module)), device(std::move(kernel)) {}

  Result<Verdict> try_evaluate() { return Judge(oracle, toolchain, device, *clock).evaluate(source, policy, deadline); }
  Verdict evaluate() {
    auto verdict = try_evaluate();
    EXPECT_TRUE(verdict.ok()) << verdict.error().message;
    return verdict.ok() ? *verdict : Verdict{};
  }

  FakeOracle oracle;
  KernelDevice device;
  ScriptedToolchain toolchain;
  const Clock* clock = &system_clock();
  Candidate source = candidate();
  JudgePolicy policy;
  Deadline deadline;
};

const CheckEvidence* find_check(const Verdict& verdict, const std::string& name) {
  for (const CheckEvidence& check : verdict.checks) {
    if (check.name == name) return &check;
  }
  return nullptr;
}

bool check_failed(const Verdict& verdict, const std::string& name) {
  const CheckEvidence* check = find_check(verdict, name);
  return check != nullptr && !check->passed;
}

bool check_held(const Verdict& verdict, const std::string& name) {
  const CheckEvidence* check = find_check(verdict, name);
  return check != nullptr && check->passed && !check->skipped;
}

// --- what passes ---

TEST(Judge, CorrectKernelClimbsTheWholeLadder) {
  Bench bench(correct);
  const Verdict verdict = bench.evaluate();
  EXPECT_EQ(verdict.reached, Stage::timed) << verdict.why;
  EXPECT_TRUE(verdict.verified());
  EXPECT_EQ(verdict.why, "");
  EXPECT_LE(verdict.worst_error_ratio, 1.0 + 1e-9);
  EXPECT_TRUE(verdict.suite_allclose);
  EXPECT_EQ(verdict.trials.size(), default_trials(0).size());
  EXPECT_EQ(verdict.build_key, "key of test");
  EXPECT_EQ(verdict.device_name, "NVIDIA H200");
  for (const char* name :
       {"policy", "canaries", "inputs_unmodified", "outputs_written", "deterministic", "stale_memory", "not_constant", "floor"}) {
    EXPECT_TRUE(check_held(verdict, name)) << name;
  }
  ASSERT_TRUE(verdict.timing);
  EXPECT_TRUE(verdict.timing->measured);
  EXPECT_EQ(verdict.timing->candidate_ms, 0.5);
  EXPECT_EQ(verdict.timing->against.at(0).speedup.ratio, 2);
}

TEST(Judge, AnotherRoundingIsAsAccurate) {
  Bench bench([](KernelCall& call) {
    for (size_t i = 0; i < call.inputs[0].size(); ++i) call.outputs[0][i] = std::fma(call.inputs[0][i], call.inputs[0][i], 1.0f / 3.0f);
    return Outcome{};
  });
  EXPECT_TRUE(bench.evaluate().verified());
}

TEST(Judge, WithoutTimingItStopsAtHonest) {
  Bench bench(correct);
  bench.policy.time = false;
  const Verdict verdict = bench.evaluate();
  EXPECT_EQ(verdict.reached, Stage::honest);
  EXPECT_FALSE(verdict.timing);
  EXPECT_EQ(bench.device.timings, 0);
}

TEST(Judge, TrialsAreDrawnOnceForManyCandidates) {
  Bench bench(correct);
  bench.evaluate();
  const int drawn = bench.oracle.trials_drawn;
  bench.evaluate();
  EXPECT_EQ(bench.oracle.trials_drawn, drawn);
}

// --- before it runs ---

TEST(Judge, PolicyBreakerIsNotBuilt) {
  Bench bench(correct);
  bench.source.source += "\n#include <cstdio>\n";
  const Verdict verdict = bench.evaluate();
  EXPECT_EQ(verdict.reached, Stage::none);
  EXPECT_TRUE(check_failed(verdict, "policy"));
  EXPECT_THAT(verdict.why, HasSubstr("policy: line"));
  EXPECT_EQ(bench.toolchain.builds, 0);
}

TEST(Judge, BuildFailureIsAVerdict) {
  Bench bench(correct);
  BuildFailure failure;
  failure.stage = "nvcc";
  failure.diagnostics.push_back({"error", "candidate.cu", 3, "expected a ';'", "y = x", "", 1});
  bench.toolchain.failure = std::make_shared<BuildFailure>(failure);
  const Verdict verdict = bench.evaluate();
  EXPECT_EQ(verdict.reached, Stage::none);
  ASSERT_TRUE(verdict.build_failure);
  EXPECT_EQ(verdict.why, "nvcc: expected a ';'");
  EXPECT_EQ(bench.device.runs, 0);
}

TEST(Judge, BuildThatTakesTooLongIsAVerdictToo) {
  Bench bench(correct);
  bench.toolchain.error = Error{Errc::timeout, "nvcc took more than 120 s", "", ""};
  const Verdict verdict = bench.evaluate();
  EXPECT_EQ(verdict.reached, Stage::none);
  EXPECT_FALSE(verdict.incomplete);
  EXPECT_EQ(verdict.why, "nvcc took more than 120 s");
}

TEST(Judge, MissingCompilerIsAnError) {
  Bench bench(correct);
  bench.toolchain.error = Error{Errc::missing_dependency, "no nvcc", "", ""};
  const auto verdict = bench.try_evaluate();
  ASSERT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.error().code, Errc::missing_dependency);
}

// --- while it runs ---

TEST(Judge, FaultsEndAtBuilt) {
  for (const OutcomeKind kind : {OutcomeKind::illegal_address, OutcomeKind::timeout, OutcomeKind::out_of_memory, OutcomeKind::executor_lost,
                                 OutcomeKind::check_failed}) {
    Bench bench([kind](KernelCall&) { return Outcome{kind, "launch 0 (f)"}; });
    const Verdict verdict = bench.evaluate();
    EXPECT_EQ(verdict.reached, Stage::built);
    EXPECT_EQ(verdict.outcome.kind, kind);
    EXPECT_THAT(verdict.why, HasSubstr(std::string(to_string(kind)) + " in trial 1 (seed"));
    EXPECT_THAT(verdict.why, HasSubstr("launch 0 (f)"));
    EXPECT_EQ(bench.device.runs, 1);
  }
}

TEST(Judge, FaultInALaterTrialTakesTheStageBack) {
  Bench bench([](KernelCall& call) { return call.number == 4 ? Outcome{OutcomeKind::misaligned_address, ""} : correct(call); });
  const Verdict verdict = bench.evaluate();
  EXPECT_EQ(verdict.reached, Stage::built);
  EXPECT_EQ(verdict.trials.size(), 4u);
}

TEST(Judge, BrokenCanaryAndModifiedInputAreIntegrityFailures) {
  Bench canary([](KernelCall&) { return Outcome{OutcomeKind::canary_broken, "output 0, 16 bytes behind its end"}; });
  const Verdict outside = canary.evaluate();
  EXPECT_EQ(outside.reached, Stage::built);
  EXPECT_TRUE(check_failed(outside, "canaries"));
  EXPECT_THAT(outside.why, HasSubstr("16 bytes behind its end"));
  Bench input([](KernelCall&) { return Outcome{OutcomeKind::input_modified, "input 0, byte 4"}; });
  const Verdict changed = input.evaluate();
  EXPECT_EQ(changed.reached, Stage::built);
  EXPECT_TRUE(check_failed(changed, "inputs_unmodified"));
  EXPECT_FALSE(check_held(changed, "canaries"));
}

TEST(Judge, DeviceAndOracleErrorsAreErrors) {
  Bench device(correct);
  device.device.before_run = [] { return Error{Errc::device, "the GPU fell off the bus", "", ""}; };
  ASSERT_FALSE(device.try_evaluate().ok());
  EXPECT_EQ(device.try_evaluate().error().code, Errc::device);
  Bench oracle(correct);
  oracle.oracle.before_trial = [] { return Error{Errc::protocol, "the side-car is gone", "", ""}; };
  ASSERT_FALSE(oracle.try_evaluate().ok());
  EXPECT_EQ(oracle.try_evaluate().error().code, Errc::protocol);
}

TEST(Judge, TimeOutOfTheMachineryIsNotTheDeadline) {
  Bench bench(correct);
  bench.oracle.before_trial = [] { return Error{Errc::timeout, "the side-car does not answer", "", ""}; };
  const auto verdict = bench.try_evaluate();
  ASSERT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.error().message, "the side-car does not answer");
}

// --- accuracy ---

TEST(Judge, NanFails) {
  Bench bench(correct_then([](KernelCall& call) { call.outputs[0][123] = std::numeric_limits<float>::quiet_NaN(); }));
  const Verdict verdict = bench.evaluate();
  EXPECT_EQ(verdict.reached, Stage::ran);
  EXPECT_THAT(verdict.why, HasSubstr("NaN or infinite"));
  EXPECT_EQ(bench.device.runs, 1);
}

TEST(Judge, UnwrittenOutputFails) {
  Bench bench(correct_then([](KernelCall& call) {
    for (size_t i = 990; i < 1000; ++i) call.outputs[0][i] = std::bit_cast<float>(call.poison);
  }));
  const Verdict verdict = bench.evaluate();
  EXPECT_EQ(verdict.reached, Stage::ran);
  EXPECT_TRUE(check_failed(verdict, "outputs_written"));
  EXPECT_THAT(verdict.why, HasSubstr("10 of 1000 elements were never written"));
}

TEST(Judge, OneWrongElementAmongAMillionFails) {
  Bench bench(correct_then([](KernelCall& call) { call.outputs[0][777'777] += 1e-5f; }), elementwise_module(1'000'000, kModule));
  bench.policy.trials = {{1, Distribution::as_given, true}};
  const Verdict verdict = bench.evaluate();
  EXPECT_EQ(verdict.reached, Stage::ran);
  EXPECT_THAT(verdict.why, HasSubstr("element [777777]"));
  ASSERT_EQ(verdict.trials.size(), 1u);
  EXPECT_THAT(verdict.trials[0].outputs[0].worst_index, ElementsAre(777'777));
}

TEST(Judge, ErrorJustBelowAndJustAboveC) {
  // The reference is off by 1e-3 everywhere; the candidate by a multiple of that, on the other side.
  FakeModule module = elementwise_module(1000, [](auto x) { return x; });
  module.reference = [](const Tensors<float>& inputs, const Tensors<float>&) {
    Tensors<float> y = inputs;
    for (float& value : y[0]) value += 1e-3f;
    return y;
  };
  const auto off_by = [](float multiple) {
    return [multiple](KernelCall& call) {
      for (size_t i = 0; i < call.inputs[0].size(); ++i) call.outputs[0][i] = call.inputs[0][i] - multiple * 1e-3f;
      return Outcome{};
    };
  };
  Bench below(off_by(1.99f), module);
  below.policy.trials = {{1, Distribution::as_given, false}};
  EXPECT_TRUE(below.evaluate().verified());
  Bench above(off_by(2.01f), module);
  above.policy.trials = {{1, Distribution::as_given, false}};
  EXPECT_EQ(above.evaluate().reached, Stage::ran);
  above.policy.c = 3;
  EXPECT_TRUE(above.evaluate().verified());
}

TEST(Judge, ExactReferenceAllowsUlpsOnly) {
  const FakeModule relu = elementwise_module(1000, [](auto x) { return x > 0 ? x : 0; });
  const auto off_by_ulps = [](int ulps) {
    return [ulps](KernelCall& call) {
      for (size_t i = 0; i < call.inputs[0].size(); ++i) {
        float y = std::max(call.inputs[0][i], 0.0f);
        for (int k = 0; k < ulps && y > 0; ++k) y = std::nextafter(y, 1e30f);
        call.outputs[0][i] = y;
      }
      return Outcome{};
    };
  };
  EXPECT_TRUE(Bench(off_by_ulps(0), relu).evaluate().verified());
  EXPECT_TRUE(Bench(off_by_ulps(2), relu).evaluate().verified());
  const Verdict verdict = Bench(off_by_ulps(16), relu).evaluate();
  EXPECT_EQ(verdict.reached, Stage::ran);
  EXPECT_THAT(verdict.why, HasSubstr("where the reference is exact"));
}

TEST(Judge, DistributionWithoutAFiniteReferenceIsDroppedAndListed) {
  // exp overflows fp32 for the wide range, not as given.
  FakeModule module = elementwise_module(1000, [](auto x) { return std::exp(x); });
  Bench bench(
      [](KernelCall& call) {
        for (size_t i = 0; i < call.inputs[0].size(); ++i) call.outputs[0][i] = std::exp(call.inputs[0][i]);
        return Outcome{};
      },
      module);
  const Verdict verdict = bench.evaluate();
  EXPECT_TRUE(verdict.verified()) << verdict.why;
  int dropped = 0;
  for (const TrialEvidence& trial : verdict.trials) {
    EXPECT_EQ(trial.dropped, trial.spec.distribution == Distribution::wide_exponent);
    dropped += trial.dropped;
  }
  EXPECT_EQ(dropped, 1);
}

TEST(Judge, NothingComparedIsNothingShown) {
  Bench bench(correct, elementwise_module(10, [](auto x) { return x / decltype(x)(0); }));
  const Verdict verdict = bench.evaluate();
  EXPECT_FALSE(verdict.verified());
  EXPECT_THAT(verdict.why, HasSubstr("nothing could be compared"));
}

TEST(Judge, OtherDistributionsAreNoSubstituteForTheInputsAsGiven) {
  // Only negated inputs have a finite root of 0 - x.
  const auto root = [](auto x) { return std::sqrt(-x); };
  Bench bench(
      [&](KernelCall& call) {
        for (size_t i = 0; i < call.inputs[0].size(); ++i) call.outputs[0][i] = std::sqrt(-call.inputs[0][i]);
        return Outcome{};
      },
      elementwise_module(100, root));
  EXPECT_EQ(bench.evaluate().reached, Stage::ran);
  bench.policy.trials = {{1, Distribution::negated, false}};
  EXPECT_TRUE(bench.evaluate().verified()) << "a policy without such trials asks for none";
}

TEST(Judge, ZerosForATinySoftmaxFail) {
  FakeModule module = elementwise_module(200'000, [](auto x) { return x; });
  const auto softmax = [](const auto& inputs, const auto&) {
    auto y = inputs[0];
    for (auto& value : y) value = std::exp(value);
    const auto sum = std::accumulate(y.begin(), y.end(), static_cast<typename std::decay_t<decltype(y)>::value_type>(0));
    for (auto& value : y) value /= sum;
    return std::vector<std::decay_t<decltype(y)>>{y};
  };
  module.truth = softmax;
  module.reference = softmax;
  Bench bench(
      [](KernelCall& call) {
        std::fill(call.outputs[0].begin(), call.outputs[0].end(), 0.0f);
        return Outcome{};
      },
      module);
  const Verdict verdict = bench.evaluate();
  EXPECT_EQ(verdict.reached, Stage::ran);
  ASSERT_EQ(verdict.trials.size(), 1u);
  EXPECT_TRUE(verdict.trials[0].outputs[0].suite_allclose) << "the suite's own check lets zeros through; the verdict must not";
}

TEST(Judge, AnOracleOutOfMemoryIsGivenTheDevicesSpareMemory) {
  FakeModule module = elementwise_module(1000, [](auto x) { return x; });
  Bench bench(
      [](KernelCall& call) {
        call.outputs[0] = call.inputs[0];
        return Outcome{};
      },
      module);
  int asked = 0;
  bench.oracle.before_trial = [&]() -> std::optional<Error> {
    if (++asked == 3) return Error{Errc::unsupported, "out of memory while answering 'trial'", "", ""};
    return std::nullopt;
  };
  EXPECT_TRUE(bench.evaluate().verified());
  EXPECT_EQ(bench.device.trims, 1);
}

// --- honesty ---

TEST(Judge, ConstantOutputFailsEvenUnderAGenerousC) {
  FakeModule module = elementwise_module(1000, [](auto x) { return 1 + decltype(x)(1e-3) * x; });
  Bench bench(
      [](KernelCall& call) {
        std::fill(call.outputs[0].begin(), call.outputs[0].end(), 1.0005f);
        return Outcome{};
      },
      module);
  bench.policy.c = 1e9;
  const Verdict verdict = bench.evaluate();
  EXPECT_EQ(verdict.reached, Stage::accurate);
  EXPECT_TRUE(check_failed(verdict, "not_constant")) << verdict.why;
  bench.policy.c = 2;
  EXPECT_EQ(bench.evaluate().reached, Stage::ran);
}

TEST(Judge, ConstantOutputOfAConstantModuleIsFine) {
  Bench bench(
      [](KernelCall& call) {
        std::fill(call.outputs[0].begin(), call.outputs[0].end(), 0.25f);
        return Outcome{};
      },
      elementwise_module(1000, [](auto x) { return decltype(x)(0.25); }));
  EXPECT_TRUE(bench.evaluate().verified());
}

TEST(Judge, NondeterminismFailsUnlessAllowed) {
  const auto jitter = correct_then([](KernelCall& call) {
    if (call.number % 2 == 1) call.outputs[0][5] = std::nextafter(call.outputs[0][5], 1e30f);
  });
  for (const bool checksums : {false, true}) {
    Bench bench(jitter);
    bench.device.checksums = checksums;
    const Verdict verdict = bench.evaluate();
    EXPECT_EQ(verdict.reached, Stage::accurate);
    EXPECT_TRUE(check_failed(verdict, "deterministic"));
    EXPECT_THAT(verdict.why, HasSubstr("other bits in out0"));
    bench.policy.deterministic = false;
    EXPECT_TRUE(bench.evaluate().verified());
  }
}

TEST(Judge, DeviceThatOnlyHandsOutHandlesIsComparedByStatistics) {
  Bench same(correct);
  same.device.ipc_outputs = true;
  const Verdict verdict = same.evaluate();
  EXPECT_TRUE(verdict.verified());
  EXPECT_THAT(find_check(verdict, "deterministic")->detail, HasSubstr("error statistics"));
  EXPECT_TRUE(find_check(verdict, "not_constant")->skipped);
  Bench jitter(correct_then([](KernelCall& call) { call.outputs[0][5] += 1e-7f * static_cast<float>(call.number % 2); }));
  jitter.device.ipc_outputs = true;
  EXPECT_TRUE(check_failed(jitter.evaluate(), "deterministic"));
}

TEST(Judge, WhatTheVirtualGpuFindsRefusesACandidate) {
  Bench bench(correct);
  bench.device.device_info.kind = DeviceKind::virtual_gpu;
  EXPECT_TRUE(check_held(bench.evaluate(), "sanitizer"));
  DeviceFinding race;
  race.kind = "race", race.message = "race: read of 4 bytes at shared address 0x400";
  bench.device.findings = {race};
  const Verdict verdict = bench.evaluate();
  EXPECT_TRUE(check_failed(verdict, "sanitizer"));
  EXPECT_FALSE(verdict.verified());
  EXPECT_NE(verdict.why.find(race.message), std::string::npos) << verdict.why;
  bench.device.device_info.kind = DeviceKind::cuda;
  EXPECT_TRUE(find_check(bench.evaluate(), "sanitizer")->skipped);
}

TEST(Judge, AccumulatingIntoTheOutputShowsWhateverLayThere) {
  // Right only where the memory holds the usual pattern: replaces NaNs, adds to anything else.
  Bench bench([](KernelCall& call) {
    for (size_t i = 0; i < call.inputs[0].size(); ++i) {
      float& y = call.outputs[0][i];
      y = (std::isnan(y) ? 0.0f : y) + square_plus_third(call.inputs[0][i]);
    }
    return Outcome{};
  });
  const Verdict verdict = bench.evaluate();
  EXPECT_EQ(verdict.reached, Stage::accurate);
  EXPECT_TRUE(check_failed(verdict, "stale_memory"));
}

TEST(Judge, WorkspaceIsNotTakenToBeZeroOrSmall) {
  const auto trusting = correct_then([](KernelCall& call) {
    if (std::bit_cast<uint32_t>(call.workspace[0]) == 0xffffffffu) call.outputs[0][0] += 1;  // a counter that starts at -1
  });
  Bench bench(trusting);
  bench.toolchain.plan.workspace_bytes = 64;
  const Verdict verdict = bench.evaluate();
  EXPECT_EQ(verdict.reached, Stage::accurate);
  EXPECT_TRUE(check_failed(verdict, "workspace"));
  bench.toolchain.plan.workspace_zeroed = true;
  EXPECT_TRUE(bench.evaluate().verified());
}

TEST(Judge, GraphReplayMustAgreeWithTheDirectRun) {
  Bench without(correct);
  EXPECT_TRUE(find_check(without.evaluate(), "graph_replay")->skipped);
  Bench good(correct);
  good.device.graphs = true;
  EXPECT_TRUE(check_held(good.evaluate(), "graph_replay"));
  Bench bad(correct_then([](KernelCall& call) {
    if (call.graph) call.outputs[0][0] = 0;
  }));
  bad.device.graphs = true;
  const Verdict verdict = bad.evaluate();
  EXPECT_EQ(verdict.reached, Stage::accurate);
  EXPECT_TRUE(check_failed(verdict, "graph_replay"));
}

TEST(Judge, FaultInARepeatedRunIsBroken) {
  Bench bench([](KernelCall& call) { return call.number == 12 ? Outcome{OutcomeKind::illegal_address, "launch 0"} : correct(call); });
  const Verdict verdict = bench.evaluate();
  EXPECT_EQ(verdict.reached, Stage::accurate);
  EXPECT_TRUE(check_failed(verdict, "deterministic"));
  EXPECT_THAT(verdict.why, HasSubstr("illegal_address"));
}

// --- time ---

// 256 KiB in and 256 KiB out at 1.25 x 4.3 TB/s: 49 ns each.
constexpr int64_t kFloorElements = 1 << 16;
constexpr double kReadMs = 4.88e-5;

Bench bench_that_takes(double ms, KernelDevice::Kernel kernel, FakeModule module) {
  Bench bench(std::move(kernel), std::move(module));
  bench.policy.trials = {{1, Distribution::as_given, true}, {2, Distribution::as_given, true}};
  bench.device.device_info.l2_bytes = 0;
  bench.device.timer = [ms](const TimeRequest& request) {
    return TimeResult{{}, std::vector<double>(static_cast<size_t>(request.repeats), ms), {}, {}};
  };
  return bench;
}

TEST(Judge, TimeBelowTheFloorIsAnIntegrityFailure) {
  Bench bench = bench_that_takes(1.9 * kReadMs, correct, elementwise_module(kFloorElements, kModule));
  const Verdict verdict = bench.evaluate();
  EXPECT_EQ(verdict.reached, Stage::accurate);
  EXPECT_FALSE(verdict.verified());
  EXPECT_TRUE(check_failed(verdict, "floor"));
  EXPECT_TRUE(verdict.timing) << "the evidence stays";
  EXPECT_TRUE(bench_that_takes(2.1 * kReadMs, correct, elementwise_module(kFloorElements, kModule)).evaluate().verified());
  bench.device.device_info.name = "Some other GPU";
  EXPECT_TRUE(bench.evaluate().verified()) << "no rates, no accusation";
}

TEST(Judge, FloorForgivesWhatNeedNotMove) {
  Bench cached = bench_that_takes(1.1 * kReadMs, correct, elementwise_module(kFloorElements, kModule));
  EXPECT_FALSE(cached.evaluate().verified());
  cached.device.device_info.l2_bytes = 1 << 20;
  EXPECT_TRUE(cached.evaluate().verified()) << "the output may stay in L2";

  FakeModule partial = elementwise_module(kFloorElements, kModule);
  partial.task.graph->nodes[1].op = "slice";
  EXPECT_TRUE(bench_that_takes(1.1 * kReadMs, correct, std::move(partial)).evaluate().verified()) << "a slice reads a part";

  const auto ones = [](KernelCall& call) {
    std::fill(call.outputs[0].begin(), call.outputs[0].end(), 1.0f);
    return Outcome{};
  };
  FakeModule constant = elementwise_module(kFloorElements, [](auto x) { return decltype(x)(1); });
  EXPECT_TRUE(bench_that_takes(1.1 * kReadMs, ones, std::move(constant)).evaluate().verified()) << "a constant needs no inputs";
}

TEST(Judge, FaultWhileBeingTimedMeansThatItDoesNotRun) {
  Bench bench(correct);
  bench.device.timer = [](const TimeRequest&) { return TimeResult{{OutcomeKind::illegal_address, "replay 3"}, {}, {}, {}}; };
  const Verdict verdict = bench.evaluate();
  EXPECT_EQ(verdict.reached, Stage::built);
  EXPECT_FALSE(verdict.verified());
  EXPECT_THAT(verdict.why, HasSubstr("illegal_address while being timed: replay 3"));
}

TEST(Judge, PredictedTimesAreMarkedAndHaveAPredictedBaseline) {
  Bench bench(correct);
  bench.device.measures = false;
  bench.device.device_info.kind = DeviceKind::virtual_gpu;
  const Verdict verdict = bench.evaluate();
  EXPECT_EQ(verdict.reached, Stage::timed);
  ASSERT_TRUE(verdict.timing);
  EXPECT_FALSE(verdict.timing->measured);
  EXPECT_EQ(bench.device.timings, 1);
  EXPECT_EQ(bench.oracle.baselines_timed, 0);
  const TimedAgainst& eager = verdict.timing->against.at(0);
  ASSERT_EQ(eager.baseline, Baseline::eager);
  EXPECT_EQ(eager.samples, 1);
  EXPECT_DOUBLE_EQ(eager.speedup.ratio, eager.baseline_ms / verdict.timing->candidate_ms);
  for (size_t i = 1; i < verdict.timing->against.size(); ++i)
    EXPECT_THAT(verdict.timing->against[i].note, HasSubstr("only measured on a GPU"));
  EXPECT_TRUE(find_check(verdict, "floor")->skipped);
}

// --- the deadline ---

TEST(Judge, DeadlineMidwayLeavesWhatWasShown) {
  FakeClock clock;
  Bench bench(correct_then([&](KernelCall&) { clock.advance(Seconds(1)); }));
  bench.clock = &clock;
  bench.deadline = Deadline::in(clock, Seconds(3.5));
  const Verdict verdict = bench.evaluate();
  EXPECT_TRUE(verdict.incomplete);
  EXPECT_FALSE(verdict.verified());
  EXPECT_EQ(verdict.reached, Stage::ran);
  EXPECT_EQ(verdict.trials.size(), 4u);
  EXPECT_THAT(verdict.why, HasSubstr("deadline passed after 4 of 11 trials"));
}

TEST(Judge, DeadlineDuringTheBuildTheChecksAndTheTiming) {
  FakeClock clock;
  Bench build(correct);
  build.clock = &clock;
  build.toolchain.error = Error{Errc::timeout, "killed", "", ""};
  build.toolchain.during = [&] { clock.advance(Seconds(10)); };
  build.deadline = Deadline::in(clock, Seconds(5));
  EXPECT_TRUE(build.evaluate().incomplete);

  Bench checks(correct_then([&](KernelCall& call) { clock.advance(Seconds(call.number == 11 ? 10 : 0)); }));
  checks.clock = &clock;
  checks.deadline = Deadline::in(clock, Seconds(5));
  const Verdict halfway = checks.evaluate();
  EXPECT_TRUE(halfway.incomplete);
  EXPECT_EQ(halfway.reached, Stage::accurate);

  Bench timing(correct);
  timing.clock = &clock;
  timing.deadline = Deadline::in(clock, Seconds(5));
  timing.device.timer = [&](const TimeRequest& request) {
    clock.advance(Seconds(10));
    return TimeResult{{}, std::vector<double>(static_cast<size_t>(request.repeats), 0.5), {}, {}};
  };
  const Verdict untimed = timing.evaluate();
  EXPECT_TRUE(untimed.incomplete);
  EXPECT_EQ(untimed.reached, Stage::honest);
  EXPECT_FALSE(untimed.timing);
}

TEST(Judge, HangThatTheDeadlineCutsShortIsNoFaultOfTheCandidate) {
  FakeClock clock;
  Bench bench([&](KernelCall&) {
    clock.advance(Seconds(10));
    return Outcome{OutcomeKind::timeout, ""};
  });
  bench.clock = &clock;
  bench.deadline = Deadline::in(clock, Seconds(5));
  EXPECT_TRUE(bench.evaluate().incomplete);
  bench.deadline = Deadline::in(clock, Seconds(60));
  const Verdict verdict = bench.evaluate();
  EXPECT_FALSE(verdict.incomplete);
  EXPECT_EQ(verdict.outcome.kind, OutcomeKind::timeout);
}

TEST(Judge, SecondsLeaveTheBuildOut) {
  FakeClock clock;
  Bench bench(correct_then([&](KernelCall&) { clock.advance(Seconds(0.25)); }));
  bench.clock = &clock;
  bench.toolchain.during = [&] { clock.advance(Seconds(40)); };
  bench.policy.time = false;
  const Verdict verdict = bench.evaluate();
  EXPECT_TRUE(verdict.verified()) << verdict.why;
  EXPECT_NEAR(verdict.seconds, 0.25 * bench.device.runs, 1e-9);
}

}  // namespace
}  // namespace cutegen
