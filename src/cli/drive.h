// Runs the search of a new or resumed run with progress and Ctrl-C, and says what it came to.
#pragma once

#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/run_config.h"
#include "cli/session.h"
#include "store/store.h"

namespace cutegen::cli {

ExitCode drive(Session& session, Store& store, const RunConfig& config, bool use_cached, Interrupt& interrupt, bool json);
// Prints the run's summary and returns its exit code.
ExitCode conclude(const Store& store, bool json);

}  // namespace cutegen::cli
