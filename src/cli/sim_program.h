// `cutegen sim`: a CUDA program of the user under the stand-in runtime of src/sim/.
#pragma once

#include <string>
#include <vector>

#include "cli/exit_code.h"

namespace cutegen::cli {

struct SimOptions {
  std::string checks = "checked";
  std::string schedule = "default";  // or random:SEED
  bool late_async = false;
  bool counters = false;
  std::string json;
  int threads = 0;
  std::vector<std::string> program;  // and its arguments
};

// Runs the program to its end, with its own standard streams; the result is its exit code, or 128 + the signal that ended it. Ctrl-C and
// SIGTERM go to the program; when cutegen is killed the program is too.
ExitCode simulate(const SimOptions& options);

}  // namespace cutegen::cli
