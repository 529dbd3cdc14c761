// Runs one build on the oracle's trials: what the judge and its checks execute candidates through.
#pragma once

#include <memory>

#include "judge/check.h"

namespace cutegen {

// The fingerprint of a finished run; nullopt where there are neither checksums nor shared memory.
Result<std::optional<Fingerprint>> fingerprint(const RunResult& run);
// ... and what serves then.
Fingerprint fingerprint(const std::vector<OutputComparison>& comparisons);

class TrialExecutor : public Executor {
 public:
  // The two live longer than the executor.
  TrialExecutor(Oracle& oracle, Device& device, std::shared_ptr<const Build> build, Precision precision, const Clock& clock,
                Deadline deadline);
  // Draws the trial if the oracle no longer holds it. Errc::timeout once the deadline has passed.
  Result<Execution> execute(const TrialSpec& spec, const ExecutionOptions& options) override;
  // The same for a trial at hand.
  Result<Execution> execute(const Trial& trial, const ExecutionOptions& options);

 private:
  Oracle& oracle_;
  Device& device_;
  std::shared_ptr<const Build> build_;
  Precision precision_;
  const Clock& clock_;
  Deadline deadline_;
};

// The error with which work stops at a deadline; the judge tells it from an error of the machinery.
Error deadline_error(const std::string& before_what);

}  // namespace cutegen
