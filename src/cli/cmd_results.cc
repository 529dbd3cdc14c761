#include <memory>
#include <vector>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/run_config.h"
#include "cli/summary.h"
#include "report/results.h"

namespace cutegen::cli {
namespace {

struct Options {
  std::vector<std::filesystem::path> runs;
  std::filesystem::path output;
  std::string suite, command;
};

Result<TaskResult> task_result(const std::filesystem::path& run, ResultsHeader& header) {
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
  result.why_short = summary.result ? summary.result->why_none : "the run is unfinished";
  return result;
}

Result<void> write(const Options& options) {
  ResultsHeader header{"", "", "", "", system_clock().utc_iso8601(), options.command, options.suite};
  std::vector<TaskResult> tasks;
  for (const auto& run : options.runs) {
    CUTEGEN_TRY(TaskResult result, task_result(run, header));
    tasks.push_back(std::move(result));
  }
  return write_results(options.output, results_json(header, tasks));
}

}  // namespace

void add_results(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("results", "the outcomes of several runs as one results file");
  command->add_option("RUN", options->runs, "directories of the runs")->required();
  command->add_option("--output", options->output, "the JSON file to write")->required();
  command->add_option("--suite", options->suite, "name of the suite, for the record");
  command->add_option("--command", options->command, "command that made the runs, for the record");
  command->callback([options, &action] {
    action = [options] {
      const auto written = write(*options);
      return written.ok() ? ExitCode::done : fail(written.error(), false);
    };
  });
}

}  // namespace cutegen::cli
