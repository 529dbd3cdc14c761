// No element of an output still holds the pattern that the device wrote there before the run.
#include <fmt/format.h>

#include "judge/accuracy.h"
#include "judge/check.h"

namespace cutegen {
namespace {

Result<CheckEvidence> look(const CheckContext& context) {
  const Execution& execution = context.executions.back();
  if (!execution.outcome.ok()) return not_made("the run did not finish");
  for (size_t i = 0; i < execution.comparisons.size(); ++i) {
    const OutputComparison& output = execution.comparisons[i];
    if (output.poison_left == 0) continue;
    const std::string name = i < context.task.outputs.size() ? context.task.outputs[i].name : std::to_string(i);
    return broken(fmt::format("output {} ({}): {} of {} elements were never written", name, describe(execution.spec), output.poison_left,
                              output.elements));
  }
  return held("every element of every output is written in every trial");
}

}  // namespace

extern const Check kOutputsWrittenCheck;
const Check kOutputsWrittenCheck{"outputs_written", Phase::after_run, look};

}  // namespace cutegen
