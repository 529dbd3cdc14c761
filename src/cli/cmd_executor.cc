#include "cli/command.h"
#include "device/cuda/executor.h"

namespace cutegen::cli {

void add_executor(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("__executor", "runs candidates for the cutegen process that started it");
  command->group("");  // hidden: device/cuda/cuda_device.h starts it
  command->callback([&action] { action = [] { return static_cast<ExitCode>(run_executor(3)); }; });
}

}  // namespace cutegen::cli
