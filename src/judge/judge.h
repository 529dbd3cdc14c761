// Accuracy (DESIGN §4), integrity and timing (DESIGN §5) of one candidate on one device.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "candidate/candidate.h"
#include "device/device.h"
#include "judge/verdict.h"
#include "oracle/oracle.h"
#include "toolchain/toolchain.h"

namespace cutegen {

struct JudgePolicy {
  double c = 2.0;  // allowed multiple of the reference's own error
  Precision precision = Precision::match;
  std::vector<TrialSpec> trials;  // empty: the default set (several seeds as given, one of each other distribution, randomised parameters)
  uint64_t secret_seed = 0;       // mixed into every trial's seed; drawn per run and stored. 0: seeds as they are, to repeat a trial
                                  // that a verdict names
  std::vector<Baseline> baselines{Baseline::eager};
  double ratio_half_width = 0.01;  // stop timing when the 95% interval of the ratio is this narrow (relative)
  Seconds timing_budget{1.5};      // ... or this much time is spent
  int min_samples = 12;
  bool time = true;           // false: stop at Stage::honest
  bool deterministic = true;  // repeated runs on the same inputs must agree bit for bit; false: differences are listed and allowed

  bool operator==(const JudgePolicy&) const = default;
};

Json to_json(const JudgePolicy& policy);  // lossless
// Absent members keep their defaults; Errc::invalid_input for a wrong type or an unknown name.
Result<JudgePolicy> judge_policy_from_json(const Json& j);

// The default trials of a policy, in order of what fails fastest.
std::vector<TrialSpec> default_trials(uint64_t secret_seed);
// What the judge does to a trial's seed, so that nobody who knows the trials knows the inputs. Below 2^53.
uint64_t mix_seed(uint64_t seed, uint64_t secret_seed);

// Equal for evaluations that must come to the same verdict, timings apart: what a cache of verdicts goes by.
std::string verdict_key(const Task& task, const Candidate& candidate, const JudgePolicy& policy, const DeviceInfo& device);

class Judge {
 public:
  // The three live longer than the judge.
  Judge(Oracle& oracle, Toolchain& toolchain, Device& device, const Clock& clock = system_clock());
  // A Verdict for anything that the candidate did; an Error only when the judging itself could not be done.
  Result<Verdict> evaluate(const Candidate& candidate, const JudgePolicy& policy, Deadline deadline);

 private:
  Oracle& oracle_;
  Toolchain& toolchain_;
  Device& device_;
  const Clock& clock_;
};

}  // namespace cutegen
