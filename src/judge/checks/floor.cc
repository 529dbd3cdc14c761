// No kernel is faster than memory. A time under what the compulsory traffic takes means that the timed work was not the work.
//
// The floor used here is kinder than the one that reports show, because a false accusation costs more than a missed one:
//  - the bandwidth is 1.25 times what a copy reaches, which is above every datasheet;
//  - what is written last may still sit in L2 when the clock stops, so output bytes up to the size of L2 are free;
//  - inputs count only when the truth depends on them (a module whose result is constant need not read them);
//  - arithmetic does not count: algebra may remove it (a product with a diagonal, a sum over a product's columns).
#include <fmt/format.h>

#include <algorithm>

#include "judge/check.h"
#include "task/analysis.h"

namespace cutegen {
namespace {

constexpr double kBandwidthHeadroom = 1.25;

bool truth_depends_on_inputs(const CheckContext& context) {
  if (context.executions.size() < 2) return true;
  const Execution& first = context.executions.front();
  return std::any_of(context.executions.begin() + 1, context.executions.end(), [&](const Execution& other) {
    for (size_t i = 0; i < first.comparisons.size() && i < other.comparisons.size(); ++i) {
      if (first.comparisons[i].norm_truth != other.comparisons[i].norm_truth) return true;
    }
    return false;
  });
}

double least_ms(const CheckContext& context, const GpuRates& rates) {
  const Analysis analysis = analyse(context.task, rates);
  const int64_t read = truth_depends_on_inputs(context) ? analysis.input_bytes : 0;
  const int64_t written = std::max<int64_t>(0, analysis.output_bytes - context.device.l2_bytes);
  return 1e3 * static_cast<double>(read + written) / (kBandwidthHeadroom * rates.dram_bytes_per_s);
}

Result<CheckEvidence> look(const CheckContext& context) {
  if (!context.timing->measured) return not_made("the time is not measured");
  const GpuRates& rates = rates_for(context.device.name);
  if (context.device.name.find(rates.name) == std::string::npos) return not_made("the rates of " + context.device.name + " are not known");
  const double least = least_ms(context, rates);
  const std::string sentence =
      fmt::format("{:.4g} ms; moving the task's bytes takes {:.4g} ms at the very least", context.timing->candidate_ms, least);
  return context.timing->candidate_ms >= least ? held(sentence) : broken("impossibly fast: " + sentence);
}

}  // namespace

extern const Check kFloorCheck;
const Check kFloorCheck{"floor", Phase::after_timing, look};

}  // namespace cutegen
