#include <memory>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/inspection.h"
#include "cli/session.h"

namespace cutegen::cli {
namespace {

struct Options {
  std::filesystem::path task;
  std::string device = "auto";
  bool json = false;
};

ExitCode inspect(const Options& options) {
  const auto oracle = open_oracle(options.task, options.device, {});
  if (!oracle.ok()) return fail(oracle.error(), options.json);
  const Inspection inspection = inspect_task((*oracle)->task(), (*oracle)->info());
  options.json ? print_json(to_json(inspection)) : print(to_text(inspection));
  return ExitCode::done;
}

}  // namespace

void add_inspect(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("inspect", "graph, bytes, FLOPs, floor and warnings of TASK");
  command->add_option("TASK", options->task, "a Python file with Model, get_inputs and get_init_inputs")->required();
  command->add_option("--device", options->device, "where the module runs")
      ->check(CLI::IsMember({"auto", "cuda", "cpu"}))
      ->capture_default_str();
  command->add_flag("--json", options->json, "as JSON on stdout");
  command->callback([options, &action] { action = [options] { return inspect(*options); }; });
}

}  // namespace cutegen::cli
