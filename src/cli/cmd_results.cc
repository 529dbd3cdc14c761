#include <memory>
#include <vector>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/outcome.h"

namespace cutegen::cli {
namespace {

struct Options {
  std::vector<std::filesystem::path> runs;
  std::filesystem::path output;
  std::string suite, command;
};

Result<void> write(const Options& options) {
  ResultsHeader header{"", "", "", "", system_clock().utc_iso8601(), options.command, options.suite};
  std::vector<TaskResult> tasks;
  for (const auto& run : options.runs) {
    CUTEGEN_TRY(TaskResult result, run_outcome(run, header));
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
