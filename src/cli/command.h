// The table of commands. Adding one: a file cmd_NAME.cc with its add_NAME, declared here and listed in main.cc.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "cli/exit_code.h"

namespace cutegen::cli {

using Action = std::function<ExitCode()>;

// Each adds its subcommand to `app` and makes it set `action` when it is chosen.
void add_optimize(CLI::App& app, Action& action);
void add_eval(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action);
void add_inspect(CLI::App& app, Action& action);
void add_resume(CLI::App& app, Action& action);
void add_report(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_results(CLI::App& app, Action& action);
void add_export(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, Action& action);
void add_sim(CLI::App& app, Action& action);
void add_executor(CLI::App& app, Action& action);

}  // namespace cutegen::cli
