#include <memory>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/evaluate.h"
#include "cli/sanitize.h"

namespace cutegen::cli {
namespace {

struct Options {
  std::filesystem::path candidate, task;
  std::string backend = "cute";
  uint64_t seed = 1;
  bool json = false;
};

ExitCode check(const Options& options) {
  if (options.task.empty())
    return fail({Errc::invalid_input, "a candidate has no shapes or inputs of its own", "say which task it is for: --task TASK.py", ""},
                options.json);
  const auto candidate = read_candidate(options.candidate, options.backend);
  if (!candidate.ok()) return fail(candidate.error(), options.json);
  const auto sanitized = sanitize(options.task, *candidate, options.seed);
  if (!sanitized.ok()) return fail(sanitized.error(), options.json);
  const ExitCode code = sanitized->clean() ? ExitCode::done : ExitCode::no_kernel;
  if (options.json) {
    Json document = to_json(*sanitized);
    document["exit"] = static_cast<int>(code);
    print_json(document);
  } else {
    print(to_text(*sanitized, *candidate));
  }
  return code;
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("check", "look for races and other hidden mistakes in a candidate, on the virtual GPU");
  command->add_option("CANDIDATE", options->candidate, "a .cu file with kernels and a plan")->required();
  command->add_option("--task", options->task, "the PyTorch file that it is for: shapes and inputs come from it");
  command->add_option("--backend", options->backend, "what the candidate is written in")
      ->check(CLI::IsMember({"cute", "cuda", "ptx"}))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "of the inputs")->capture_default_str();
  command->add_flag("--json", options->json, "as JSON on stdout");
  command->callback([options, &action] { action = [options] { return check(*options); }; });
}

}  // namespace cutegen::cli
