#include "cli/run_config.h"

#include <random>

#include "base/hash.h"

namespace cutegen::cli {
namespace {

constexpr int kDefaultCandidates = 64;
constexpr int kBuildOnlyCandidates = 1;  // nothing is learnt from building the next one

Precision parse_precision(const std::string& name) {
  for (const Precision p : {Precision::match, Precision::fp32, Precision::tf32, Precision::half}) {
    if (name == to_string(p)) return p;
  }
  return Precision::match;  // the option's check has refused everything else
}

}  // namespace

JudgePolicy RunConfig::explore_policy() const {
  JudgePolicy policy;
  policy.precision = parse_precision(precision);
  policy.secret_seed = secret_seed;
  return policy;
}

JudgePolicy RunConfig::final_policy() const {
  JudgePolicy policy = explore_policy();
  policy.baselines = {Baseline::eager, Baseline::compile, Baseline::eager_tf32, Baseline::compile_tf32};
  policy.ratio_half_width = 0.005;
  policy.timing_budget = Seconds(8);
  policy.min_samples = 50;
  return policy;
}

SearchConfig RunConfig::search(bool build_only) const {
  SearchConfig config;
  config.budget.wall = Seconds(budget_seconds);
  config.budget.candidates = max_candidates > 0 ? max_candidates : build_only ? kBuildOnlyCandidates : kDefaultCandidates;
  config.explore = explore_policy();
  config.final = final_policy();
  config.build_only = build_only;
  return config;
}

void RunConfig::draw_seed() {
  if (seed == 0) seed = (uint64_t{std::random_device()()} << 21 ^ std::random_device()()) >> 1 | 1;
  secret_seed = SplitMix64(seed).next() >> 11 | 1;  // 53 bits: exact in every JSON reader
}

void add_judging_options(CLI::App& command, RunConfig& config) {
  command.add_option("TASK", config.task, "a Python file with Model, get_inputs and get_init_inputs")->required();
  add_device_options(command, config);
}

void add_device_options(CLI::App& command, RunConfig& config) {
  command.add_option("--device", config.device, "where candidates run")
      ->check(CLI::IsMember({"auto", "cuda", "virtual", "none"}))
      ->capture_default_str();
  command.add_option("--precision", config.precision, "which reference run sets the error that is allowed")
      ->check(CLI::IsMember({"match", "fp32", "tf32", "half"}))
      ->capture_default_str();
}

void add_budget_options(CLI::App& command, RunConfig& config) {
  command.add_option("--budget-seconds", config.budget_seconds, "wall time of the run in total; no candidate starts after it")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--max-candidates", config.max_candidates, "candidates of the run in total (default 64)")->check(CLI::PositiveNumber);
}

Json to_json(const RunConfig& c) {
  return Json{{"task", c.task.string()},
              {"device", c.device},
              {"proposer", c.proposer},
              {"precision", c.precision},
              {"seed", c.seed},
              {"secret_seed", c.secret_seed},
              {"budget_seconds", c.budget_seconds},
              {"max_candidates", c.max_candidates}};
}

Result<RunConfig> run_config_from_json(const Json& j) {
  RunConfig c;
  CUTEGEN_TRY(c.task, json_get<std::string>(j, "task"));
  CUTEGEN_TRY(c.device, json_get<std::string>(j, "device"));
  CUTEGEN_TRY(c.proposer, json_get<std::string>(j, "proposer"));
  CUTEGEN_TRY(c.precision, json_get<std::string>(j, "precision"));
  CUTEGEN_TRY(c.seed, json_get<uint64_t>(j, "seed"));
  CUTEGEN_TRY(c.secret_seed, json_get<uint64_t>(j, "secret_seed"));
  CUTEGEN_TRY(c.budget_seconds, json_get<double>(j, "budget_seconds"));
  CUTEGEN_TRY(c.max_candidates, json_get<int>(j, "max_candidates"));
  return c;
}

}  // namespace cutegen::cli
