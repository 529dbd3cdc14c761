// The statistics that timing rests on: medians, quartiles, and a bootstrap interval for a ratio of medians.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "judge/verdict.h"

namespace cutegen {

// The q-quantile (0 to 1) with linear interpolation between order statistics (Hyndman and Fan's type 7). NaN for no samples.
double quantile(std::vector<double> samples, double q);
double median(std::vector<double> samples);
double interquartile_range(std::vector<double> samples);

// Both sides of one round of timing, taken right after one another. Milliseconds, each side at least one sample.
struct PairedRound {
  std::vector<double> baseline;
  std::vector<double> candidate;
};

// The ratio of the two sides' medians with its 95% percentile-bootstrap interval. Samples are taken relative to their round's level (the
// geometric mean of its two medians), so that a clock that drifts or steps, which both sides of a round share, does not move the ratio;
// on a steady machine it is the ratio of the plain medians. Rounds are resampled whole and then each side within its round: what the
// two sides do not share widens the interval. The same rounds and seed give the same interval. NaN for no rounds.
RatioInterval bootstrap_ratio(std::span<const PairedRound> rounds, int replicates = 1000, uint64_t seed = 0x5eed);

// (high - low) / 2 relative to the ratio; infinite when that is not a number.
double relative_half_width(const RatioInterval& interval);

}  // namespace cutegen
