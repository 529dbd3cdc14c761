// The fields of every record that a verdict or a policy holds, each listed once (judge/archive.h).
#pragma once

#include "judge/archive.h"
#include "judge/judge.h"
#include "judge/verdict.h"

namespace cutegen::archive {

inline constexpr Stage kStages[] = {Stage::none, Stage::built, Stage::ran, Stage::accurate, Stage::honest, Stage::timed};
inline constexpr Precision kPrecisions[] = {Precision::match, Precision::fp32, Precision::tf32, Precision::half};
inline constexpr Baseline kBaselines[] = {Baseline::eager, Baseline::compile, Baseline::eager_tf32, Baseline::compile_tf32};
inline constexpr OutcomeKind kOutcomeKinds[] = {OutcomeKind::ok,
                                                OutcomeKind::illegal_address,
                                                OutcomeKind::misaligned_address,
                                                OutcomeKind::launch_failure,
                                                OutcomeKind::invalid_launch,
                                                OutcomeKind::illegal_instruction,
                                                OutcomeKind::assert_or_trap,
                                                OutcomeKind::timeout,
                                                OutcomeKind::out_of_memory,
                                                OutcomeKind::load_failure,
                                                OutcomeKind::executor_lost,
                                                OutcomeKind::canary_broken,
                                                OutcomeKind::input_modified,
                                                OutcomeKind::check_failed};

template <>
inline constexpr std::span<const Stage> enumerators<Stage>{kStages};
template <>
inline constexpr std::span<const Precision> enumerators<Precision>{kPrecisions};
template <>
inline constexpr std::span<const Baseline> enumerators<Baseline>{kBaselines};
template <>
inline constexpr std::span<const OutcomeKind> enumerators<OutcomeKind>{kOutcomeKinds};
template <>
inline constexpr std::span<const Distribution> enumerators<Distribution>{kDistributions};

}  // namespace cutegen::archive

namespace cutegen {

template <class V, archive::ConstOr<TrialSpec> S>
void fields(V& visit, S& r) {
  visit("seed", r.seed);
  visit("distribution", r.distribution);
  visit("randomise_params", r.randomise_params);
}

template <class V, archive::ConstOr<OutputComparison> S>
void fields(V& visit, S& r) {
  visit("shape_ok", r.shape_ok);
  visit("elements", r.elements);
  visit("norm_truth", r.norm_truth);
  visit("norm_error", r.norm_error);
  visit("norm_reference", r.norm_reference);
  visit("floor_norm", r.floor_norm);
  visit("max_error", r.max_error);
  visit("max_reference", r.max_reference);
  visit("floor_max", r.floor_max);
  visit("nonfinite_mismatches", r.nonfinite_mismatches);
  visit("poison_left", r.poison_left);
  visit("worst_index", r.worst_index);
  visit("worst_value", r.worst_value);
  visit("worst_truth", r.worst_truth);
  visit("worst_reference", r.worst_reference);
  visit("suite_allclose", r.suite_allclose);
  visit("bit_equal_reference", r.bit_equal_reference);
  visit("pattern", r.pattern);
}

template <class V, archive::ConstOr<TrialEvidence> S>
void fields(V& visit, S& r) {
  visit("spec", r.spec);
  visit("dropped", r.dropped);
  visit("outputs", r.outputs);
  visit("error_ratio", r.error_ratio);
  visit("passed", r.passed);
  visit("why", r.why);
}

template <class V, archive::ConstOr<CheckEvidence> S>
void fields(V& visit, S& r) {
  visit("name", r.name);
  visit("passed", r.passed);
  visit("detail", r.detail);
  visit("skipped", r.skipped);
}

template <class V, archive::ConstOr<RatioInterval> S>
void fields(V& visit, S& r) {
  visit("ratio", r.ratio);
  visit("low", r.low);
  visit("high", r.high);
}

template <class V, archive::ConstOr<TimedAgainst> S>
void fields(V& visit, S& r) {
  visit("baseline", r.baseline);
  visit("baseline_ms", r.baseline_ms);
  visit("speedup", r.speedup);
  visit("samples", r.samples);
  visit("note", r.note);
}

template <class V, archive::ConstOr<ClockReading> S>
void fields(V& visit, S& r) {
  visit("sm_mhz", r.sm_mhz);
  visit("memory_mhz", r.memory_mhz);
  visit("temperature_c", r.temperature_c);
  visit("power_w", r.power_w);
  visit("throttle_reasons", r.throttle_reasons);
}

template <class V, archive::ConstOr<TimingEvidence> S>
void fields(V& visit, S& r) {
  visit("candidate_ms", r.candidate_ms);
  visit("candidate_spread_ms", r.candidate_spread_ms);
  visit("samples", r.samples);
  visit("against", r.against);
  visit("floor_ms", r.floor_ms);
  visit("share_of_floor", r.share_of_floor);
  visit("measured", r.measured);
  visit("before", r.before);
  visit("after", r.after);
}

template <class V, archive::ConstOr<Outcome> S>
void fields(V& visit, S& r) {
  visit("kind", r.kind);
  visit("detail", r.detail);
}

template <class V, archive::ConstOr<Diagnostic> S>
void fields(V& visit, S& r) {
  visit("severity", r.severity);
  visit("file", r.file);
  visit("line", r.line);
  visit("message", r.message);
  visit("user_line", r.user_line);
  visit("cute_frame", r.cute_frame);
  visit("repeats", r.repeats);
}

template <class V, archive::ConstOr<BuildFailure> S>
void fields(V& visit, S& r) {
  visit("stage", r.stage);
  visit("diagnostics", r.diagnostics);
  visit("raw_log", r.raw_log);
}

template <class V, archive::ConstOr<Verdict> S>
void fields(V& visit, S& r) {
  visit("reached", r.reached);
  visit("why", r.why);
  visit("incomplete", r.incomplete);
  visit("candidate_hash", r.candidate_hash);
  visit("task_hash", r.task_hash);
  visit("build_key", r.build_key);
  visit("device_kind", r.device_kind);
  visit("device_name", r.device_name);
  visit("build_failure", r.build_failure);
  visit("outcome", r.outcome);
  visit("trials", r.trials);
  visit("worst_error_ratio", r.worst_error_ratio);
  visit("suite_allclose", r.suite_allclose);
  visit("checks", r.checks);
  visit("timing", r.timing);
  visit("seconds", r.seconds);
}

}  // namespace cutegen
