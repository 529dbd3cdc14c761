// Nothing was written outside the buffers: the device surrounds each with canaries and looks at them after the run.
#include "judge/check.h"

namespace cutegen {
namespace {

Result<CheckEvidence> look(const CheckContext& context) {
  const Outcome& outcome = context.executions.back().outcome;
  if (outcome.kind == OutcomeKind::canary_broken) return broken("wrote outside a buffer: " + outcome.detail);
  if (!outcome.ok()) return not_made("the run did not finish");
  return held("the guard zones around every buffer are intact after every trial");
}

}  // namespace

extern const Check kCanariesCheck;
const Check kCanariesCheck{"canaries", Phase::after_run, look};

}  // namespace cutegen
