#include "judge/accuracy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace cutegen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// One of the two norms of DESIGN §4.
struct Norm {
  double error, reference, floor;

  double allowed(double c) const { return c * reference + floor; }
  // Written so that a NaN on either side fails. An infinite allowance would let anything through: it fails too.
  bool passes(double c) const { return error >= 0 && error <= allowed(c) && std::isfinite(allowed(c)); }
  double ratio(double c) const {
    if (error == 0 && passes(c)) return 0;
    const double ratio = c * error / allowed(c);
    return std::isfinite(ratio) && ratio >= 0 && std::isfinite(allowed(c)) ? ratio : kInfinity;
  }
};

Norm two_norm(const OutputComparison& o) { return {o.norm_error, o.norm_reference, o.floor_norm}; }
Norm max_norm(const OutputComparison& o) { return {o.max_error, o.max_reference, o.floor_max}; }

std::string times(double error, double reference) {
  if (!(reference > 0)) return "where the reference is exact";
  return fmt::format("{:.3g} times the reference's own {:.3g}", error / reference, reference);
}

std::string worst_element(const OutputComparison& o) {
  return fmt::format("element [{}] is {:.9g}, float64 gives {:.9g}, the reference {:.9g}", fmt::join(o.worst_index, ", "), o.worst_value,
                     o.worst_truth, o.worst_reference);
}

std::string too_large(const OutputComparison& o, double c) {
  const Norm l2 = two_norm(o), max = max_norm(o);
  std::string text;
  if (!l2.passes(c)) {
    text = fmt::format("the error's 2-norm {:.3g} is {} (allowed: {:g} times that plus {:.3g}; the output's own norm is {:.3g})", l2.error,
                       times(l2.error, l2.reference), c, l2.floor, o.norm_truth);
  }
  if (!max.passes(c)) {
    if (!text.empty()) text += "; ";
    text += fmt::format("the largest scaled error {:.3g} is {} (allowed: {:g} times that plus {:.3g})", max.error,
                        times(max.error, max.reference), c, max.floor);
  }
  text += "; worst " + worst_element(o);
  if (!o.pattern.empty()) text += "; wrong where: " + fmt::format("{}", fmt::join(o.pattern, ", "));
  return text;
}

// What is wrong with an output before its error is even looked at; empty when nothing is.
std::string incomparable(const OutputComparison& o) {
  if (!o.shape_ok) return "the output has another shape or element type than the module's";
  if (o.poison_left > 0) return fmt::format("{} of {} elements were never written", o.poison_left, o.elements);
  if (o.nonfinite_mismatches > 0) {
    return fmt::format("{} of {} elements are NaN or infinite where float64 is not, or the reverse; first {}", o.nonfinite_mismatches,
                       o.elements, worst_element(o));
  }
  if (o.poison_left != 0 || o.nonfinite_mismatches != 0 || o.elements < 0) return "the comparison reports counts below zero";
  return "";
}

}  // namespace

std::string describe(const TrialSpec& trial) {
  return fmt::format("seed {}, {}, {}", trial.seed, to_string(trial.distribution),
                     trial.randomise_params ? "randomised parameters" : "parameters as initialised");
}

OutputJudgement judge_output(const OutputComparison& output, const std::string& name, const TrialSpec& trial, double c) {
  OutputJudgement judgement;
  const std::string prefix = fmt::format("output {} ({}): ", name, describe(trial));
  if (const std::string why = incomparable(output); !why.empty()) {
    judgement.error_ratio = kInfinity;
    judgement.why = prefix + why;
    return judgement;
  }
  const Norm l2 = two_norm(output), max = max_norm(output);
  judgement.passed = l2.passes(c) && max.passes(c);
  judgement.error_ratio = std::max(l2.ratio(c), max.ratio(c));
  if (!judgement.passed) judgement.why = prefix + too_large(output, c);
  return judgement;
}

TrialEvidence judge_trial(const TrialSpec& trial, const std::vector<OutputComparison>& outputs, const std::vector<std::string>& names,
                          double c) {
  TrialEvidence evidence;
  evidence.spec = trial;
  evidence.outputs = outputs;
  if (outputs.size() != names.size() || outputs.empty()) {
    evidence.error_ratio = kInfinity;
    evidence.why = fmt::format("{} outputs were compared where the module has {}", outputs.size(), names.size());
    return evidence;
  }
  evidence.passed = true;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const OutputJudgement judgement = judge_output(outputs[i], names[i], trial, c);
    evidence.error_ratio = std::max(evidence.error_ratio, judgement.error_ratio);
    evidence.passed = evidence.passed && judgement.passed;
    if (evidence.why.empty()) evidence.why = judgement.why;
  }
  return evidence;
}

}  // namespace cutegen
