// What a resumed run must have in common with the run that was stopped.
#pragma once

#include "cli/run_config.h"
#include "cli/session.h"
#include "store/store.h"

namespace cutegen::cli {

// The stored options. A task file that is gone is restored from the run itself.
Result<RunConfig> stored_config(const Store& store);
// Errc::invalid_input when the task file has changed, or the device is another one: earlier verdicts would not compare.
Result<void> check_same_run(const Session& session, const Store& store);

}  // namespace cutegen::cli
