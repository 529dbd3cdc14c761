#include "report/score.h"

#include <gtest/gtest.h>

namespace cutegen {
namespace {

Json task(const char* id, bool verified, double candidate, double eager, Json compile, bool measured = true) {
  return {{"id", id},
          {"verified", verified},
          {"candidate_ms", candidate},
          {"measured", measured},
          {"eager_ms", eager},
          {"compile_ms", compile},
          {"best_ms", eager},
          {"floor_ms", candidate / 2},
          {"why_short", "too slow"}};
}

Json four() {
  return {
      {"tasks", {task("a/1", true, 1, 4, 2), task("a/2", true, 1, 1, nullptr), task("a/3", false, 1, 8, 8), task("a/4", true, 2, 1, 1)}}};
}

double fast(const SuiteScore& s, double p) {
  for (const auto& [at, share] : s.fast)
    if (at == p) return share;
  return -1;
}

TEST(Score, FastPCountsAllTasksAndOnlyVerifiedOnesCanBeFast) {
  const SuiteScore s = score(four());
  EXPECT_EQ(s.tasks, 4);
  EXPECT_EQ(s.verified, 3);
  EXPECT_DOUBLE_EQ(fast(s, 0), 0.75);
  EXPECT_DOUBLE_EQ(fast(s, 1), 0.25);  // exactly as fast is not faster
  EXPECT_DOUBLE_EQ(fast(s, 0.8), 0.5);
  EXPECT_DOUBLE_EQ(fast(s, 3), 0.25);
  EXPECT_DOUBLE_EQ(fast(s, 5), 0);
}

TEST(Score, MeansAreGeometricOverVerifiedTasksWithBothTimes) {
  const SuiteScore s = score(four());
  EXPECT_EQ(s.means.at(0).over, "eager");
  EXPECT_EQ(s.means.at(0).tasks, 3);
  EXPECT_EQ(s.means.at(0).slower, 1);
  EXPECT_NEAR(s.means.at(0).geometric, std::cbrt(4.0 * 1 * 0.5), 1e-12);
  EXPECT_EQ(s.means.at(1).tasks, 2);
  EXPECT_NEAR(s.means.at(1).geometric, 1.0, 1e-12);
}

TEST(Score, NothingGivesNoMean) {
  const SuiteScore s = score(Json{{"tasks", Json::array()}});
  EXPECT_EQ(s.tasks, 0);
  EXPECT_EQ(s.means.at(0).tasks, 0);
  EXPECT_TRUE(to_json(s)["geomean"][0]["speedup"].is_null());
  EXPECT_DOUBLE_EQ(fast(s, 0), 0);
}

TEST(Score, PredictedTimesAreMarked) {
  EXPECT_FALSE(score(four()).predicted);
  const Json results{{"tasks", {task("a/1", true, 1, 4, 2, false)}}};
  EXPECT_TRUE(score(results).predicted);
  EXPECT_NE(suite_text(results).find("predicted"), std::string::npos);
}

TEST(SuiteText, ShowsWhyATaskIsNotVerified) {
  const std::string text = suite_text(four());
  EXPECT_NE(text.find("too slow"), std::string::npos);
  EXPECT_NE(text.find("verified  3 of 4"), std::string::npos);
}

}  // namespace
}  // namespace cutegen
