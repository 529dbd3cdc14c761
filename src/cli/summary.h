// What a run came to, read from its store alone: the same after optimize, resume, report and an interrupted run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/exit_code.h"
#include "judge/verdict.h"
#include "search/search.h"
#include "store/store.h"

namespace cutegen::cli {

struct Summary {
  std::filesystem::path run;
  std::string task, task_file;
  Json device, tools;  // meta
  std::vector<StoredNode> nodes;
  std::optional<SearchResult> result;  // absent: unfinished
  std::optional<int> best;
  std::optional<Verdict> verdict;  // of the best: final when there is one
  bool final = false;
  std::string built_kernel;   // path of the last candidate that was built and came no further
  std::string kernel_object;  // of the best
  double seconds = 0;

  bool verified() const { return best.has_value(); }
  ExitCode exit_code() const;
  std::string stopped() const;  // "unfinished" without a result
};

Result<Summary> summarise(const Store& store);
// Writes RUN/best.cu when there is a best; the path, or empty.
Result<std::filesystem::path> write_best(const Summary& summary, const Store& store);
std::string to_text(const Summary& summary);  // without a final newline
Json to_json(const Summary& summary);
}  // namespace cutegen::cli
