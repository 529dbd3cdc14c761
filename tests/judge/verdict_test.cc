#include "judge/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "judge/judge.h"
#include "judge/records.h"

namespace cutegen {
namespace {

using ::testing::HasSubstr;

// Every member away from its default.
Verdict full_verdict() {
  OutputComparison o{false, 10, 0.1,    1.0 / 3, 0.3,      0.4,       0.5,  0.6,  0.7,
                     2,     3,  {4, 5}, -0.0,    INFINITY, -INFINITY, true, true, {"last column"}};
  TrialEvidence trial{{(1ull << 53) - 1, Distribution::ties, true}, true, {o}, INFINITY, true, "why \"quoted\" \xc3\xa9"};
  Verdict v;
  v.reached = Stage::accurate;
  v.why = "because";
  v.incomplete = true;
  v.candidate_hash = "c";
  v.task_hash = "t";
  v.build_key = "b";
  v.device_kind = "cuda";
  v.device_name = "NVIDIA H200";
  v.build_failure = BuildFailure{"nvcc", {{"error", "candidate.cu", 7, "bad", "7: x", "layout.hpp:12", 3}}, "/logs/1"};
  v.outcome = {OutcomeKind::check_failed, "race"};
  v.trials = {trial};
  v.worst_error_ratio = 1.25;
  v.suite_allclose = true;
  v.checks = {{"floor", false, "too fast", true}};
  v.timing = TimingEvidence{0.1,
                            0.01,
                            40,
                            {{Baseline::compile_tf32, 0.2, {2.0, 1.9, 2.1}, 40, "note"}},
                            0.05,
                            0.5,
                            true,
                            {1980, 2619, 40, 300, 1ull << 63},
                            {1, 2, 3, 4, 5}};
  v.seconds = 2.5;
  return v;
}

TEST(Verdict, JsonRoundTripIsLossless) {
  const Json written = to_json(full_verdict());
  const auto parsed = parse_json(written.dump(), "verdict");  // through text, as the store keeps it
  ASSERT_TRUE(parsed.ok());
  const auto read = verdict_from_json(*parsed);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(to_json(*read), written);
  EXPECT_TRUE(std::isinf(read->trials[0].error_ratio));
  EXPECT_TRUE(std::signbit(read->trials[0].outputs[0].worst_value));
  EXPECT_EQ(read->trials[0].spec, full_verdict().trials[0].spec);
  EXPECT_EQ(read->timing->before.throttle_reasons, 1ull << 63);
  EXPECT_EQ(read->timing->against[0].baseline, Baseline::compile_tf32);
  EXPECT_EQ(read->build_failure->diagnostics[0].user_line, "7: x");
}

TEST(Verdict, NanSurvives) {
  Verdict verdict;
  verdict.trials.emplace_back().outputs.emplace_back().worst_value = std::numeric_limits<double>::quiet_NaN();
  const auto read = verdict_from_json(to_json(verdict));
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(std::isnan(read->trials[0].outputs[0].worst_value));
}

TEST(Verdict, BytesThatAreNoTextDoNotThrow) {
  Verdict verdict;
  verdict.why = "quoted \xff\xfe and \xe2\x82";
  const auto read = verdict_from_json(*parse_json(to_json(verdict).dump(), "verdict"));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->why, "quoted \xef\xbf\xbd\xef\xbf\xbd and \xef\xbf\xbd");
}

TEST(Verdict, NoRecordHasGrownUnnoticed) {
  // A new member must be listed in judge/records.h and in full_verdict() above; then change the size here.
  EXPECT_EQ(sizeof(OutputComparison), 168u);
  EXPECT_EQ(sizeof(TrialSpec), 16u);
  EXPECT_EQ(sizeof(TrialEvidence), 96u);
  EXPECT_EQ(sizeof(CheckEvidence), 80u);
  EXPECT_EQ(sizeof(TimedAgainst), 80u);
  EXPECT_EQ(sizeof(TimingEvidence), 152u);
  EXPECT_EQ(sizeof(Outcome), 40u);
  EXPECT_EQ(sizeof(Diagnostic), 176u);
  EXPECT_EQ(sizeof(BuildFailure), 96u);
  EXPECT_EQ(sizeof(Verdict), 584u);
}

TEST(Verdict, VerifiedIsDerived) {
  Verdict verdict;
  verdict.reached = Stage::honest;
  Json j = to_json(verdict);
  EXPECT_EQ(j["verified"], true);
  j["reached"] = "ran";
  EXPECT_FALSE(verdict_from_json(j)->verified()) << "the word of the document is not taken for it";
}

TEST(Verdict, DamagedDocumentsNameTheMember) {
  const Json good = to_json(full_verdict());
  struct Damage {
    const char* pointer;
    Json value;
    const char* message;
  };
  const std::vector<Damage> damages{{"/reached", "finished", "'reached' is not a known name"},
                                    {"/trials/0/outputs/0/norm_error", "big", "'trials[0].outputs[0].norm_error' is not a number"},
                                    {"/checks/0/passed", 1, "'checks[0].passed' is not a boolean"},
                                    {"/timing/samples", 1.5, "'timing.samples' is not an integer"},
                                    {"/trials", 3, "'trials' is not an array"},
                                    {"/outcome", "ok", "'outcome' is not an object"}};
  for (const Damage& damage : damages) {
    Json j = good;
    j[Json::json_pointer(damage.pointer)] = damage.value;
    const auto read = verdict_from_json(j);
    ASSERT_FALSE(read.ok()) << damage.pointer;
    EXPECT_EQ(read.error().code, Errc::protocol);
    EXPECT_THAT(read.error().message, HasSubstr(damage.message));
  }
  Json missing = good;
  missing["timing"].erase("floor_ms");
  EXPECT_THAT(verdict_from_json(missing).error().message, HasSubstr("missing JSON member 'timing.floor_ms'"));
  EXPECT_FALSE(verdict_from_json(Json::array()).ok());
}

TEST(Verdict, NewerSchemaIsRefused) {
  Json j = to_json(Verdict{});
  j["schema"] = kVerdictSchema + 1;
  EXPECT_EQ(verdict_from_json(j).error().code, Errc::unsupported);
}

TEST(Verdict, EveryEnumeratorHasANameOfItsOwn) {
  std::set<std::string> names;
  for (const Stage stage : archive::kStages) names.insert(to_string(stage));
  EXPECT_EQ(names.size(), std::size(archive::kStages));
  names.clear();
  for (const OutcomeKind kind : archive::kOutcomeKinds) names.insert(to_string(kind));
  EXPECT_EQ(names.size(), std::size(archive::kOutcomeKinds));
}

TEST(Policy, JsonRoundTripAndDefaults) {
  JudgePolicy policy;
  policy.c = 1.5;
  policy.precision = Precision::half;
  policy.trials = {{7, Distribution::negated, true}};
  policy.secret_seed = ~0ull;
  policy.baselines = {Baseline::compile, Baseline::eager_tf32};
  policy.ratio_half_width = 0.1;
  policy.timing_budget = Seconds(0.3);
  policy.min_samples = 99;
  policy.time = policy.deterministic = false;
  EXPECT_EQ(*judge_policy_from_json(to_json(policy)), policy);
  EXPECT_EQ(*judge_policy_from_json(Json::object()), JudgePolicy{});
  const auto wrong = judge_policy_from_json({{"precision", "double"}});
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, Errc::invalid_input);
}

TEST(Policy, DefaultTrialsCoverEveryDistributionAndSeveralSeeds) {
  const auto trials = default_trials(0);
  std::set<Distribution> seen;
  std::set<uint64_t> seeds;
  int as_given = 0;
  for (const TrialSpec& trial : trials) {
    seen.insert(trial.distribution);
    seeds.insert(trial.seed);
    as_given += trial.distribution == Distribution::as_given;
  }
  EXPECT_EQ(seen.size(), std::size(kDistributions));
  EXPECT_EQ(seeds.size(), trials.size());
  EXPECT_GE(as_given, 3);
  EXPECT_EQ(trials.front().distribution, Distribution::as_given);
}

TEST(Policy, SecretSeedHidesTheInputs) {
  const auto open = default_trials(0), a = default_trials(1), b = default_trials(2);
  for (size_t i = 0; i < open.size(); ++i) {
    EXPECT_NE(a[i].seed, open[i].seed);
    EXPECT_NE(a[i].seed, b[i].seed);
    EXPECT_LT(a[i].seed, 1ull << 53);
  }
  EXPECT_EQ(a, default_trials(1));
  EXPECT_EQ(mix_seed(42, 0), 42u) << "no secret: a trial named by a verdict can be repeated";
}

TEST(Policy, VerdictKeyMovesWithEverythingThatDecides) {
  Task task;
  Candidate candidate{"source", Backend::cute, "a", Json::object()};
  JudgePolicy policy;
  DeviceInfo device;
  const std::string key = verdict_key(task, candidate, policy, device);
  std::set<std::string> keys{key};
  Candidate same = candidate;
  same.origin = "another proposer";
  EXPECT_EQ(verdict_key(task, same, policy, device), key);
  Task other_task = task;
  other_task.outputs.push_back({"out0", DType::f32, {1}});
  keys.insert(verdict_key(other_task, candidate, policy, device));
  Candidate other_candidate = candidate;
  other_candidate.source = "other";
  keys.insert(verdict_key(task, other_candidate, policy, device));
  JudgePolicy other_policy = policy;
  other_policy.c = 3;
  keys.insert(verdict_key(task, candidate, other_policy, device));
  DeviceInfo other_device = device;
  other_device.driver = "1";
  keys.insert(verdict_key(task, candidate, policy, other_device));
  EXPECT_EQ(keys.size(), 5u);
}

}  // namespace
}  // namespace cutegen
