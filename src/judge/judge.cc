#include "judge/judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "judge/accuracy.h"
#include "judge/check.h"
#include "judge/executor.h"
#include "judge/room.h"
#include "judge/timing.h"

namespace cutegen {
namespace {

// The ladder: each rung returns whether the candidate stands on it. An Error stops the judging itself.
class Evaluation {
 public:
  Evaluation(Oracle& oracle, Toolchain& toolchain, Device& device, const Clock& clock, const Candidate& candidate,
             const JudgePolicy& policy, Deadline deadline)
      : oracle_(oracle),
        toolchain_(toolchain),
        device_(device),
        clock_(clock),
        candidate_(candidate),
        policy_(policy),
        deadline_(deadline),
        device_info_(device.info()) {
    verdict_.candidate_hash = candidate.hash();
    verdict_.task_hash = oracle.task().hash();
    verdict_.device_kind = to_string(device_info_.kind);
    verdict_.device_name = device_info_.name;
    for (const TensorSpec& output : oracle.task().outputs) output_names_.push_back(output.name);
  }

  Result<Verdict> run();

 private:
  Result<bool> build();
  Result<bool> judge_trials();
  Result<bool> judge_trial_number(size_t number, const TrialSpec& spec);
  Result<bool> honest();
  Result<bool> timed();
  Result<bool> climb();

  Result<bool> make_checks(Phase phase);
  void record(const Check& check, CheckEvidence evidence);
  CheckContext context() const;
  std::vector<TrialSpec> trials() const;
  bool compared_as_given(const std::vector<TrialSpec>& specs) const;
  bool stop(std::string why);
  bool stop_at(Stage stage, std::string why);
  bool out_of_time(std::string what);

  Oracle& oracle_;
  Toolchain& toolchain_;
  Device& device_;
  const Clock& clock_;
  const Candidate& candidate_;
  const JudgePolicy& policy_;
  const Deadline deadline_;
  const DeviceInfo device_info_;
  std::vector<std::string> output_names_;
  std::shared_ptr<const Build> build_;
  std::optional<TrialExecutor> executor_;
  std::vector<Execution> executions_;
  Verdict verdict_;
};

Result<Verdict> Evaluation::run() {
  CUTEGEN_TRY(const bool built, build());
  const Nanoseconds start = clock_.now();
  if (built) {
    auto climbed = climb();
    // The deadline is the one Error that says something about neither the candidate nor the machinery.
    if (!climbed.ok() && climbed.error().code == Errc::timeout && deadline_.passed(clock_)) {
      out_of_time(climbed.error().message);
    } else if (!climbed.ok()) {
      return climbed.error();
    }
  }
  verdict_.seconds = Seconds(clock_.now() - start).count();
  return std::move(verdict_);
}

Result<bool> Evaluation::climb() {
  executor_.emplace(oracle_, device_, build_, policy_.precision, clock_, deadline_);
  CUTEGEN_TRY(const bool accurate, judge_trials());
  if (!accurate) return false;
  CUTEGEN_TRY(const bool is_honest, honest());
  if (!is_honest) return false;
  if (!policy_.time) return true;
  return timed();
}

bool Evaluation::stop(std::string why) {
  verdict_.why = std::move(why);
  return false;
}

bool Evaluation::stop_at(Stage stage, std::string why) {
  verdict_.reached = stage;
  return stop(std::move(why));
}

bool Evaluation::out_of_time(std::string what) {
  verdict_.incomplete = true;
  return stop(std::move(what));
}

Result<bool> Evaluation::build() {
  CUTEGEN_TRY(const bool allowed, make_checks(Phase::before_build));
  if (!allowed) return false;
  auto result = toolchain_.build(oracle_.task(), candidate_, deadline_);
  if (!result.ok() && result.error().code == Errc::timeout) {
    if (deadline_.passed(clock_)) return out_of_time("the deadline passed during the build");
    return stop(result.error().message);
  }
  CUTEGEN_TRY(BuildOutcome outcome, std::move(result));
  if (outcome.failure) {
    verdict_.build_failure = *outcome.failure;
    return stop(outcome.failure->diagnostics.empty() ? "the build failed at " + outcome.failure->stage
                                                     : outcome.failure->stage + ": " + outcome.failure->diagnostics.front().message);
  }
  if (!outcome.build) return Error{Errc::internal, "the toolchain returned neither a build nor a failure", "", ""};
  build_ = std::move(outcome.build);
  verdict_.build_key = build_->key;
  verdict_.reached = Stage::built;
  return true;
}

std::vector<TrialSpec> Evaluation::trials() const {
  if (policy_.trials.empty()) return default_trials(policy_.secret_seed);
  std::vector<TrialSpec> specs = policy_.trials;
  for (TrialSpec& spec : specs) spec.seed = mix_seed(spec.seed, policy_.secret_seed);
  return specs;
}

Result<bool> Evaluation::judge_trials() {
  const std::vector<TrialSpec> specs = trials();
  for (size_t i = 0; i < specs.size(); ++i) {
    if (deadline_.passed(clock_)) return out_of_time(fmt::format("the deadline passed after {} of {} trials", i, specs.size()));
    CUTEGEN_TRY(const bool passed, judge_trial_number(i, specs[i]));
    if (!passed) return false;
  }
  if (!compared_as_given(specs)) return stop("on the inputs as given the reference itself is not finite, so nothing could be compared");
  verdict_.suite_allclose = std::all_of(executions_.begin(), executions_.end(), [](const Execution& execution) {
    // The suite itself knows only its own inputs.
    return execution.spec.distribution != Distribution::as_given || std::all_of(execution.comparisons.begin(), execution.comparisons.end(),
                                                                                [](const OutputComparison& o) { return o.suite_allclose; });
  });
  verdict_.reached = Stage::accurate;
  return true;
}

// Whether some trial was compared: one as given, where the policy has such. What the other distributions show is no substitute.
bool Evaluation::compared_as_given(const std::vector<TrialSpec>& specs) const {
  const auto as_given = [](const auto& trial) { return trial.distribution == Distribution::as_given; };
  if (std::none_of(specs.begin(), specs.end(), as_given)) return !executions_.empty();
  return std::any_of(executions_.begin(), executions_.end(), [&](const Execution& execution) { return as_given(execution.spec); });
}

Result<bool> Evaluation::judge_trial_number(size_t number, const TrialSpec& spec) {
  CUTEGEN_TRY(const Trial trial, with_room(device_, [&] { return oracle_.trial(spec, policy_.precision); }));
  if (!trial.reference_finite) {
    TrialEvidence dropped;
    dropped.spec = spec;
    dropped.dropped = true;
    verdict_.trials.push_back(std::move(dropped));
    return true;
  }
  CUTEGEN_TRY(Execution execution, executor_->execute(trial, ExecutionOptions{.compare = true}));
  execution.spec = spec;
  executions_.push_back(std::move(execution));
  const Execution& done = executions_.back();
  CUTEGEN_TRY(const bool clean, make_checks(Phase::after_run));
  if (!done.outcome.ok()) {
    verdict_.outcome = done.outcome;
    return stop_at(Stage::built,
                   fmt::format("{} in trial {} ({}): {}", to_string(done.outcome.kind), number + 1, describe(spec), done.outcome.detail));
  }
  verdict_.reached = Stage::ran;
  verdict_.trials.push_back(judge_trial(spec, done.comparisons, output_names_, policy_.c));
  const TrialEvidence& evidence = verdict_.trials.back();
  verdict_.worst_error_ratio = std::max(verdict_.worst_error_ratio, evidence.error_ratio);
  if (!evidence.passed) return stop(evidence.why);
  return clean;
}

Result<bool> Evaluation::honest() {
  CUTEGEN_TRY(const bool clean, make_checks(Phase::after_accuracy));
  if (clean) verdict_.reached = Stage::honest;
  return clean;
}

Result<bool> Evaluation::timed() {
  CUTEGEN_TRY(TimingOutcome timing, time_candidate(oracle_, device_, build_, policy_, clock_, deadline_));
  const bool cut_short = deadline_.passed(clock_) && (timing.outcome.ok() || timing.outcome.kind == OutcomeKind::timeout);
  if (!timing.evidence && cut_short) return out_of_time("the deadline passed before the candidate was timed");
  if (!timing.outcome.ok()) {
    // It ran once and faults when run again: it does not run.
    verdict_.outcome = timing.outcome;
    return stop_at(Stage::built, fmt::format("{} while being timed: {}", to_string(timing.outcome.kind), timing.outcome.detail));
  }
  verdict_.timing = std::move(timing.evidence);
  CUTEGEN_TRY(const bool possible, make_checks(Phase::after_timing));
  verdict_.reached = possible ? Stage::timed : Stage::accurate;
  return possible;
}

CheckContext Evaluation::context() const {
  return {oracle_.task(), candidate_,  policy_, device_info_,
          build_.get(),   executions_, nullptr, verdict_.timing ? &*verdict_.timing : nullptr};
}

// Makes the checks of one phase up to the first that is broken, which becomes the verdict's sentence.
Result<bool> Evaluation::make_checks(Phase phase) {
  CheckContext seen = context();
  if (executor_) seen.executor = &*executor_;
  for (const Check* check : all_checks()) {
    if (check->phase != phase) continue;
    CUTEGEN_TRY(CheckEvidence evidence, check->look(seen));
    const bool passed = evidence.passed;
    if (!passed) stop(fmt::format("{}: {}", check->name, evidence.detail));
    record(*check, std::move(evidence));
    if (!passed) return false;
  }
  return true;
}

// A check made after every trial is listed once: as it was seen last.
void Evaluation::record(const Check& check, CheckEvidence evidence) {
  evidence.name = check.name;
  const auto same =
      std::find_if(verdict_.checks.begin(), verdict_.checks.end(), [&](const CheckEvidence& e) { return e.name == evidence.name; });
  if (same == verdict_.checks.end()) {
    verdict_.checks.push_back(std::move(evidence));
  } else {
    *same = std::move(evidence);
  }
}

}  // namespace

Judge::Judge(Oracle& oracle, Toolchain& toolchain, Device& device, const Clock& clock)
    : oracle_(oracle), toolchain_(toolchain), device_(device), clock_(clock) {}

Result<Verdict> Judge::evaluate(const Candidate& candidate, const JudgePolicy& policy, Deadline deadline) {
  return Evaluation(oracle_, toolchain_, device_, clock_, candidate, policy, deadline).run();
}

}  // namespace cutegen
