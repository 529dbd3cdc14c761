#include "judge/check.h"

#include <fmt/format.h>

#include "judge/accuracy.h"

namespace cutegen {
namespace {

// The outputs of the second execution that differ from the first's, as names.
std::string differing(const CheckContext& context, const Fingerprint& first, const Fingerprint& second) {
  std::string names;
  for (size_t i = 0; i < context.task.outputs.size(); ++i) {
    const bool same = i < first.outputs.size() && i < second.outputs.size() && first.outputs[i] == second.outputs[i];
    if (!same) names += (names.empty() ? "" : ", ") + context.task.outputs[i].name;
  }
  return names;
}

bool accurate(const CheckContext& context, const Execution& execution) {
  std::vector<std::string> names;
  for (const TensorSpec& output : context.task.outputs) names.push_back(output.name);
  return judge_trial(execution.spec, execution.comparisons, names, context.policy.c).passed;
}

}  // namespace

const char* to_string(Fingerprint::Means means) {
  switch (means) {
    case Fingerprint::Means::device_checksum: return "device checksum";
    case Fingerprint::Means::content_hash: return "content hash";
    case Fingerprint::Means::error_statistics: return "error statistics";
  }
  return "content hash";
}

Result<CheckEvidence> expect_same_outputs(const CheckContext& context, const Execution& first, const ExecutionOptions& options,
                                          const std::string& circumstance) {
  ExecutionOptions how = options;
  how.compare = !context.policy.deterministic;  // else equal bits are all that is asked
  CUTEGEN_TRY(const Execution again, context.executor->execute(first.spec, how));
  const std::string trial = "(" + describe(first.spec) + ")";
  if (!again.outcome.ok()) {
    return broken(
        fmt::format("{} the candidate fails {}: {}: {}", circumstance, trial, to_string(again.outcome.kind), again.outcome.detail));
  }
  if (again.fingerprint.means != first.fingerprint.means) return broken("two executions could not be compared in the same way");
  const std::string names = differing(context, first.fingerprint, again.fingerprint);
  if (names.empty())
    return held(fmt::format("{} outputs are the same bit for bit (by {})", circumstance, to_string(first.fingerprint.means)));
  if (!context.policy.deterministic && accurate(context, again)) {
    return held(fmt::format("{} {} changed within the accuracy policy, which this run allows", circumstance, names));
  }
  return broken(fmt::format("{} the same inputs give other bits in {} {}", circumstance, names, trial));
}

}  // namespace cutegen
