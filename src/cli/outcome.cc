#include "cli/outcome.h"

#include "cli/run_config.h"
#include "cli/summary.h"

namespace cutegen::cli {

Result<TaskResult> run_outcome(const std::filesystem::path& run, ResultsHeader& header) {
  CUTEGEN_TRY(const auto store, Store::open(run, true));
  CUTEGEN_TRY(const Summary summary, summarise(*store));
  CUTEGEN_TRY(const auto stored, store->meta("config"));
  CUTEGEN_TRY(const RunConfig config, run_config_from_json(stored.value_or(Json::object())));
  header.device = json_or<std::string>(summary.device, "name", "none");
  header.driver = json_or<std::string>(summary.device, "driver", "");
  const Json oracle = summary.tools.value("oracle", Json::object());
  header.cuda = json_or<std::string>(oracle, "cuda", "");
  header.torch = json_or<std::string>(oracle, "torch", "");
  TaskResult result;
  result.id = suite_id(summary.task_file);
  result.task_class = config.explore_policy().precision;
  result.verdict = summary.verdict;
  result.proposer = config.proposer;
  result.why_short = summary.result ? summary.result->why_none : kUnfinished;
  return result;
}

}  // namespace cutegen::cli
