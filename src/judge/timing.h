// DESIGN §5: candidate and baselines timed in turn until the interval of their ratio is narrow or the time is up.
#pragma once

#include <string>

#include "base/clock.h"
#include "device/device.h"
#include "judge/judge.h"
#include "judge/verdict.h"
#include "oracle/oracle.h"

namespace cutegen {

struct TimingOutcome {
  Outcome outcome;                         // of the candidate; not ok: evidence is absent
  std::optional<TimingEvidence> evidence;  // also absent when the deadline passed before the candidate had a sample
};

// Times `build` against policy.baselines. `device` and `oracle` must be free for the duration. On a device that does not measure, one
// predicted time and no baselines (a note says so).
Result<TimingOutcome> time_candidate(Oracle& oracle, Device& device, std::shared_ptr<const Build> build, const JudgePolicy& policy,
                                     const Clock& clock, Deadline deadline);

}  // namespace cutegen
