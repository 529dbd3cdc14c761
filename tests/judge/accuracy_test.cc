#include "judge/accuracy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace cutegen {
namespace {

using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A million elements, the candidate exactly as wrong as the reference.
OutputComparison as_good_as_reference() {
  OutputComparison o;
  o.elements = 1'000'000;
  o.norm_truth = 1e3;
  o.norm_error = o.norm_reference = 1e-4;
  o.floor_norm = 1e-6;
  o.max_error = o.max_reference = 3e-7;
  o.floor_max = 1e-9;
  o.worst_index = {3, 17};
  o.worst_value = 1.25;
  o.worst_truth = 1.5;
  o.worst_reference = 1.5;
  return o;
}

OutputJudgement judge(const OutputComparison& o, double c = 2) {
  return judge_output(o, "out0", {7, Distribution::wide_exponent, true}, c);
}

TEST(Accuracy, AsGoodAsTheReferencePasses) {
  const OutputJudgement judgement = judge(as_good_as_reference());
  EXPECT_TRUE(judgement.passed);
  EXPECT_EQ(judgement.why, "");
  EXPECT_GT(judgement.error_ratio, 0.9);
  EXPECT_LE(judgement.error_ratio, 1.0);
}

TEST(Accuracy, TwoNormJustBelowAndJustAboveTheLimit) {
  OutputComparison o = as_good_as_reference();
  const double limit = 2 * o.norm_reference + o.floor_norm;
  o.norm_error = limit;
  EXPECT_TRUE(judge(o).passed);
  EXPECT_DOUBLE_EQ(judge(o).error_ratio, 2);
  o.norm_error = std::nextafter(limit, 1);
  EXPECT_FALSE(judge(o).passed);
  EXPECT_THAT(judge(o).why, HasSubstr("2-norm"));
}

TEST(Accuracy, MaxNormJustBelowAndJustAboveTheLimit) {
  OutputComparison o = as_good_as_reference();
  const double limit = 2 * o.max_reference + o.floor_max;
  o.max_error = limit;
  EXPECT_TRUE(judge(o).passed);
  o.max_error = std::nextafter(limit, 1);
  EXPECT_FALSE(judge(o).passed);
  EXPECT_THAT(judge(o).why, HasSubstr("largest scaled error"));
}

TEST(Accuracy, RatioIsAtMostCExactlyWhenTheErrorPasses) {
  for (const double c : {1.0, 2.0, 10.0}) {
    for (const double factor : {0.5, 0.999, 1.001, 3.0}) {
      OutputComparison o = as_good_as_reference();
      o.norm_error = factor * (c * o.norm_reference + o.floor_norm);
      o.max_error = 0;
      EXPECT_EQ(judge(o, c).passed, judge(o, c).error_ratio <= c) << c << " " << factor;
      EXPECT_EQ(judge(o, c).passed, factor < 1);
    }
  }
}

TEST(Accuracy, OneWrongElementAmongAMillionFails) {
  OutputComparison o = as_good_as_reference();
  o.max_error = 0.25;  // the 2-norm hardly notices when the reference is poor
  o.norm_reference = o.norm_error = 1;
  const OutputJudgement judgement = judge(o);
  EXPECT_FALSE(judgement.passed);
  EXPECT_THAT(judgement.why, HasSubstr("element [3, 17] is 1.25, float64 gives 1.5, the reference 1.5"));
  EXPECT_THAT(judgement.why, HasSubstr("out0 (seed 7, wide_exponent, randomised parameters)"));
}

TEST(Accuracy, ExactReferenceAllowsTheFloorOnly) {
  OutputComparison o = as_good_as_reference();
  o.norm_reference = o.max_reference = 0;
  o.norm_error = o.floor_norm;
  o.max_error = o.floor_max;
  EXPECT_TRUE(judge(o).passed);
  o.max_error = 2 * o.floor_max;
  const OutputJudgement judgement = judge(o);
  EXPECT_FALSE(judgement.passed);
  EXPECT_DOUBLE_EQ(judgement.error_ratio, 4);
  EXPECT_THAT(judgement.why, HasSubstr("where the reference is exact"));
}

TEST(Accuracy, ExactReferenceWithoutFloorWantsExactness) {
  OutputComparison o = as_good_as_reference();
  o.norm_reference = o.max_reference = o.floor_norm = o.floor_max = o.norm_error = o.max_error = 0;
  EXPECT_TRUE(judge(o).passed);
  EXPECT_EQ(judge(o).error_ratio, 0);
  o.norm_error = o.max_error = 1e-300;
  EXPECT_FALSE(judge(o).passed);
  EXPECT_EQ(judge(o).error_ratio, kInfinity);
}

TEST(Accuracy, FailsClosedOnEveryNumberThatIsNotOne) {
  for (const double bad : {kNan, kInfinity}) {
    for (double OutputComparison::*member :
         {&OutputComparison::norm_error, &OutputComparison::norm_reference, &OutputComparison::floor_norm, &OutputComparison::max_error,
          &OutputComparison::max_reference, &OutputComparison::floor_max}) {
      OutputComparison o = as_good_as_reference();
      o.*member = bad;
      EXPECT_FALSE(judge(o).passed);
      EXPECT_EQ(judge(o).error_ratio, kInfinity);
    }
  }
}

TEST(Accuracy, NanUnwrittenAndWrongShapeFail) {
  OutputComparison nan = as_good_as_reference();
  nan.nonfinite_mismatches = 1;
  EXPECT_FALSE(judge(nan).passed);
  EXPECT_THAT(judge(nan).why, HasSubstr("1 of 1000000 elements are NaN or infinite"));
  OutputComparison unwritten = as_good_as_reference();
  unwritten.poison_left = 12;
  EXPECT_FALSE(judge(unwritten).passed);
  EXPECT_THAT(judge(unwritten).why, HasSubstr("12 of 1000000 elements were never written"));
  OutputComparison shape = as_good_as_reference();
  shape.shape_ok = false;
  EXPECT_FALSE(judge(shape).passed);
  EXPECT_THAT(judge(shape).why, HasSubstr("another shape"));
  OutputComparison negative = as_good_as_reference();
  negative.poison_left = -1;
  EXPECT_FALSE(judge(negative).passed);
}

TEST(Accuracy, NegativeErrorsDoNotHideBehindTheirSign) {
  OutputComparison o = as_good_as_reference();
  o.norm_error = -1;
  EXPECT_FALSE(judge(o).passed);
}

TEST(Accuracy, TrialTakesTheWorstOutput) {
  OutputComparison wrong = as_good_as_reference();
  wrong.norm_error = 1;
  const TrialSpec spec{9, Distribution::as_given, false};
  const TrialEvidence evidence = judge_trial(spec, {as_good_as_reference(), wrong}, {"out0", "out1"}, 2);
  EXPECT_FALSE(evidence.passed);
  EXPECT_GT(evidence.error_ratio, 1000);
  EXPECT_THAT(evidence.why, HasSubstr("output out1 (seed 9, as_given, parameters as initialised)"));
  EXPECT_EQ(evidence.outputs.size(), 2u);
}

TEST(Accuracy, MissingOutputsFail) {
  EXPECT_FALSE(judge_trial({}, {as_good_as_reference()}, {"out0", "out1"}, 2).passed);
  EXPECT_FALSE(judge_trial({}, {}, {}, 2).passed);
}

TEST(Accuracy, WrongPatternsReachTheSentence) {
  OutputComparison o = as_good_as_reference();
  o.norm_error = 1;
  o.pattern = {"last 32 columns", "every row"};
  EXPECT_THAT(judge(o).why, HasSubstr("wrong where: last 32 columns, every row"));
}

}  // namespace
}  // namespace cutegen
