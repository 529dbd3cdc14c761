#include <memory>

#include "base/fs.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/summary.h"

namespace cutegen::cli {
namespace {

struct Options {
  std::filesystem::path run, out;
  std::string format = "cu";
  int node = -1;  // the best
};

Result<std::string> source_of(const Options& options) {
  CUTEGEN_TRY(const auto store, Store::open(options.run, true));
  CUTEGEN_TRY(const Summary summary, summarise(*store));
  if (options.node >= static_cast<int>(summary.nodes.size()))
    return Error{Errc::invalid_input, "the run has no node " + std::to_string(options.node), "", ""};
  if (options.node >= 0) return store->object(summary.nodes[static_cast<size_t>(options.node)].source_object);
  if (!summary.best) return Error{Errc::compile_failed, "the run has no verified kernel to export", "name a candidate with --node", ""};
  return store->object(summary.kernel_object);
}

ExitCode run_export(const Options& options) {
  const auto source = source_of(options);
  if (!source.ok()) return fail(source.error());
  if (options.out.empty()) {
    print(*source);
    return ExitCode::done;
  }
  if (auto written = write_file_atomic(options.out, *source); !written.ok()) return fail(written.error());
  note("wrote " + options.out.string());
  return ExitCode::done;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("export", "the best kernel of a run as a file");
  command->add_option("RUN", options->run, "directory of the run")->required();
  command->add_option("--format", options->format, "what to write")->check(CLI::IsMember({"cu"}))->capture_default_str();
  command->add_option("-o,--output", options->out, "file to write (default: stdout)");
  command->add_option("--node", options->node, "another candidate than the best")->check(CLI::NonNegativeNumber);
  command->callback([options, &action] { action = [options] { return run_export(*options); }; });
}

}  // namespace cutegen::cli
