// What can be said of a candidate without a device: whether its source is allowed and whether it builds. Never that it is right.
#pragma once

#include <string>

#include "candidate/build.h"
#include "candidate/candidate.h"
#include "judge/verdict.h"
#include "task/task.h"
#include "toolchain/toolchain.h"

namespace cutegen {

// Stage::none with this sentence; device "none".
Verdict unjudged_verdict(const Task& task, const Candidate& candidate, std::string why);
// Stage::built, or the build's failure.
Verdict build_only_verdict(const Task& task, const Candidate& candidate, const BuildOutcome& built);
// Static policy, then the build. Errors are the toolchain's.
Result<Verdict> build_only(Toolchain& toolchain, const Task& task, const Candidate& candidate, Deadline deadline);

}  // namespace cutegen
