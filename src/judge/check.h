// Integrity checks: small objects in one table, each in a file of its own under judge/checks/.
//
// Adding one: write judge/checks/NAME.cc with its `extern const Check`, name it in judge/checks/table.cc, test it in
// tests/judge/checks_test.cc, list it in docs/judge.md.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "candidate/candidate.h"
#include "device/device.h"
#include "judge/judge.h"
#include "judge/verdict.h"
#include "oracle/oracle.h"

namespace cutegen {

// What an execution's outputs were, one string an output: equal exactly when the outputs are equal bit for bit, up to chance.
struct Fingerprint {
  enum class Means {
    device_checksum,   // RunResult::output_hashes
    content_hash,      // of shared memory, by the judge
    error_statistics,  // the oracle's comparison, number for number: only means something between runs of one trial
  };
  std::vector<std::string> outputs;
  Means means = Means::content_hash;
};
const char* to_string(Fingerprint::Means means);

// One execution of the candidate on a trial's inputs.
struct Execution {
  TrialSpec spec;
  Outcome outcome;
  bool used_graph = false;
  std::vector<DeviceFinding> findings;
  Fingerprint fingerprint;  // the rest only when the outcome is ok
  std::vector<OutputComparison> comparisons;
};

struct ExecutionOptions {
  uint32_t poison = RunRequest{}.poison;
  bool graph = false;
  bool compare = false;  // fill in `comparisons` even where the fingerprint does not need them
};

// Executes the candidate for a check. Errors are of the oracle or the device, never the candidate's.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual Result<Execution> execute(const TrialSpec& spec, const ExecutionOptions& options) = 0;
};

// What a check may look at. Which parts are there depends on its phase.
struct CheckContext {
  const Task& task;
  const Candidate& candidate;
  const JudgePolicy& policy;
  const DeviceInfo& device;
  const Build* build = nullptr;                // null before the build
  std::span<const Execution> executions = {};  // one a trial, in order, dropped trials left out; after_run: the last is the one to look at
  Executor* executor = nullptr;                // after_accuracy only
  const TimingEvidence* timing = nullptr;      // after_timing only
};

enum class Phase {
  before_build,    // from the source alone
  after_run,       // after each trial's execution, faulting ones included
  after_accuracy,  // once, when every trial is as accurate as the reference
  after_timing,    // once, when times are known
};

struct Check {
  const char* name;
  Phase phase;
  Result<CheckEvidence> (*look)(const CheckContext& context);  // need not fill in the name
};

// Every check, in the order in which they are made.
std::span<const Check* const> all_checks();

// Shorthands for evidence.
inline CheckEvidence held(std::string detail) { return {"", true, std::move(detail), false}; }
inline CheckEvidence broken(std::string detail) { return {"", false, std::move(detail), false}; }
inline CheckEvidence not_made(std::string detail) { return {"", true, std::move(detail), true}; }

// Executes the trial of `first` again and compares with it: for checks which say that some circumstance must not change the outputs.
// `circumstance` completes "with ..." or "when ..."; the evidence is broken when the execution fails or the outputs differ.
Result<CheckEvidence> expect_same_outputs(const CheckContext& context, const Execution& first, const ExecutionOptions& options,
                                          const std::string& circumstance);

}  // namespace cutegen
