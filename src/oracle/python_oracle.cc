#include "oracle/python_oracle.h"

#include <fmt/format.h>

#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "base/fs.h"
#include "base/subprocess.h"
#include "oracle/side_car.h"

namespace cutegen {
namespace {

constexpr int kIdsPerProcess = 1'000'000;  // a trial's id names the process that made it, too
constexpr Seconds kProbeLimit{30};
constexpr Seconds kTimingGrace{15};  // past a baseline's own limit, for what cannot be interrupted
constexpr Seconds kLongestTiming{3600};

// JSON has no infinities: the side-car writes them as strings.
double number(const Json& j, const char* key) {
  const auto it = j.find(key);
  if (it == j.end()) return 0;
  if (it->is_number()) return it->get<double>();
  const std::string text = it->is_string() ? it->get<std::string>() : "nan";
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

// Absent members fail closed: a comparison without an error norm has an infinite error.
Result<OutputComparison> comparison_from_json(const Json& j) {
  OutputComparison c;
  CUTEGEN_TRY(c.shape_ok, json_get<bool>(j, "shape_ok"));
  CUTEGEN_TRY(c.elements, json_get<int64_t>(j, "elements"));
  CUTEGEN_TRY(c.nonfinite_mismatches, json_get<int64_t>(j, "nonfinite_mismatches"));
  CUTEGEN_TRY(c.poison_left, json_get<int64_t>(j, "poison_left"));
  const std::pair<const char*, double*> numbers[] = {{"norm_truth", &c.norm_truth},         {"norm_error", &c.norm_error},
                                                     {"norm_reference", &c.norm_reference}, {"floor_norm", &c.floor_norm},
                                                     {"max_error", &c.max_error},           {"max_reference", &c.max_reference},
                                                     {"floor_max", &c.floor_max},           {"worst_value", &c.worst_value},
                                                     {"worst_truth", &c.worst_truth},       {"worst_reference", &c.worst_reference}};
  for (const auto& [key, value] : numbers) {
    if (!j.contains(key)) return Error{Errc::protocol, std::string("a comparison lacks '") + key + "'", "", ""};
    *value = number(j, key);
  }
  c.worst_index = json_or<std::vector<int64_t>>(j, "worst_index", {});
  c.suite_allclose = json_or(j, "suite_allclose", false);
  c.bit_equal_reference = json_or(j, "bit_equal_reference", false);
  c.pattern = json_or<std::vector<std::string>>(j, "pattern", {});
  return c;
}

Result<std::vector<SharedTensor>> shared_tensors(const Json& answer, const char* key) {
  std::vector<SharedTensor> tensors;
  const auto list = answer.find(key);
  if (list == answer.end() || !list->is_array()) return Error{Errc::protocol, std::string("a trial lacks '") + key + "'", "", ""};
  for (const Json& item : *list) {
    CUTEGEN_TRY(SharedTensor tensor, shared_tensor_from_json(item));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

class PythonOracle final : public Oracle {
 public:
  PythonOracle(OracleConfig config, std::string python, std::optional<TempDir> log_dir, const Clock& clock)
      : config_(config), clock_(clock), log_dir_(std::move(log_dir)), car_(std::move(config), std::move(python), clock) {}

  // Starts the process when there is none and gives it the task; false answers keep the process for the next try.
  Result<void> ensure() {
    if (car_.running() && inspected_) return {};
    if (!car_.running()) {
      inspected_ = false;
      CUTEGEN_CHECK(car_.start());
      ++generation_;
    }
    const std::string doing = "loading " + config_.task.filename().string();
    CUTEGEN_TRY(const Json answer, car_.ask({{"op", "inspect"}, {"path", config_.task.string()}}, config_.inspect_limit, doing));
    CUTEGEN_TRY(Task task, task_from_json(answer.value("task", Json())));
    if (!task_.name.empty() && task.hash() != task_.hash())
      return Error{Errc::invalid_input, config_.task.filename().string() + " has changed since it was first loaded", "start again", ""};
    task_ = std::move(task);
    inspected_ = true;
    return {};
  }

  OracleInfo info() const override {
    const Json& hello = car_.hello();
    return {json_or<std::string>(hello, "python", ""), json_or<std::string>(hello, "torch", ""), json_or<std::string>(hello, "cuda", ""),
            json_or(hello, "on_gpu", false), json_or<std::string>(hello, "device_name", "")};
  }

  const Task& task() const override { return task_; }

  Result<Trial> trial(const TrialSpec& spec, Precision precision) override { return make_trial(spec, precision); }

  Result<Trial> timing_inputs(uint64_t seed) override { return make_trial(TrialSpec{seed, Distribution::as_given, false}, std::nullopt); }

  Result<std::vector<OutputComparison>> compare(int trial_id, const std::vector<SharedTensor>& outputs) override {
    CUTEGEN_TRY(const int id, current_id(trial_id));
    const Json request = {{"op", "compare"}, {"trial", id}, {"outputs", outputs}, {"poison", config_.poison}};
    CUTEGEN_TRY(const Json answer, car_.ask(request, config_.compare_limit, "comparing outputs"));
    std::vector<OutputComparison> comparisons;
    for (const Json& item : answer.value("outputs", Json::array())) {
      CUTEGEN_TRY(OutputComparison comparison, comparison_from_json(item));
      comparisons.push_back(std::move(comparison));
    }
    if (comparisons.size() != task_.outputs.size())
      return Error{Errc::protocol, fmt::format("{} outputs were compared, the task has {}", comparisons.size(), task_.outputs.size()), "",
                   ""};
    return comparisons;
  }

  Result<BaselineSamples> time_baseline(Baseline baseline, int warmup, int repeats, Deadline deadline) override {
    CUTEGEN_CHECK(ensure());
    const Seconds left = std::min(deadline.left(clock_), kLongestTiming);
    if (left.count() <= 0) return BaselineSamples{{}, "no time was left"};
    const Json request = {
        {"op", "time_baseline"}, {"baseline", to_string(baseline)}, {"warmup", warmup}, {"repeats", repeats}, {"seconds", left.count()}};
    CUTEGEN_TRY(const Json answer, car_.ask(request, left + kTimingGrace, std::string("timing the baseline ") + to_string(baseline)));
    return BaselineSamples{json_or<std::vector<double>>(answer, "ms", {}), json_or<std::string>(answer, "note", "")};
  }

  void release(int trial_id) override {
    const auto made = made_.find(trial_id);
    if (made == made_.end() || !car_.running() || made->second.generation != generation_) return;
    auto answer = car_.ask({{"op", "release"}, {"trial", made->second.id}}, config_.compare_limit, "releasing a trial");
    if (!answer.ok()) return;  // the process is gone, and the trial with it
  }

  void trim() override {
    if (!car_.running()) return;
    auto answer = car_.ask({{"op", "trim"}}, config_.compare_limit, "giving back memory");
    if (!answer.ok()) return;  // the process is gone, and its memory with it
  }

 private:
  struct Made {
    TrialSpec spec;
    std::optional<Precision> precision;  // none: timing inputs
    int generation = 0;
    int id = 0;  // in the process of that generation
  };

  Result<Trial> make_trial(const TrialSpec& spec, std::optional<Precision> precision) {
    CUTEGEN_CHECK(ensure());
    Json request = {{"op", precision ? "trial" : "timing_inputs"}, {"seed", spec.seed}};
    if (precision)
      request.update({{"distribution", to_string(spec.distribution)},
                      {"randomise_params", spec.randomise_params},
                      {"precision", to_string(*precision)}});
    const std::string doing = fmt::format("computing the reference (seed {}, {})", spec.seed, to_string(spec.distribution));
    CUTEGEN_TRY(const Json answer, car_.ask(request, config_.trial_limit, precision ? doing : "drawing inputs for timing"));
    Trial trial;
    CUTEGEN_TRY(const int id, json_get<int>(answer, "trial"));
    trial.id = generation_ * kIdsPerProcess + id;
    trial.spec = spec;
    CUTEGEN_TRY(trial.inputs, shared_tensors(answer, "inputs"));
    CUTEGEN_TRY(trial.params, shared_tensors(answer, "params"));
    CUTEGEN_TRY(trial.reference_finite, json_get<bool>(answer, "reference_finite"));
    made_[trial.id] = {spec, precision, generation_, id};
    return trial;
  }

  // The id that the running process knows a trial by; makes the trial again when the process that made it is gone.
  Result<int> current_id(int trial_id) {
    const auto made = made_.find(trial_id);
    if (made == made_.end() || !made->second.precision)
      return Error{Errc::internal, fmt::format("there is no trial {} with references", trial_id), "", ""};
    CUTEGEN_CHECK(ensure());
    if (made->second.generation != generation_) {
      CUTEGEN_TRY(const Trial again, make_trial(made->second.spec, made->second.precision));
      made->second.generation = generation_;
      made->second.id = again.id % kIdsPerProcess;
    }
    return made->second.id;
  }

  OracleConfig config_;
  const Clock& clock_;
  std::optional<TempDir> log_dir_;  // outlives the process that writes there
  SideCar car_;
  bool inspected_ = false;
  int generation_ = 0;
  Task task_;
  std::map<int, Made> made_;
};

bool has_torch(const std::string& python) {
  const Command probe{{python, "-c", "import importlib.util as u, sys; sys.exit(u.find_spec('torch') is None)"}, {}, "/", {}};
  const auto finished = run(probe, Deadline::in(system_clock(), kProbeLimit));
  return finished.ok() && finished->status.success();
}

}  // namespace

Result<std::string> find_python(const std::string& preferred) {
  const char* chosen = std::getenv("CUTEGEN_PYTHON");
  if (chosen != nullptr && *chosen != '\0') return std::string(chosen);
  if (!preferred.empty()) return preferred;
  const std::string on_path = find_program("python3").string();
  for (const std::string& python : {on_path, std::string("/usr/bin/python3")})
    if (!python.empty() && !find_program(python).empty() && has_torch(python)) return python;
  return Error{Errc::missing_dependency, "no Python with torch was found (tried python3 on PATH and /usr/bin/python3)",
               "run scripts/setup, install torch, or name an interpreter in $CUTEGEN_PYTHON", ""};
}

Result<std::unique_ptr<Oracle>> start_python_oracle(const OracleConfig& given, const Clock& clock) {
  OracleConfig config = given;
  std::error_code ec;
  if (!std::filesystem::is_regular_file(config.task, ec))
    return Error{Errc::invalid_input, "there is no task file " + config.task.string(), "", ""};
  config.task = std::filesystem::absolute(config.task);
  CUTEGEN_TRY(std::string python, find_python(config.python));
  if (find_program(python).empty())
    return Error{Errc::missing_dependency, "cannot execute " + python, "name a Python that has torch in $CUTEGEN_PYTHON", ""};
  if (config.package_dir.empty()) {
    CUTEGEN_TRY(const std::filesystem::path data, data_dir());
    config.package_dir = data / "python";
  }
  std::optional<TempDir> log_dir;
  if (config.log.empty()) {
    CUTEGEN_TRY(TempDir made, TempDir::make("cutegen-oracle"));
    config.log = made.path() / "oracle.log";
    log_dir.emplace(std::move(made));
  }
  auto oracle = std::make_unique<PythonOracle>(std::move(config), std::move(python), std::move(log_dir), clock);
  CUTEGEN_CHECK(oracle->ensure());
  return std::unique_ptr<Oracle>(std::move(oracle));
}

}  // namespace cutegen
