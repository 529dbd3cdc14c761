#include "search/build_only.h"

#include <utility>

namespace cutegen {

Verdict unjudged_verdict(const Task& task, const Candidate& candidate, std::string why) {
  Verdict verdict;
  verdict.why = std::move(why);
  verdict.candidate_hash = candidate.hash();
  verdict.task_hash = task.hash();
  verdict.device_kind = "none";
  return verdict;
}

Verdict build_only_verdict(const Task& task, const Candidate& candidate, const BuildOutcome& built) {
  Verdict verdict = unjudged_verdict(task, candidate, "built, not executed: there is no device");
  if (built.failure) {
    verdict.build_failure = *built.failure;
    verdict.why = built.failure->summary();
  } else {
    verdict.reached = Stage::built;
    verdict.build_key = built.build->key;
  }
  return verdict;
}

Result<Verdict> build_only(Toolchain& toolchain, const Task& task, const Candidate& candidate, Deadline deadline) {
  const std::vector<PolicyFinding> findings = check_policy(candidate);
  if (!findings.empty()) {
    const PolicyFinding& first = findings.front();
    return unjudged_verdict(task, candidate, "policy: line " + std::to_string(first.line) + ": " + first.rule + ": " + first.message);
  }
  CUTEGEN_TRY(const BuildOutcome built, toolchain.build(task, candidate, deadline));
  return build_only_verdict(task, candidate, built);
}

}  // namespace cutegen
