// DESIGN §4 as pure functions: from what the oracle measured to pass or fail, and a sentence that says why.
#pragma once

#include <string>
#include <vector>

#include "judge/verdict.h"
#include "oracle/oracle.h"

namespace cutegen {

struct OutputJudgement {
  bool passed = false;
  // The worse of c * error / allowed over the two norms, where allowed = c * reference error + floor. At most c exactly when both norms
  // pass; near error / reference error when the floor is small. Infinite when nothing is allowed and something is wrong, and for
  // outputs that cannot be compared (shape, NaN, unwritten elements).
  double error_ratio = 0;
  std::string why;  // empty when passed
};

// `name` is the output's ("out0"); `trial` goes into the sentence.
OutputJudgement judge_output(const OutputComparison& output, const std::string& name, const TrialSpec& trial, double c);

// All outputs of one trial. Fails when the number of comparisons is not `names.size()`.
TrialEvidence judge_trial(const TrialSpec& trial, const std::vector<OutputComparison>& outputs, const std::vector<std::string>& names,
                          double c);

// "seed 7, wide_exponent, randomised parameters"
std::string describe(const TrialSpec& trial);

}  // namespace cutegen
