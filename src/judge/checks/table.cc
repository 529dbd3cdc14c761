// The table of integrity checks. A check is declared and named here and nowhere else.
#include "judge/check.h"

namespace cutegen {

extern const Check kPolicyCheck;
extern const Check kCanariesCheck;
extern const Check kInputsUnmodifiedCheck;
extern const Check kOutputsWrittenCheck;
extern const Check kSanitizerCheck;
extern const Check kDeterministicCheck;
extern const Check kStaleMemoryCheck;
extern const Check kWorkspaceCheck;
extern const Check kNotConstantCheck;
extern const Check kGraphReplayCheck;
extern const Check kFloorCheck;

std::span<const Check* const> all_checks() {
  static const Check* const table[] = {
      &kPolicyCheck,      &kCanariesCheck,  &kInputsUnmodifiedCheck, &kOutputsWrittenCheck, &kSanitizerCheck, &kDeterministicCheck,
      &kStaleMemoryCheck, &kWorkspaceCheck, &kNotConstantCheck,      &kGraphReplayCheck,    &kFloorCheck,
  };
  return table;
}

}  // namespace cutegen
