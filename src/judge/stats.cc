#include "judge/stats.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/hash.h"

namespace cutegen {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Type-7 quantile; reorders `samples`.
double quantile_in_place(std::vector<double>& samples, double q) {
  if (samples.empty()) return kNan;
  const double position = std::clamp(q, 0.0, 1.0) * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<size_t>(position);
  const auto at = samples.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(samples.begin(), at, samples.end());
  const double low = *at;
  const double fraction = position - static_cast<double>(below);
  if (fraction == 0) return low;
  return low + fraction * (*std::min_element(at + 1, samples.end()) - low);
}

void resample(const std::vector<double>& from, SplitMix64& random, std::vector<double>& to) {
  for (size_t i = 0; i < from.size(); ++i) to.push_back(from[random.below(from.size())]);
}

double resampled_ratio(std::span<const PairedRound> rounds, SplitMix64& random, std::vector<double>& baseline,
                       std::vector<double>& candidate) {
  baseline.clear();
  candidate.clear();
  for (size_t i = 0; i < rounds.size(); ++i) {
    const PairedRound& round = rounds[random.below(rounds.size())];
    resample(round.baseline, random, baseline);
    resample(round.candidate, random, candidate);
  }
  return quantile_in_place(baseline, 0.5) / quantile_in_place(candidate, 0.5);
}

// Each round relative to its own level.
std::vector<PairedRound> levelled(std::span<const PairedRound> rounds) {
  std::vector<PairedRound> relative(rounds.begin(), rounds.end());
  for (PairedRound& round : relative) {
    const double level = std::sqrt(median(round.baseline) * median(round.candidate));
    for (double& sample : round.baseline) sample /= level;
    for (double& sample : round.candidate) sample /= level;
  }
  return relative;
}

}  // namespace

double quantile(std::vector<double> samples, double q) { return quantile_in_place(samples, q); }

double median(std::vector<double> samples) { return quantile_in_place(samples, 0.5); }

double interquartile_range(std::vector<double> samples) {
  const double low = quantile_in_place(samples, 0.25);
  return quantile_in_place(samples, 0.75) - low;
}

RatioInterval bootstrap_ratio(std::span<const PairedRound> rounds, int replicates, uint64_t seed) {
  if (rounds.empty()) return {kNan, kNan, kNan};
  const std::vector<PairedRound> relative = levelled(rounds);
  std::vector<double> baseline, candidate;
  for (const PairedRound& round : relative) {
    baseline.insert(baseline.end(), round.baseline.begin(), round.baseline.end());
    candidate.insert(candidate.end(), round.candidate.begin(), round.candidate.end());
  }
  RatioInterval interval;
  interval.ratio = quantile_in_place(baseline, 0.5) / quantile_in_place(candidate, 0.5);
  SplitMix64 random(seed);
  std::vector<double> ratios;
  for (int i = 0; i < replicates; ++i) ratios.push_back(resampled_ratio(relative, random, baseline, candidate));
  interval.low = quantile_in_place(ratios, 0.025);
  interval.high = quantile_in_place(ratios, 0.975);
  return interval;
}

double relative_half_width(const RatioInterval& interval) {
  const double width = (interval.high - interval.low) / 2 / interval.ratio;
  return std::isfinite(width) ? width : std::numeric_limits<double>::infinity();
}

}  // namespace cutegen
