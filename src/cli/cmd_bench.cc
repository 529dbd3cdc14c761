#include <memory>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/interrupt.h"
#include "cli/suite.h"
#include "report/results.h"
#include "report/score.h"

namespace cutegen::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  SuiteConfig suite;
  fs::path folder, results;
  std::vector<std::string> only;
  std::string name;
  bool list = false, json = false;
};

ExitCode list_tasks(const std::vector<SuiteTask>& tasks, bool json) {
  Json ids = Json::array();
  for (const SuiteTask& task : tasks) json ? ids.push_back(task.id) : print(task.id);
  if (json) print_json({{"tasks", ids}});
  return ExitCode::done;
}

// Everything verified is 0; a suite that is cut short or not all verified says so by its code.
ExitCode show(const Json& results, bool json) {
  json ? print_json(results) : print(suite_text(results));
  const SuiteScore s = score(results);
  return s.verified == s.tasks ? ExitCode::done : ExitCode::no_kernel;
}

fs::path default_output(const fs::path& folder) {
  fs::path name = fs::absolute(folder).lexically_normal();
  if (!name.has_filename()) name = name.parent_path();
  return fs::path("runs") / ("bench-" + name.filename().string());
}

std::string command_line(const Options& o) {
  std::string line = "cutegen bench " + o.folder.filename().string();
  for (size_t i = 0; i < o.only.size(); ++i) line += (i == 0 ? " --only " : ",") + o.only[i];
  const RunConfig& run = o.suite.run;
  line += " --workers " + std::to_string(o.suite.workers) + " --budget-seconds " + std::to_string(static_cast<int>(run.budget_seconds));
  if (run.max_candidates > 0) line += " --max-candidates " + std::to_string(run.max_candidates);
  if (run.precision != "match") line += " --precision " + run.precision;
  return line;
}

ExitCode bench(Options o) {
  auto tasks = find_suite(o.folder, o.only);
  if (!tasks.ok()) return fail(tasks.error(), o.json);
  if (o.list) return list_tasks(*tasks, o.json);
  if (o.suite.output.empty()) o.suite.output = default_output(o.folder);
  Interrupt interrupt;
  o.suite.cancelled = [&] { return interrupt.requested(); };
  o.suite.progress = note;
  const std::string go_on = "go on with the same command; what is finished in " + o.suite.output.string() + " is not run again";
  interrupt.set_last_words([&] { note(go_on); });
  if (auto ran = run_suite(o.suite, *tasks); !ran.ok()) return fail(ran.error(), o.json);
  interrupt.set_last_words({});
  auto results = suite_results(o.suite, *tasks, o.name, command_line(o));
  if (!results.ok()) return fail(results.error(), o.json);
  const fs::path file = o.results.empty() ? o.suite.output / "results.json" : o.results;
  if (auto written = write_results(file, *results); !written.ok()) return fail(written.error(), o.json);
  note("results: " + file.string());
  const ExitCode code = show(*results, o.json);
  if (!interrupt.requested()) return code;
  note(go_on);
  return ExitCode::interrupted;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("bench", "optimize every task of a folder, resumable, with fast_p and geometric means");
  command->add_option("FOLDER", options->folder, "task files, at any depth: FOLDER/level1/19_ReLU.py is level1/19")->required();
  command->add_option("--only", options->only, "ids: level1/19, level1/2*, level1/19-30 (several with commas)")->delimiter(',');
  command->add_option("--again", options->suite.again, "ids of finished tasks to go on with, under the budget given now")->delimiter(',');
  command->add_option("--output", options->suite.output, "folder of the runs (default: runs/bench-FOLDER)");
  command->add_option("--results", options->results, "the results file (default: results.json in --output)");
  command->add_option("--suite", options->name, "name of the suite, for the record");
  command->add_option("--workers", options->suite.workers, "runs at the same time; they take turns on the GPU and build beside it")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  options->suite.run.budget_seconds = 60;
  add_device_options(*command, options->suite.run);
  add_budget_options(*command, options->suite.run);
  command->add_option("--seed", options->suite.run.seed, "of the judge's inputs; 0: drawn for each task")->capture_default_str();
  command->add_flag("--list", options->list, "print the ids and do nothing");
  command->add_flag("--json", options->json, "the results as JSON on stdout");
  command->callback([options, &action] { action = [options] { return bench(*options); }; });
}

}  // namespace cutegen::cli
