// The source keeps to the static policy (candidate/candidate.h): no host code, only allowed includes, CuTe where CuTe is claimed.
#include <fmt/format.h>

#include "judge/check.h"

namespace cutegen {
namespace {

Result<CheckEvidence> look(const CheckContext& context) {
  const std::vector<PolicyFinding> findings = check_policy(context.candidate);
  if (findings.empty()) return held("the source breaks no rule");
  std::string text;
  for (const PolicyFinding& finding : findings) {
    if (!text.empty()) text += "; ";
    text += finding.line > 0 ? fmt::format("line {}: {}: {}", finding.line, finding.rule, finding.message)
                             : fmt::format("{}: {}", finding.rule, finding.message);
  }
  return broken(text);
}

}  // namespace

extern const Check kPolicyCheck;
const Check kPolicyCheck{"policy", Phase::before_build, look};

}  // namespace cutegen
