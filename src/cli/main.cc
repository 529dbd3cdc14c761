#include "cli/command.h"
#include "cli/console.h"

namespace {

constexpr auto kCommands = {cutegen::cli::add_optimize, cutegen::cli::add_eval,   cutegen::cli::add_check, cutegen::cli::add_inspect,
                            cutegen::cli::add_resume,   cutegen::cli::add_report, cutegen::cli::add_bench, cutegen::cli::add_results,
                            cutegen::cli::add_export,   cutegen::cli::add_doctor, cutegen::cli::add_sim,   cutegen::cli::add_executor};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Writes, proves and tunes CuTe/CUDA kernels for a PyTorch module."};
  app.name("cutegen");
  app.set_version_flag("--version", "cutegen " CUTEGEN_VERSION);
  app.require_subcommand(1);
  cutegen::cli::Action action;
  for (const auto add : kCommands) add(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return static_cast<int>(cutegen::cli::explain(app, error));
  }
  return static_cast<int>(action());
}
