#include <memory>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/evaluate.h"

namespace cutegen::cli {
namespace {

struct Options {
  RunConfig config;
  std::filesystem::path candidate;
  std::string backend = "cute";
  bool fresh = false, cached = false, json = false;
};

ExitCode eval(Options options) {
  options.config.draw_seed();
  const auto candidate = read_candidate(options.candidate, options.backend);
  if (!candidate.ok()) return fail(candidate.error(), options.json);
  const auto evaluated = evaluate(options.config, *candidate,
                                  options.fresh    ? Freshness::fresh
                                  : options.cached ? Freshness::cached_only
                                                   : Freshness::any);
  if (!evaluated.ok()) return fail(evaluated.error(), options.json);
  options.json ? print_json(to_json(*evaluated)) : print(to_text(*evaluated));
  return evaluated->exit_code();
}

}  // namespace

void add_eval(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("eval", "one verdict on one candidate, with its evidence");
  add_judging_options(*command, options->config);
  command->add_option("CANDIDATE", options->candidate, "a .cu file with kernels and a plan")->required();
  command->add_option("--backend", options->backend, "what the candidate is written in")
      ->check(CLI::IsMember({"cute", "cuda", "ptx"}))
      ->capture_default_str();
  CLI::Option* fresh = command->add_flag("--fresh", options->fresh, "judge again even if the verdict is known");
  command->add_flag("--cached", options->cached, "answer from known verdicts only, or fail")->excludes(fresh);
  command->add_flag("--json", options->json, "as JSON on stdout");
  command->callback([options, &action] { action = [options] { return eval(*options); }; });
}

}  // namespace cutegen::cli
