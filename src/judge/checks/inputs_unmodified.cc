// Inputs and parameters hold after the run what they held before it, as the device compares them.
#include "judge/check.h"

namespace cutegen {
namespace {

Result<CheckEvidence> look(const CheckContext& context) {
  const Outcome& outcome = context.executions.back().outcome;
  if (outcome.kind == OutcomeKind::input_modified) return broken("changed an input: " + outcome.detail);
  if (!outcome.ok()) return not_made("the run did not finish");
  return held("inputs and parameters are unchanged after every trial");
}

}  // namespace

extern const Check kInputsUnmodifiedCheck;
const Check kInputsUnmodifiedCheck{"inputs_unmodified", Phase::after_run, look};

}  // namespace cutegen
