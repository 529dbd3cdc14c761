// bench/results/NAME.json: what a suite came to, from stored verdicts (docs/judge.md explains the numbers).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "judge/verdict.h"

namespace cutegen {

inline constexpr int kResultsSchema = 1;

struct ResultsHeader {
  std::string device, driver, cuda, torch;
  std::string date;     // ISO 8601
  std::string command;  // that made them
  std::string suite;    // "kernelbench"
};

struct TaskResult {
  std::string id;                           // "level1/19"
  Precision task_class = Precision::match;  // which reference run the accuracy was held to
  std::optional<Verdict> verdict;           // of the best candidate; absent: none was judged
  std::string proposer;
  std::string why_short;  // when there is no verdict: why; else taken from the verdict
};

// {"schema": 1, "device", "driver", "cuda", "torch", "date", "command", "suite", "tasks": [{"id", "class", "verified", "candidate_ms",
// "measured", "ratio_ci95": [lo, hi], "ratio_over", "eager_ms", "compile_ms", "best_ms", "best_is", "floor_ms", "error_ratio", "proposer",
// "why_short"}]}. Unknown and non-finite numbers are null. ratio_ci95 is the speedup over the baseline that "ratio_over" names (the first
// that was measured); best_ms is the fastest PyTorch variant measured in the task's class, best_is its name: eager and compile always,
// the variants with TF32 only where the class allows it (tf32, half). "measured": false marks predicted times.
Json results_json(const ResultsHeader& header, const std::vector<TaskResult>& tasks);

// Reads the verdict as the store keeps it; errors name the task.
Result<TaskResult> stored_result(const std::string& id, Precision task_class, const Json& verdict, const std::string& proposer);

// How a suite names the task of a file: "…/level1/19_ReLU.py" is "level1/19"; a file without a leading number keeps its stem.
std::string suite_id(const std::filesystem::path& task_file);

// Atomic, indented, with a final newline.
Result<void> write_results(const std::filesystem::path& path, const Json& results);

}  // namespace cutegen
