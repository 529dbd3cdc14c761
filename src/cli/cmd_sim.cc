#include <memory>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/sim_program.h"
#include "vgpu/vgpu.h"

namespace cutegen::cli {

void add_sim(CLI::App& app, Action& action) {
  auto options = std::make_shared<SimOptions>();
  CLI::App* command = app.add_subcommand("sim", "run a CUDA program, built with nvcc -cudart shared, on the virtual GPU");
  command->add_option("--check", options->checks, "what is looked for beyond memory faults, barriers and deadlock")
      ->check(CLI::IsMember({"fast", "checked", "full"}))
      ->capture_default_str();
  command->add_option("--schedule", options->schedule, "the order of warps and CTAs: default, or random:SEED")
      ->check([](const std::string& text) {
        const auto schedule = vgpu::parse_schedule(text);
        return schedule.ok() ? std::string() : schedule.error().message;
      })
      ->capture_default_str();
  command->add_flag("--late-async", options->late_async, "asynchronous copies take effect when they are waited for: missing waits show");
  command->add_flag("--counters", options->counters, "a table of the kernels and their counters, on stderr, when the program has ended");
  command->add_option("--json", options->json, "the counters as JSON into this file");
  command->add_option("--threads", options->threads, "host threads that a kernel may use; 0: the machine's")->check(CLI::NonNegativeNumber);
  command->add_option("PROGRAM", options->program, "the program and its arguments, after --")->required();
  command->positionals_at_end();
  command->footer("Its exit code is the program's. Calls of the CUDA runtime that are supported: docs/sim.md.");
  command->callback([options, &action] { action = [options] { return simulate(*options); }; });
}

}  // namespace cutegen::cli
