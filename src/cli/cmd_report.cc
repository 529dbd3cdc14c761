#include <memory>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/drive.h"

namespace cutegen::cli {
namespace {

struct Options {
  std::filesystem::path run;
  bool json = false;
};

ExitCode report(const Options& options) {
  const auto store = Store::open(options.run, true);
  if (!store.ok()) return fail(store.error(), options.json);
  return conclude(**store, options.json);
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("report", "what a run came to; works while it is going on");
  command->add_option("RUN", options->run, "directory of the run")->required();
  command->add_flag("--json", options->json, "as JSON on stdout");
  command->callback([options, &action] { action = [options] { return report(*options); }; });
}

}  // namespace cutegen::cli
