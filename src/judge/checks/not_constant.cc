// Fresh inputs change the outputs wherever they change the truth. Accuracy alone already rules out most constants; this one does not
// depend on c, so a generous policy does not let a constant through.
#include <fmt/format.h>

#include <cmath>

#include "judge/accuracy.h"
#include "judge/check.h"

namespace cutegen {
namespace {

// Whether the truth differs between two trials by more than the reference resolves: less than that is rounding noise of a constant.
bool truth_moved(const OutputComparison& a, const OutputComparison& b) {
  const double resolution = a.norm_reference + a.floor_norm + b.norm_reference + b.floor_norm;
  return std::abs(a.norm_truth - b.norm_truth) > resolution;
}

std::optional<std::string> constant_output(const CheckContext& context, const Execution& a, const Execution& b) {
  for (size_t i = 0; i < context.task.outputs.size(); ++i) {
    if (a.fingerprint.outputs[i] != b.fingerprint.outputs[i] || !truth_moved(a.comparisons[i], b.comparisons[i])) continue;
    return fmt::format("output {} is the same bit for bit for ({}) and ({}), where float64 differs", context.task.outputs[i].name,
                       describe(a.spec), describe(b.spec));
  }
  return std::nullopt;
}

Result<CheckEvidence> look(const CheckContext& context) {
  if (context.executions.size() < 2) return not_made("only one trial ran");
  if (context.executions.front().fingerprint.means == Fingerprint::Means::error_statistics) {
    return not_made("the device offers no checksums of outputs");
  }
  const Execution& first = context.executions.front();
  for (const Execution& other : context.executions.subspan(1)) {
    if (const auto found = constant_output(context, first, other)) return broken(*found);
  }
  return held("outputs follow the inputs wherever the truth does");
}

}  // namespace

extern const Check kNotConstantCheck;
const Check kNotConstantCheck{"not_constant", Phase::after_accuracy, look};

}  // namespace cutegen
