#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/fs.h"
#include "report/json.h"
#include "report/results.h"
#include "report/terminal.h"

namespace cutegen {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TimedAgainst against(Baseline baseline, double baseline_ms, double ratio) {
  return {baseline, baseline_ms, {ratio, 0.99 * ratio, 1.01 * ratio}, 40, ""};
}

Verdict timed_verdict() {
  Verdict v;
  v.reached = Stage::timed;
  v.device_kind = "cuda";
  v.device_name = "NVIDIA H200";
  v.trials.resize(11);
  v.trials[2].dropped = true;
  v.worst_error_ratio = 0.975;
  v.suite_allclose = true;
  v.checks = {{"floor", true, "fine", false}, {"graph_replay", true, "no graphs", true}};
  v.timing = TimingEvidence{0.512, 0.004, 40, {against(Baseline::eager, 1.024, 2), {}}, 0.256, 0.5, true, {}, {}};
  v.timing->against[1] = {Baseline::compile, 0, {}, 0, "needs torch 2"};
  return v;
}

Verdict predicted_verdict() {
  Verdict v = timed_verdict();
  v.device_kind = "virtual";
  v.device_name = "virtual H200";
  v.timing->measured = false;
  v.timing->samples = 1;
  v.timing->against = {{Baseline::eager, 0, {}, 0, "this device predicts times"}};
  return v;
}

Verdict failed_verdict() {
  Verdict v;
  v.reached = Stage::ran;
  v.device_kind = "cuda";
  v.device_name = "NVIDIA H200";
  v.why = "output out0 (seed 1, as_given, randomised parameters): 3 of 8 elements were never written\nmore";
  v.trials.resize(1);
  v.worst_error_ratio = INFINITY;
  return v;
}

TEST(Terminal, VerifiedSummary) {
  EXPECT_EQ(verdict_summary(timed_verdict(), "/runs/1/best.cu"),
            "VERIFIED on NVIDIA H200 (cuda)\n"
            "  accuracy  worst error 0.975x the reference's own, 10 trials (1 dropped: the reference is not finite), the suite's own check "
            "passes\n"
            "  time      0.512 ms, 40 samples, IQR 0.004 ms\n"
            "  speedup   2x [1.98, 2.02] over eager (1.024 ms)\n"
            "  speedup   not known over compile: needs torch 2\n"
            "  floor     50% of the 0.256 ms floor reached\n"
            "  skipped   graph_replay\n"
            "  kernel    /runs/1/best.cu");
}

TEST(Terminal, FailedSummaryNamesTheStageThatStoppedIt) {
  EXPECT_THAT(verdict_summary(failed_verdict(), ""), HasSubstr("FAILED at accuracy on NVIDIA H200 (cuda)\n  why       output out0"));
  const std::pair<Stage, const char*> stages[] = {{Stage::none, "FAILED at the build"},
                                                  {Stage::built, "FAILED at running"},
                                                  {Stage::accurate, "FAILED at honesty"},
                                                  {Stage::honest, "VERIFIED"}};
  for (const auto& [stage, text] : stages) {
    Verdict v;
    v.reached = stage;
    EXPECT_EQ(verdict_summary(v, "").substr(0, std::string(text).size()), text);
  }
}

TEST(Terminal, DeadlineIsNotAFailure) {
  Verdict v;
  v.reached = Stage::ran;
  v.incomplete = true;
  v.why = "the deadline passed";
  EXPECT_EQ(verdict_line(v), "UNFINISHED before accuracy: the deadline passed");
}

TEST(Terminal, PredictedIsMarkedEverywhere) {
  const std::string summary = verdict_summary(predicted_verdict(), "");
  EXPECT_THAT(summary, HasSubstr("time      0.512 ms (predicted)"));
  EXPECT_THAT(summary, HasSubstr("floor reached (predicted)"));
  EXPECT_EQ(verdict_line(predicted_verdict()), "0.512 ms (predicted)");
  EXPECT_THAT(format_speedup(against(Baseline::eager, 1, 2), false), HasSubstr("(predicted)"));
  EXPECT_THAT(verdict_summary(timed_verdict(), ""), Not(HasSubstr("predicted")));
}

TEST(Terminal, ThrottlingIsShown) {
  Verdict v = timed_verdict();
  v.timing->before.sm_mhz = 1980;
  v.timing->after = {1410, 2619, 80, 690, 4};
  EXPECT_THAT(verdict_summary(v, ""), HasSubstr("clocks    1980 to 1410 MHz, throttle reasons 0x4"));
}

TEST(Terminal, Lines) {
  EXPECT_EQ(verdict_line(timed_verdict()), "0.512 ms, 2x over eager");
  EXPECT_EQ(verdict_line(failed_verdict()),
            "FAILED at accuracy: output out0 (seed 1, as_given, randomised parameters): 3 of 8 elements were never written");
  const Verdict v = timed_verdict();
  EXPECT_EQ(progress_line({12.34, 4, "playbook:map/vec4", "verdict", &v, true}),
            "[  12.3 s] #4 playbook:map/vec4  0.512 ms, 2x over eager  (best)");
  EXPECT_EQ(progress_line({0, 5, "playbook:map/vec8", "proposed", nullptr, false}), "[   0.0 s] #5 playbook:map/vec8  proposed");
  EXPECT_EQ(progress_line({1, 6, "x", "duplicate", &v, false}), "[   1.0 s] #6 x  0.512 ms, 2x over eager  (duplicate)");
}

TEST(Terminal, TableAligns) {
  EXPECT_EQ(table({{"task", Align::left}, {"µs", Align::right}, {"why", Align::left}},
                  {{"level1/19", "12.5"}, {"ReLU×2", "1234.5", "fast"}, {"x", "1", "y", "cut"}}),
            "task           µs  why\n"
            "---------  ------  ----\n"
            "level1/19    12.5\n"
            "ReLU×2     1234.5  fast\n"
            "x               1  y\n");
}

TEST(ReportJson, EveryDocumentCarriesItsSchema) {
  const auto document = report_document({{"a", 1}});
  ASSERT_TRUE(document.ok());
  EXPECT_EQ((*document)["schema"], kReportSchema);
  EXPECT_FALSE(report_document(Json::array()).ok());
  EXPECT_EQ(verdict_document(timed_verdict(), "")["schema"], kReportSchema);
}

TEST(ReportJson, VerdictDocument) {
  const Json good = verdict_document(timed_verdict(), "k.cu");
  EXPECT_EQ(good["verified"], true);
  EXPECT_EQ(good["time"]["measured"], true);
  EXPECT_EQ(good["time"]["speedups"][0],
            (Json{{"over", "eager"}, {"ratio", 2.0}, {"ci95", {1.98, 2.02}}, {"baseline_ms", 1.024}, {"note", ""}}));
  EXPECT_TRUE(good["time"]["speedups"][1]["ratio"].is_null());
  EXPECT_TRUE(verdict_from_json(good["verdict"]).ok());
  const Json bad = verdict_document(failed_verdict(), "");
  EXPECT_EQ(bad["reached"], "ran");
  EXPECT_TRUE(bad["error_ratio"].is_null()) << "infinite";
  EXPECT_TRUE(bad["time"].is_null());
  EXPECT_EQ(verdict_document(predicted_verdict(), "")["time"]["measured"], false);
}

const ResultsHeader kHeader{"NVIDIA H200", "580.1", "13.0", "2.11", "2026-11-30T00:00:00Z", "scripts/gpu-check", "kernelbench"};

TEST(Results, Golden) {
  const Json results = results_json(kHeader, {{"level1/19", Precision::match, timed_verdict(), "playbook", ""}});
  const Json expected = Json::parse(R"({
    "schema": 1, "device": "NVIDIA H200", "driver": "580.1", "cuda": "13.0", "torch": "2.11", "date": "2026-11-30T00:00:00Z",
    "command": "scripts/gpu-check", "suite": "kernelbench",
    "tasks": [{"id": "level1/19", "class": "match", "verified": true, "candidate_ms": 0.512, "measured": true, "ratio_ci95": [1.98, 2.02],
               "ratio_over": "eager", "eager_ms": 1.024, "compile_ms": null, "best_ms": 1.024, "best_is": "eager", "floor_ms": 0.256,
               "error_ratio": 0.975, "proposer": "playbook", "why_short": ""}]})");
  EXPECT_EQ(results, expected) << results.dump(1);
}

TEST(Results, BestIsTheFastestVariantOfTheClass) {
  Verdict v = timed_verdict();
  v.timing->against = {against(Baseline::eager, 4, 4), against(Baseline::compile, 3, 3), against(Baseline::eager_tf32, 1, 1),
                       against(Baseline::compile_tf32, 2, 2)};
  const Json match = results_json(kHeader, {{"a", Precision::match, v, "", ""}})["tasks"][0];
  EXPECT_EQ(match["best_is"], "compile");
  EXPECT_EQ(match["best_ms"], 3.0);
  const Json tf32 = results_json(kHeader, {{"a", Precision::tf32, v, "", ""}})["tasks"][0];
  EXPECT_EQ(tf32["best_is"], "eager_tf32");
  EXPECT_EQ(tf32["class"], "tf32");
}

TEST(Results, WhatIsNotKnownIsNull) {
  const Json tasks = results_json(kHeader, {{"a", Precision::match, failed_verdict(), "playbook", ""},
                                            {"b", Precision::match, std::nullopt, "playbook", "no template serves cumsum"}})["tasks"];
  for (const Json& task : tasks) {
    EXPECT_EQ(task["verified"], false);
    for (const char* key : {"candidate_ms", "ratio_ci95", "eager_ms", "best_ms", "best_is", "floor_ms", "error_ratio"})
      EXPECT_TRUE(task.at(key).is_null()) << key;
  }
  EXPECT_THAT(tasks[0]["why_short"].get<std::string>(), HasSubstr("3 of 8 elements"));
  EXPECT_THAT(tasks[0]["why_short"].get<std::string>(), Not(HasSubstr("more")));
  EXPECT_EQ(tasks[1]["why_short"], "no template serves cumsum");
}

TEST(Results, PredictedTimesSayso) {
  EXPECT_EQ(results_json(kHeader, {{"a", Precision::match, predicted_verdict(), "", ""}})["tasks"][0]["measured"], false);
}

TEST(Results, LongReasonsAreCutAtACharacter) {
  Verdict v = failed_verdict();
  v.why = std::string(159, 'x') + "\xc3\xa9" + std::string(50, 'y');
  const std::string why = results_json(kHeader, {{"a", Precision::match, v, "", ""}})["tasks"][0]["why_short"];
  EXPECT_EQ(why, std::string(159, 'x') + "...");
}

TEST(Results, FromStoredVerdictsAndToAFile) {
  const auto stored = stored_result("level1/19", Precision::match, to_json(timed_verdict()), "playbook");
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ(results_json(kHeader, {*stored}), results_json(kHeader, {{"level1/19", Precision::match, timed_verdict(), "playbook", ""}}));
  const auto damaged = stored_result("level1/19", Precision::match, {{"schema", 1}}, "playbook");
  ASSERT_FALSE(damaged.ok());
  EXPECT_THAT(damaged.error().message, HasSubstr("level1/19: "));

  const auto dir = TempDir::make("results");
  ASSERT_TRUE(dir.ok());
  const auto path = dir->path() / "h200.json";
  const Json results = results_json(kHeader, {*stored});
  ASSERT_TRUE(write_results(path, results).ok());
  EXPECT_EQ(*read_json_file(path), results);
  EXPECT_EQ(read_file(path)->back(), '\n');
}

}  // namespace
}  // namespace cutegen
