// The truth side: the user's module, its inputs, its references and its baselines, in a process that never sees a candidate.
// Implemented by the Python side-car (oracle/python_oracle.h) and, for tests without Python, by a fake.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "task/shared_tensor.h"
#include "task/task.h"

namespace cutegen {

// How inputs are drawn (DESIGN §4). as_given is the user's get_inputs under the seed.
enum class Distribution { as_given, times3, times001, negated, sign_symmetric, wide_exponent, ties, small_integers };
const char* to_string(Distribution d);
inline constexpr Distribution kDistributions[] = {Distribution::as_given, Distribution::times3,         Distribution::times001,
                                                  Distribution::negated,  Distribution::sign_symmetric, Distribution::wide_exponent,
                                                  Distribution::ties,     Distribution::small_integers};

struct TrialSpec {
  uint64_t seed = 0;
  Distribution distribution = Distribution::as_given;
  bool randomise_params = false;  // away from identity values; false: as the module initialises them under its own seed
  bool operator==(const TrialSpec&) const = default;
};

enum class Precision { match, fp32, tf32, half };  // which reference run sets r (DESIGN §4)
const char* to_string(Precision p);

// A trial's inputs, in memory that a device may copy from. References stay inside the oracle.
struct Trial {
  int id = 0;
  TrialSpec spec;
  std::vector<SharedTensor> inputs;
  std::vector<SharedTensor> params;
  bool reference_finite = true;  // false: this distribution is dropped (and listed)
};

// Error of one output against float64, and of the reference run, over all elements of a trial.
struct OutputComparison {
  bool shape_ok = true;
  int64_t elements = 0;
  double norm_truth = 0;             // ||y64||_2
  double norm_error = 0;             // ||y - y64||_2
  double norm_reference = 0;         // ||yref - y64||_2
  double floor_norm = 0;             // ||floor||_2, floor = a few ulps of the output dtype at each element
  double max_error = 0;              // max |y - y64| / scale
  double max_reference = 0;          // max |yref - y64| / scale
  double floor_max = 0;              // max of floor / scale
  int64_t nonfinite_mismatches = 0;  // NaN or infinity where the truth has none, or the reverse
  int64_t poison_left = 0;           // elements that still hold the poison pattern and should not
  std::vector<int64_t> worst_index;  // of max_error
  double worst_value = 0, worst_truth = 0, worst_reference = 0;
  bool suite_allclose = false;  // the suite's own check against the reference run; reported, never decisive
  bool bit_equal_reference = false;
  std::vector<std::string> pattern;  // index patterns of the wrong elements, for people and models
};

enum class Baseline { eager, compile, eager_tf32, compile_tf32 };
const char* to_string(Baseline b);

struct BaselineSamples {
  std::vector<double> ms;  // device-event time of one call each
  std::string note;        // e.g. why compile is not available; ms is empty then
};

struct OracleInfo {
  std::string python, torch, cuda;  // versions; cuda empty on a CPU build
  bool on_gpu = false;
  std::string device_name;
};

class Oracle {
 public:
  virtual ~Oracle() = default;
  virtual OracleInfo info() const = 0;
  virtual const Task& task() const = 0;
  // Errc::unsupported here and below: the memory does not hold it.
  // Draws inputs and computes y64 and yref (kept by the oracle, which evicts old trials when memory is short).
  virtual Result<Trial> trial(const TrialSpec& spec, Precision precision) = 0;
  // Inputs for timing: contents as given under `seed`, no references.
  virtual Result<Trial> timing_inputs(uint64_t seed) = 0;
  // Compares candidate outputs (readable by the oracle) with the trial's truth.
  virtual Result<std::vector<OutputComparison>> compare(int trial_id, const std::vector<SharedTensor>& outputs) = 0;
  // Times `repeats` calls of a baseline with rotating inputs and a cold L2, after `warmup` calls.
  virtual Result<BaselineSamples> time_baseline(Baseline baseline, int warmup, int repeats, Deadline deadline) = 0;
  // Lets go of a trial's memory. Unknown ids are ignored.
  virtual void release(int trial_id) = 0;
  // Gives back memory that others may need; ids stay valid, what they name is drawn again when it is asked for.
  virtual void trim() {}
};

}  // namespace cutegen
