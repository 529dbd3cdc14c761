// What a suite's results come to: how many tasks are verified, KernelBench's fast_p, geometric means of the speedup.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace cutegen {

struct SuiteScore {
  struct Mean {
    std::string over;      // "eager", "compile", "best": the fastest PyTorch variant of the task's class
    double geometric = 0;  // of baseline / candidate over the tasks counted; 0 when there are none
    int tasks = 0;         // verified, with both times
    int slower = 0;        // of them: candidate slower than the baseline
  };
  int tasks = 0, verified = 0;
  bool predicted = false;  // some time was not measured
  std::vector<std::pair<double, double>>
      fast;  // fast_p (arXiv 2502.10517): p, share of all tasks verified and over p times as fast as eager
  std::vector<Mean> means;
};

// `results` as results_json (report/results.h) makes it.
SuiteScore score(const Json& results);
// {"tasks", "verified", "predicted", "fast_p": {"1": ...}, "geomean": [{"over", "speedup", "tasks", "slower"}]}
Json to_json(const SuiteScore& score);
// A table of the tasks, then the score. Ends without a newline.
std::string suite_text(const Json& results);

}  // namespace cutegen
