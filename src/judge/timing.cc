#include "judge/timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "judge/room.h"
#include "judge/stats.h"
#include "task/analysis.h"
#include "task/eager.h"

namespace cutegen {
namespace {

constexpr int kWarmup = 3;             // calls before the first sample of each side
constexpr int kRoundWarmup = 1;        // ... and of every later turn: the other side has just had the caches
constexpr int kMinRounds = 5;          // fewer do not show what differs between rounds
constexpr double kTurnSeconds = 0.03;  // wall time that a turn of one side aims at
constexpr int kMinRepeats = 3, kMaxRepeats = 30;
constexpr int kStopReplicates = 200;                  // bootstrap replicates of the stopping rule; the reported interval has more
constexpr int64_t kRotationBytes = int64_t{1} << 30;  // input sets rotate while together they stay below this

struct Side {
  Baseline baseline;
  std::vector<PairedRound> rounds;
  std::string note;
  bool present() const { return note.empty(); }
};

// One measurement: gathers rounds, then sums them up.
class Measurement {
 public:
  Measurement(Oracle& oracle, Device& device, const JudgePolicy& policy, const Clock& clock, Deadline deadline)
      : oracle_(oracle), device_(device), policy_(policy), clock_(clock), deadline_(deadline) {}

  Result<void> prepare(std::shared_ptr<const Build> build);
  Result<TimingOutcome> predict();
  Result<TimingOutcome> measure();

 private:
  Result<void> prime();
  Result<void> prime_baseline(Side& side);
  Result<void> round();
  Result<std::vector<double>> candidate_turn();
  Result<std::vector<double>> baseline_turn(Side& side);
  bool enough() const;
  bool time_left() const { return outcome_.ok() && !deadline_.passed(clock_); }
  TimingEvidence evidence() const;
  TimedAgainst summary(const Side& side) const;
  TimingOutcome finish() const;

  Oracle& oracle_;
  Device& device_;
  const JudgePolicy& policy_;
  const Clock& clock_;
  const Deadline deadline_;
  TimeRequest request_;
  std::vector<Side> sides_;
  std::vector<double> candidate_ms_;  // every sample of every round
  int repeats_ = kMinRepeats;
  int rounds_ = 0;
  Outcome outcome_;
  ClockReading before_, after_;
  std::string note_;  // of the device, on its times
};

int64_t total_bytes(const std::vector<TensorSpec>& specs) {
  int64_t bytes = 0;
  for (const TensorSpec& spec : specs) bytes += spec.bytes();
  return bytes;
}

Result<void> Measurement::prepare(std::shared_ptr<const Build> build) {
  request_.build = std::move(build);
  request_.outputs = oracle_.task().outputs;
  const int64_t bytes = std::max<int64_t>(1, total_bytes(oracle_.task().inputs));
  const auto sets = std::clamp<int64_t>(kRotationBytes / bytes, 1, 3);
  for (int64_t i = 0; i < sets; ++i) {
    const uint64_t seed = mix_seed(static_cast<uint64_t>(1000 + i), policy_.secret_seed);
    CUTEGEN_TRY(Trial trial, with_room(device_, [&] { return oracle_.timing_inputs(seed); }));
    request_.input_sets.push_back(std::move(trial.inputs));
    request_.params = std::move(trial.params);
  }
  return {};
}

Result<TimingOutcome> Measurement::predict() {
  request_.warmup = 0;
  request_.repeats = 1;
  CUTEGEN_TRY(candidate_ms_, candidate_turn());
  const auto eager = eager_seconds(oracle_.task(), rates_for(device_.info().name));
  for (const Baseline baseline : policy_.baselines) {
    if (baseline == Baseline::eager && eager && outcome_.ok() && !candidate_ms_.empty())
      sides_.push_back({baseline, {{{1e3 * *eager}, candidate_ms_}}, ""});
    else
      sides_.push_back({baseline, {}, "this device predicts times; this baseline is only measured on a GPU"});
  }
  return finish();
}

Result<TimingOutcome> Measurement::measure() {
  for (const Baseline baseline : policy_.baselines) {
    sides_.push_back({baseline, {}, oracle_.info().on_gpu ? "" : "PyTorch runs on the CPU here: not a fair baseline for a GPU"});
  }
  CUTEGEN_CHECK(prime());
  const Deadline budget = Deadline::in(clock_, policy_.timing_budget);
  while (time_left() && !enough() && (rounds_ == 0 || !budget.passed(clock_))) CUTEGEN_CHECK(round());
  return finish();
}

// Wakes every side up (compilation, autotuning, graph capture, clocks) and sizes the turns. These samples are not kept.
Result<void> Measurement::prime() {
  for (Side& side : sides_) {
    if (side.present()) CUTEGEN_CHECK(prime_baseline(side));
  }
  request_.warmup = kWarmup;
  request_.repeats = kMinRepeats;
  const Nanoseconds start = clock_.now();
  CUTEGEN_CHECK(candidate_turn());
  const double wall = Seconds(clock_.now() - start).count() / (kWarmup + kMinRepeats);
  if (wall > 0) repeats_ = static_cast<int>(std::clamp(kTurnSeconds / wall, double{kMinRepeats}, double{kMaxRepeats}));
  request_.warmup = kRoundWarmup;
  request_.repeats = repeats_;
  return {};
}

Result<void> Measurement::prime_baseline(Side& side) {
  const auto samples = with_room(device_, [&] { return oracle_.time_baseline(side.baseline, kWarmup, 1, deadline_); });
  if (samples.ok()) {
    if (samples->ms.empty()) side.note = samples->note.empty() ? "not available" : samples->note;
    return {};
  }
  const Errc code = samples.error().code;
  if (code != Errc::timeout && code != Errc::unsupported) return samples.error();
  side.note = samples.error().message;
  return {};
}

// One turn of every side. The order turns around from round to round, so that a steady drift favours neither.
Result<void> Measurement::round() {
  const bool candidate_first = rounds_ % 2 == 1;
  ++rounds_;
  std::vector<double> candidate;
  if (candidate_first) {
    CUTEGEN_TRY(candidate, candidate_turn());
  }
  std::vector<std::vector<double>> baselines(sides_.size());
  for (size_t i = 0; i < sides_.size() && time_left(); ++i) {
    if (!sides_[i].present()) continue;
    CUTEGEN_TRY(baselines[i], baseline_turn(sides_[i]));
  }
  if (!candidate_first && time_left()) {
    CUTEGEN_TRY(candidate, candidate_turn());
  }
  if (candidate.empty()) return {};
  for (size_t i = 0; i < sides_.size(); ++i) {
    if (!baselines[i].empty()) sides_[i].rounds.push_back({std::move(baselines[i]), candidate});
  }
  candidate_ms_.insert(candidate_ms_.end(), candidate.begin(), candidate.end());
  return {};
}

Result<std::vector<double>> Measurement::candidate_turn() {
  request_.time_limit = std::min(TimeRequest{}.time_limit, std::max(Seconds(0.1), deadline_.left(clock_)));
  CUTEGEN_TRY(TimeResult result, device_.time(request_));
  outcome_ = result.outcome;
  if (!outcome_.ok()) return std::vector<double>{};
  if (candidate_ms_.empty()) before_ = result.before;
  after_ = result.after;
  note_ = result.outcome.detail;
  // A time that is not a positive number is no time; the stage then ends without samples.
  std::erase_if(result.ms, [](double ms) { return !(ms > 0) || !std::isfinite(ms); });
  if (result.ms.empty()) outcome_ = {OutcomeKind::launch_failure, "the device reports no valid time"};
  return std::move(result.ms);
}

Result<std::vector<double>> Measurement::baseline_turn(Side& side) {
  auto samples = oracle_.time_baseline(side.baseline, kRoundWarmup, repeats_, deadline_);
  if (!samples.ok() && samples.error().code == Errc::timeout) return std::vector<double>{};
  CUTEGEN_TRY(BaselineSamples turn, std::move(samples));
  return std::move(turn.ms);
}

bool Measurement::enough() const {
  if (rounds_ < kMinRounds || static_cast<int>(candidate_ms_.size()) < policy_.min_samples) return false;
  return std::all_of(sides_.begin(), sides_.end(), [&](const Side& side) {
    return !side.present() || relative_half_width(bootstrap_ratio(side.rounds, kStopReplicates)) <= policy_.ratio_half_width;
  });
}

TimedAgainst Measurement::summary(const Side& side) const {
  TimedAgainst against;
  against.baseline = side.baseline;
  against.note = side.note;
  if (!side.present()) return against;
  if (side.rounds.empty()) {
    against.note = "the time was up before it was measured";
    return against;
  }
  std::vector<double> all;
  for (const PairedRound& round : side.rounds) all.insert(all.end(), round.baseline.begin(), round.baseline.end());
  against.samples = static_cast<int>(all.size());
  if (!device_.measures_time()) against.note = note_;
  against.baseline_ms = median(std::move(all));
  against.speedup = bootstrap_ratio(side.rounds);
  return against;
}

TimingEvidence Measurement::evidence() const {
  TimingEvidence evidence;
  evidence.candidate_ms = median(candidate_ms_);
  evidence.candidate_spread_ms = interquartile_range(candidate_ms_);
  evidence.samples = static_cast<int>(candidate_ms_.size());
  for (const Side& side : sides_) evidence.against.push_back(summary(side));
  evidence.floor_ms = 1e3 * analyse(oracle_.task(), rates_for(device_.info().name)).floor_s();
  evidence.share_of_floor = evidence.floor_ms / evidence.candidate_ms;
  evidence.measured = device_.measures_time();
  evidence.before = before_;
  evidence.after = after_;
  return evidence;
}

TimingOutcome Measurement::finish() const {
  if (!outcome_.ok() || candidate_ms_.empty()) return {outcome_, std::nullopt};
  return {outcome_, evidence()};
}

}  // namespace

Result<TimingOutcome> time_candidate(Oracle& oracle, Device& device, std::shared_ptr<const Build> build, const JudgePolicy& policy,
                                     const Clock& clock, Deadline deadline) {
  Measurement measurement(oracle, device, policy, clock, deadline);
  CUTEGEN_CHECK(measurement.prepare(std::move(build)));
  return device.measures_time() ? measurement.measure() : measurement.predict();
}

}  // namespace cutegen
