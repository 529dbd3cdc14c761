// The options of a run: what optimize stores and resume reads back.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <string>

#include "base/json.h"
#include "judge/judge.h"
#include "search/search.h"

namespace cutegen::cli {

struct RunConfig {
  std::filesystem::path task;
  std::string device = "auto";  // "auto", "cuda", "virtual", "none"
  std::string proposer = "playbook";
  std::string precision = "match";  // "match", "fp32", "tf32", "half"
  uint64_t seed = 0;                // 0: drawn
  uint64_t secret_seed = 0;         // of the judge's trials; from the seed
  double budget_seconds = 300;
  int max_candidates = 0;  // 0: 64, or 1 when nothing can be executed

  SearchConfig search(bool build_only) const;
  JudgePolicy explore_policy() const;
  JudgePolicy final_policy() const;
  void draw_seed();
};

// TASK, --device, --precision: of every command that judges one task.
void add_judging_options(CLI::App& command, RunConfig& config);
void add_device_options(CLI::App& command, RunConfig& config);  // without TASK
void add_budget_options(CLI::App& command, RunConfig& config);

Json to_json(const RunConfig& config);
Result<RunConfig> run_config_from_json(const Json& j);

}  // namespace cutegen::cli
