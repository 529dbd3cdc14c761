// A verdict is a value: how far a candidate came, and for each stage the evidence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "candidate/build.h"
#include "device/device.h"
#include "oracle/oracle.h"

namespace cutegen {

enum class Stage { none, built, ran, accurate, honest, timed };  // ordered: the furthest stage passed
const char* to_string(Stage stage);

struct TrialEvidence {
  TrialSpec spec;
  bool dropped = false;  // the reference itself is not finite there
  std::vector<OutputComparison> outputs;
  double error_ratio = 0;  // worst over outputs and both norms (judge/accuracy.h); at most c exactly when the accuracy passes
  bool passed = false;
  std::string why;  // one sentence when it did not pass
};

// One integrity check (judge/checks/): a name, whether it held, and what was seen.
struct CheckEvidence {
  std::string name;     // "canaries", "inputs_unmodified", "deterministic", "floor", "not_constant" ...
  bool passed = false;  // false is an integrity failure
  std::string detail;
  bool skipped = false;  // the check could not be made here (detail says why); passed is true then
};

struct RatioInterval {
  double ratio = 0;          // baseline median / candidate median: above 1 is faster
  double low = 0, high = 0;  // 95% bootstrap interval
};

struct TimedAgainst {
  Baseline baseline = Baseline::eager;
  double baseline_ms = 0;  // median
  RatioInterval speedup;
  int samples = 0;   // of each side
  std::string note;  // why it is missing, when it is
};

struct TimingEvidence {
  double candidate_ms = 0;         // median
  double candidate_spread_ms = 0;  // interquartile range
  int samples = 0;
  std::vector<TimedAgainst> against;  // the first is the headline
  double floor_ms = 0;                // of the task on this device
  double share_of_floor = 0;          // floor / candidate
  bool measured = false;              // false: predicted (virtual GPU) or invented (fake)
  ClockReading before, after;
};

struct Verdict {
  Stage reached = Stage::none;
  bool verified() const { return reached >= Stage::honest; }
  std::string why;          // empty when timed; else the one sentence for people
  bool incomplete = false;  // the deadline passed first: `reached` is what was shown, and what is missing is no fault of the candidate
  std::string candidate_hash, task_hash, build_key;
  std::string device_kind, device_name;
  std::optional<BuildFailure> build_failure;
  Outcome outcome;  // of the run that failed, or ok
  std::vector<TrialEvidence> trials;
  double worst_error_ratio = 0;
  bool suite_allclose = false;
  std::vector<CheckEvidence> checks;
  std::optional<TimingEvidence> timing;
  double seconds = 0;  // wall time of the evaluation, build excluded
};

// {"schema": 1, ...}: lossless, infinities and NaN included. Also carries "verified", which reading derives from `reached` instead.
inline constexpr int kVerdictSchema = 1;
Json to_json(const Verdict& verdict);
// Errc::protocol for a missing or wrong member, Errc::unsupported for a newer schema.
Result<Verdict> verdict_from_json(const Json& j);

}  // namespace cutegen
