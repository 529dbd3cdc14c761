// A workspace that the plan does not ask to be zeroed is not taken to be zero (or small, or a flag that is off): all ones must do.
#include "judge/check.h"

namespace cutegen {
namespace {

Result<CheckEvidence> look(const CheckContext& context) {
  const Plan& plan = context.build->plan;
  if (plan.workspace_bytes == 0) return not_made("the plan has no workspace");
  if (plan.workspace_zeroed) return not_made("the plan has its workspace zeroed, and the time of that is counted");
  return expect_same_outputs(context, context.executions.front(), ExecutionOptions{.poison = 0xffffffff},
                             "with every bit of the workspace set beforehand");
}

}  // namespace

extern const Check kWorkspaceCheck;
const Check kWorkspaceCheck{"workspace", Phase::after_accuracy, look};

}  // namespace cutegen
