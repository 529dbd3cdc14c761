#include <memory>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/drive.h"
#include "cli/run_dir.h"
#include "store/store.h"

namespace cutegen::cli {
namespace {

struct Options {
  RunConfig config;
  std::filesystem::path run;
  bool fresh = false, json = false, share_gpu = false;
};

Result<std::unique_ptr<Store>> create_store(FreshRunDir& dir, const RunConfig& config) {
  CUTEGEN_TRY(auto store, Store::create(dir.path(), {{"config", to_json(config)}, {"cutegen", CUTEGEN_VERSION}}));
  dir.keep();
  return store;
}

ExitCode optimize(Options options) {
  options.config.draw_seed();
  if (auto checked = check_file(options.config.task, "task file"); !checked.ok()) return fail(checked.error(), options.json);
  std::error_code ec;
  options.config.task = std::filesystem::absolute(options.config.task, ec);
  auto dir = FreshRunDir::make(options.run.empty() ? default_run_dir(options.config.task.stem().string()) : options.run);
  if (!dir.ok()) return fail(dir.error(), options.json);
  Interrupt interrupt;
  auto session = open_session(options.config, dir->path(), options.share_gpu ? HoldGpu::while_judging : HoldGpu::whole_run);
  if (!session.ok()) return fail(session.error(), options.json);
  auto store = create_store(*dir, options.config);
  if (!store.ok()) return fail(store.error(), options.json);
  return drive(*session, **store, options.config, !options.fresh, interrupt, options.json);
}

}  // namespace

void add_optimize(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("optimize", "write kernels for TASK, prove them right, keep the fastest");
  add_judging_options(*command, options->config);
  add_budget_options(*command, options->config);
  command->add_option("--proposer", options->config.proposer, "who writes candidates")->capture_default_str();
  command->add_option("--run", options->run, "directory of the run (default: runs/TASK-UTC-N)");
  command->add_option("--seed", options->config.seed, "of the judge's inputs; 0: drawn")->capture_default_str();
  command->add_flag("--fresh", options->fresh, "judge candidates again that earlier runs have judged");
  command->add_flag("--share-gpu", options->share_gpu, "hold the GPU only while a candidate is judged, for runs beside each other");
  command->add_flag("--json", options->json, "the result as JSON on stdout");
  command->callback([options, &action] { action = [options] { return optimize(*options); }; });
}

}  // namespace cutegen::cli
