#include "judge/stats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "base/hash.h"

namespace cutegen {
namespace {

double uniform(SplitMix64& random) { return (static_cast<double>(random.next() >> 11) + 0.5) * 0x1p-53; }

double normal(SplitMix64& random) {
  const double radius = std::sqrt(-2 * std::log(uniform(random)));
  return radius * std::cos(2 * std::numbers::pi * uniform(random));
}

// `rounds` rounds of `each` samples a side: medians 2 and 1, relative noise `noise`, a drift by `drift` from first to last round that
// both sides share.
std::vector<PairedRound> make_rounds(int rounds, int each, double noise, double drift, uint64_t seed) {
  SplitMix64 random(seed);
  std::vector<PairedRound> made(static_cast<size_t>(rounds));
  for (int r = 0; r < rounds; ++r) {
    const double speed = 1 + drift * r / rounds;
    for (int i = 0; i < each; ++i) {
      made[static_cast<size_t>(r)].baseline.push_back(2 * speed * (1 + noise * normal(random)));
      made[static_cast<size_t>(r)].candidate.push_back(speed * (1 + noise * normal(random)));
    }
  }
  return made;
}

TEST(Stats, MedianOfOddEvenAndUnsorted) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median({5}), 5);
  EXPECT_TRUE(std::isnan(median({})));
}

TEST(Stats, QuantilesAreTypeSeven) {
  // R: quantile(c(1, 2, 3, 4, 10), c(0, .25, .5, .9, 1)) gives 1, 2, 3, 7.6, 10.
  const std::vector<double> samples{10, 3, 1, 4, 2};
  EXPECT_DOUBLE_EQ(quantile(samples, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(samples, 0.25), 2);
  EXPECT_DOUBLE_EQ(quantile(samples, 0.5), 3);
  EXPECT_DOUBLE_EQ(quantile(samples, 0.9), 7.6);
  EXPECT_DOUBLE_EQ(quantile(samples, 1), 10);
  EXPECT_DOUBLE_EQ(interquartile_range({1, 2, 3, 4}), 1.5);
}

TEST(Stats, BootstrapIsDeterministicAndHoldsTheRatio) {
  const auto rounds = make_rounds(8, 10, 0.01, 0, 1);
  const RatioInterval a = bootstrap_ratio(rounds), b = bootstrap_ratio(rounds);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_LE(a.low, a.ratio);
  EXPECT_GE(a.high, a.ratio);
  EXPECT_NEAR(a.ratio, 2, 0.02);
}

TEST(Stats, ConstantSamplesGiveAPoint) {
  const std::vector<PairedRound> rounds(4, PairedRound{{3, 3, 3}, {1.5, 1.5}});
  const RatioInterval interval = bootstrap_ratio(rounds);
  EXPECT_EQ(interval.ratio, 2);
  EXPECT_EQ(interval.low, 2);
  EXPECT_EQ(interval.high, 2);
  EXPECT_EQ(relative_half_width(interval), 0);
}

TEST(Stats, MoreNoiseIsAWiderInterval) {
  const double quiet = relative_half_width(bootstrap_ratio(make_rounds(8, 10, 0.005, 0, 2)));
  const double noisy = relative_half_width(bootstrap_ratio(make_rounds(8, 10, 0.05, 0, 2)));
  EXPECT_GT(noisy, 4 * quiet);
}

TEST(Stats, MoreRoundsAreANarrowerInterval) {
  const double few = relative_half_width(bootstrap_ratio(make_rounds(6, 10, 0.02, 0, 3)));
  const double many = relative_half_width(bootstrap_ratio(make_rounds(60, 10, 0.02, 0, 3)));
  EXPECT_LT(many, 0.6 * few);
}

TEST(Stats, IntervalCoversTheTruthAboutAsOftenAsItSays) {
  int covered = 0;
  constexpr int kExperiments = 300;
  for (int i = 0; i < kExperiments; ++i) {
    const RatioInterval interval = bootstrap_ratio(make_rounds(8, 8, 0.03, 0, 100 + static_cast<uint64_t>(i)), 300);
    covered += interval.low <= 2 && 2 <= interval.high;
  }
  // Binomial(300, 0.95) has a deviation of 1.3%; percentile bootstrap of medians is a little off on either side.
  EXPECT_GE(covered, static_cast<int>(0.90 * kExperiments));
  EXPECT_LT(covered, kExperiments);
}

TEST(Stats, SharedDriftCancels) {
  const RatioInterval interval = bootstrap_ratio(make_rounds(12, 8, 0.002, 0.3, 4));
  EXPECT_NEAR(interval.ratio, 2, 0.02);
  EXPECT_LT(relative_half_width(interval), 0.03);
}

TEST(Stats, SharedStepCancels) {
  // The clock halves midway: the plain medians of the two sides could fall on different sides of the step.
  auto rounds = make_rounds(9, 8, 0.002, 0, 6);
  for (size_t r = 4; r < rounds.size(); ++r) {
    for (double& sample : rounds[r].baseline) sample *= 2;
    for (double& sample : rounds[r].candidate) sample *= 2;
  }
  rounds[4].baseline = make_rounds(1, 8, 0.002, 0, 7)[0].baseline;  // the step falls between the two sides of one round
  const RatioInterval interval = bootstrap_ratio(rounds);
  EXPECT_NEAR(interval.ratio, 2, 0.02);
  EXPECT_LT(relative_half_width(interval), 0.05);
}

TEST(Stats, OutliersDoNotMoveIt) {
  auto rounds = make_rounds(8, 10, 0.005, 0, 5);
  for (PairedRound& round : rounds) round.candidate[0] = 50;  // a tenth of one side
  const RatioInterval interval = bootstrap_ratio(rounds);
  EXPECT_NEAR(interval.ratio, 2, 0.02);
  EXPECT_NEAR(interval.low, 2, 0.05);
}

TEST(Stats, NothingIsNotANumber) {
  EXPECT_TRUE(std::isnan(bootstrap_ratio({}).ratio));
  EXPECT_TRUE(std::isinf(relative_half_width(bootstrap_ratio({}))));
}

}  // namespace
}  // namespace cutegen
