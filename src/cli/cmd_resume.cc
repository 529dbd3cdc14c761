#include <memory>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/drive.h"
#include "cli/resume.h"

namespace cutegen::cli {
namespace {

struct Options {
  std::filesystem::path run;
  RunConfig budget;  // only what was given counts
  bool seconds_given = false, candidates_given = false, fresh = false, json = false, share_gpu = false;
};

ExitCode resume(const Options& options) {
  auto store = Store::open(options.run, false);
  if (!store.ok()) return fail(store.error(), options.json);
  auto config = stored_config(**store);
  if (!config.ok()) return fail(config.error(), options.json);
  if (options.seconds_given) config->budget_seconds = options.budget.budget_seconds;
  if (options.candidates_given) config->max_candidates = options.budget.max_candidates;
  Interrupt interrupt;
  auto session = open_session(*config, options.run, options.share_gpu ? HoldGpu::while_judging : HoldGpu::whole_run);
  if (!session.ok()) return fail(session.error(), options.json);
  if (auto same = check_same_run(*session, **store); !same.ok()) return fail(same.error(), options.json);
  return drive(*session, **store, *config, !options.fresh, interrupt, options.json);
}

}  // namespace

void add_resume(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("resume", "go on with a run that was stopped, or give it a larger budget");
  command->add_option("RUN", options->run, "directory of the run")->required();
  add_budget_options(*command, options->budget);
  command->add_flag("--fresh", options->fresh, "judge candidates again that earlier runs have judged");
  command->add_flag("--share-gpu", options->share_gpu, "hold the GPU only while a candidate is judged, for runs beside each other");
  command->add_flag("--json", options->json, "the result as JSON on stdout");
  command->callback([options, command, &action] {
    options->seconds_given = command->count("--budget-seconds") > 0;
    options->candidates_given = command->count("--max-candidates") > 0;
    action = [options] { return resume(*options); };
  });
}

}  // namespace cutegen::cli
