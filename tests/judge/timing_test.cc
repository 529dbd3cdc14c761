#include "judge/timing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "judge/scripted.h"
#include "support/fake_clock.h"
#include "support/fake_oracle.h"

namespace cutegen {
namespace {

using ::testing::HasSubstr;
using namespace cutegen::test;

// A machine whose speed is a function of time: both sides are timed on it, each repeat takes its own time.
struct Machine {
  FakeClock clock;
  FakeOracle oracle{elementwise_module(100, [](auto x) { return x; })};
  KernelDevice device{[](KernelCall&) { return Outcome{}; }};
  JudgePolicy policy;
  std::function<double(double seconds)> slowness = [](double) { return 1.0; };
  std::function<double()> noise = [] { return 1.0; };
  double eager_ms = 2, candidate_ms = 1;
  std::string order;  // 'A' a turn of the baseline, 'B' one of the candidate

  Machine() {
    policy.timing_budget = Seconds(10);
    oracle.baseline = [this](Baseline, int repeats) {
      order += 'A';
      return BaselineSamples{turn(eager_ms, repeats), ""};
    };
    device.timer = [this](const TimeRequest& request) {
      order += 'B';
      TimeResult result{{}, turn(candidate_ms, request.repeats), {}, {}};
      result.before.sm_mhz = clock_mhz;
      result.after.sm_mhz = clock_mhz -= 10;
      result.after.throttle_reasons = 4;
      return result;
    };
  }
  double clock_mhz = 1980;

  std::vector<double> turn(double ms, int repeats) {
    std::vector<double> samples;
    for (int i = 0; i < repeats; ++i) {
      samples.push_back(ms * slowness(Seconds(clock.now()).count()) * noise());
      clock.advance(Seconds(samples.back() / 1e3 + 1e-3));  // a millisecond of flushing beside each
    }
    return samples;
  }
  Result<TimingOutcome> time(Deadline deadline = Deadline::never()) {
    return time_candidate(oracle, device, std::make_shared<Build>(), policy, clock, deadline);
  }
  TimingEvidence evidence() {
    auto outcome = time();
    EXPECT_TRUE(outcome.ok() && outcome->evidence);
    return outcome.ok() && outcome->evidence ? *outcome->evidence : TimingEvidence{};
  }
};

std::function<double()> noise_of(double relative, uint64_t seed) {
  return [relative, random = SplitMix64(seed)]() mutable { return 1 + relative * (static_cast<double>(random.below(2001)) - 1000) / 1000; };
}

TEST(Timing, SteadyMachineStopsEarlyAndIsExact) {
  Machine machine;
  const TimingEvidence evidence = machine.evidence();
  EXPECT_EQ(evidence.candidate_ms, 1);
  EXPECT_EQ(evidence.against.at(0).baseline_ms, 2);
  EXPECT_EQ(evidence.against.at(0).speedup.ratio, 2);
  EXPECT_GE(evidence.samples, machine.policy.min_samples);
  EXPECT_LT(Seconds(machine.clock.now()).count(), 1);
}

TEST(Timing, SidesTakeTurnsAndTheOrderTurnsAround) {
  Machine machine;
  machine.evidence();
  EXPECT_EQ(machine.order.substr(0, 8), "ABABBAAB") << "one priming turn each, then rounds";
}

TEST(Timing, DriftCancels) {
  Machine machine;
  machine.slowness = [](double seconds) { return 1 + 0.3 * seconds; };  // the clock falls steadily
  machine.noise = noise_of(0.01, 1);
  const TimingEvidence evidence = machine.evidence();
  EXPECT_NEAR(evidence.against.at(0).speedup.ratio, 2, 0.02);
}

TEST(Timing, SuddenSlowdownHitsBothSides) {
  Machine machine;
  machine.slowness = [](double seconds) { return seconds < 0.4 ? 1 : 1.5; };
  machine.policy.ratio_half_width = 0;
  machine.policy.timing_budget = Seconds(1);
  EXPECT_NEAR(machine.evidence().against.at(0).speedup.ratio, 2, 0.1);
}

TEST(Timing, NoisySamplesGetMoreRoundsAndAWiderInterval) {
  Machine quiet, noisy;
  quiet.noise = noise_of(0.001, 2);
  noisy.noise = noise_of(0.2, 2);
  const TimingEvidence a = quiet.evidence(), b = noisy.evidence();
  EXPECT_GT(b.samples, a.samples);
  const RatioInterval interval = b.against.at(0).speedup;
  EXPECT_LE(interval.low, 2.02);
  EXPECT_GE(interval.high, 1.98);
  EXPECT_GT(interval.high - interval.low, a.against.at(0).speedup.high - a.against.at(0).speedup.low);
}

TEST(Timing, OutliersDoNotMoveTheMedian) {
  Machine machine;
  machine.noise = [random = SplitMix64(3)]() mutable { return random.below(12) == 0 ? 30.0 : 1.0; };
  const TimingEvidence evidence = machine.evidence();
  EXPECT_EQ(evidence.candidate_ms, 1);
  EXPECT_EQ(evidence.against.at(0).speedup.ratio, 2);
}

TEST(Timing, BudgetEndsIt) {
  Machine machine;
  machine.noise = noise_of(0.5, 4);
  machine.policy.ratio_half_width = 0;
  machine.policy.timing_budget = Seconds(0.5);
  EXPECT_GT(machine.evidence().samples, 0);
  EXPECT_LT(Seconds(machine.clock.now()).count(), 1.2);
}

TEST(Timing, SlowTaskStillHasARound) {
  Machine machine;
  machine.eager_ms = 5000;
  machine.candidate_ms = 4000;
  const TimingEvidence evidence = machine.evidence();
  EXPECT_GE(evidence.samples, 3);
  EXPECT_EQ(evidence.against.at(0).speedup.ratio, 1.25);
}

TEST(Timing, MissingBaselineIsANoteAndTheOthersCount) {
  Machine machine;
  machine.policy.baselines = {Baseline::eager, Baseline::compile};
  machine.oracle.baseline = [&](Baseline which, int repeats) {
    if (which == Baseline::compile) return BaselineSamples{{}, "torch.compile needs torch 2"};
    return BaselineSamples{machine.turn(2, repeats), ""};
  };
  const TimingEvidence evidence = machine.evidence();
  ASSERT_EQ(evidence.against.size(), 2u);
  EXPECT_EQ(evidence.against[0].speedup.ratio, 2);
  EXPECT_EQ(evidence.against[1].note, "torch.compile needs torch 2");
  EXPECT_EQ(evidence.against[1].samples, 0);
}

TEST(Timing, OracleOnTheCpuIsNoFairBaseline) {
  Machine machine;
  machine.oracle.on_gpu = false;
  const TimingEvidence evidence = machine.evidence();
  EXPECT_THAT(evidence.against.at(0).note, HasSubstr("not a fair baseline"));
  EXPECT_EQ(machine.oracle.baselines_timed, 0);
  EXPECT_GE(evidence.samples, machine.policy.min_samples);
}

TEST(Timing, ClocksAndThrottleReasonsAreKept) {
  Machine machine;
  const TimingEvidence evidence = machine.evidence();
  EXPECT_EQ(evidence.before.sm_mhz, 1970);  // the first turn that counts, after priming
  EXPECT_LT(evidence.after.sm_mhz, evidence.before.sm_mhz);
  EXPECT_EQ(evidence.after.throttle_reasons, 4u);
}

TEST(Timing, InputsRotate) {
  Machine machine;
  size_t sets = 0;
  const auto inner = machine.device.timer;
  machine.device.timer = [&](const TimeRequest& request) {
    sets = request.input_sets.size();
    for (size_t i = 1; i < sets; ++i) EXPECT_NE(request.input_sets[i][0].handle, request.input_sets[0][0].handle);
    EXPECT_TRUE(request.cold_l2);
    return inner(request);
  };
  machine.evidence();
  EXPECT_EQ(sets, 3u);
}

TEST(Timing, TimesThatAreNoneAreNotBelieved) {
  for (const double bad : {0.0, -1.0, std::nan("")}) {
    Machine machine;
    machine.device.timer = [&](const TimeRequest& request) {
      return TimeResult{{}, std::vector<double>(static_cast<size_t>(request.repeats), bad), {}, {}};
    };
    const auto outcome = machine.time();
    ASSERT_TRUE(outcome.ok());
    EXPECT_FALSE(outcome->evidence);
    EXPECT_FALSE(outcome->outcome.ok());
  }
}

TEST(Timing, SameSamplesGiveTheSameInterval) {
  Machine a, b;
  a.noise = noise_of(0.05, 9);
  b.noise = noise_of(0.05, 9);
  const RatioInterval x = a.evidence().against.at(0).speedup, y = b.evidence().against.at(0).speedup;
  EXPECT_EQ(x.low, y.low);
  EXPECT_EQ(x.high, y.high);
}

TEST(Timing, DeadlineLeavesTheSamplesSoFar) {
  Machine machine;
  machine.noise = noise_of(0.5, 5);
  machine.policy.ratio_half_width = 0;
  const auto outcome = machine.time(Deadline::in(machine.clock, Seconds(0.3)));
  ASSERT_TRUE(outcome.ok());
  ASSERT_TRUE(outcome->evidence);
  EXPECT_GT(outcome->evidence->samples, 0);
}

}  // namespace
}  // namespace cutegen
