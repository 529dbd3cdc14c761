#include "cli/progress.h"

#include <fmt/format.h>

#include "cli/console.h"
#include "report/terminal.h"

namespace cutegen::cli {

void Progress::note_best(const SearchProgress& step) {
  if (step.verdict != nullptr && step.best == step.node) best_ = verdict_line(*step.verdict);
}

void Progress::operator()(const SearchProgress& step) {
  note_best(step);
  const std::string origin = step.proposal != nullptr ? step.proposal->candidate.origin : "";
  if (!terminal_) {
    if (step.what == "proposed") return;
    if (step.verdict != nullptr && step.verdict->reached == Stage::built && step.verdict->device_kind == "none")
      return note(fmt::format("[{:6.1f} s] #{} {}  built, not executed", step.elapsed_s, step.node, origin));
    return note(progress_line({step.elapsed_s, step.node, origin, step.what, step.verdict, step.best == step.node}));
  }
  const std::string doing = step.what == "proposed" ? fmt::format("#{} {}", step.node, origin)
                            : step.what == "final"  ? "timing the best at length"
                                                    : "thinking";
  rewrite_line(
      fmt::format("[{:6.1f} s] {} judged | best: {} | {}", step.elapsed_s, step.finished, best_.empty() ? "none yet" : best_, doing));
}

}  // namespace cutegen::cli
