// The judge's policy as JSON, the default trials, and the key of a verdict.
#include "base/hash.h"
#include "judge/judge.h"
#include "judge/records.h"

namespace cutegen {
namespace {

// Seconds as a plain number in JSON.
struct PolicyRecord {
  JudgePolicy policy;
  double timing_budget_s = 0;
};

template <class V, archive::ConstOr<PolicyRecord> S>
void fields(V& visit, S& r) {
  visit("c", r.policy.c);
  visit("precision", r.policy.precision);
  visit("trials", r.policy.trials);
  visit("secret_seed", r.policy.secret_seed);
  visit("baselines", r.policy.baselines);
  visit("ratio_half_width", r.policy.ratio_half_width);
  visit("timing_budget_s", r.timing_budget_s);
  visit("min_samples", r.policy.min_samples);
  visit("time", r.policy.time);
  visit("deterministic", r.policy.deterministic);
}

}  // namespace

Json to_json(const JudgePolicy& policy) { return archive::write(PolicyRecord{policy, policy.timing_budget.count()}); }

Result<JudgePolicy> judge_policy_from_json(const Json& j) {
  PolicyRecord record{JudgePolicy{}, JudgePolicy{}.timing_budget.count()};
  archive::Reader reader(j, archive::Reader::Absent::keep_default, Errc::invalid_input);
  fields(reader, record);
  if (reader.error()) return *reader.error();
  record.policy.timing_budget = Seconds(record.timing_budget_s);
  return record.policy;
}

std::vector<TrialSpec> default_trials(uint64_t secret_seed) {
  using D = Distribution;
  // A wrong kernel is nearly always wrong on the first of these; the wide ranges come next because they tell arithmetic apart; the
  // user's own inputs under further seeds come last.
  std::vector<TrialSpec> trials{{1, D::as_given, true},  {2, D::sign_symmetric, true}, {3, D::wide_exponent, true},
                                {4, D::as_given, false}, {5, D::times001, true},       {6, D::times3, true},
                                {7, D::negated, true},   {8, D::ties, true},           {9, D::small_integers, true},
                                {10, D::as_given, true}, {11, D::as_given, false}};
  for (TrialSpec& trial : trials) trial.seed = mix_seed(trial.seed, secret_seed);
  return trials;
}

uint64_t mix_seed(uint64_t seed, uint64_t secret_seed) {
  if (secret_seed == 0) return seed;
  const uint64_t half = SplitMix64(seed).next();
  // 53 bits: a verdict's JSON passes through readers that hold numbers as doubles, and the seed must survive to repeat a trial.
  return SplitMix64(secret_seed ^ half).next() >> 11;
}

std::string verdict_key(const Task& task, const Candidate& candidate, const JudgePolicy& policy, const DeviceInfo& device) {
  return Hasher()
      .add("cutegen verdict")
      .add(kVerdictSchema)
      .add(task.hash())
      .add(candidate.hash())
      .add(to_json(policy).dump())
      .add(to_string(device.kind))
      .add(device.name)
      .add(device.driver)
      .add(device.arch)
      .hex();
}

}  // namespace cutegen
