// What the exit code of cutegen says (docs/cli.md).
#pragma once

#include "base/result.h"

namespace cutegen::cli {

enum class ExitCode {
  done = 0,
  no_kernel = 1,      // no correct or no faster kernel, or the run could not go on
  usage = 2,          // wrong options or bad input
  machine = 3,        // the machine lacks something; the message says what to install
  interrupted = 130,  // Ctrl-C; the run is kept
};

ExitCode exit_code_for(const Error& error);

}  // namespace cutegen::cli
