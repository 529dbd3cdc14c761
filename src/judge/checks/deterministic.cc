// The same inputs, three times, give the same bits. Differences come from races, from memory that nobody wrote, and from atomics whose
// order changes the rounding (allowed only when JudgePolicy::deterministic is off).
#include "judge/check.h"

namespace cutegen {
namespace {

constexpr int kAgain = 2;  // executions beside the trial's own

Result<CheckEvidence> look(const CheckContext& context) {
  CheckEvidence evidence;
  for (int i = 0; i < kAgain; ++i) {
    CUTEGEN_TRY(evidence, expect_same_outputs(context, context.executions.front(), ExecutionOptions{}, "in three executions"));
    if (!evidence.passed) break;
  }
  return evidence;
}

}  // namespace

extern const Check kDeterministicCheck;
const Check kDeterministicCheck{"deterministic", Phase::after_accuracy, look};

}  // namespace cutegen
