// The process log: spdlog, to a file or to nowhere until src/cli says otherwise. Terminal progress is not the log.
#pragma once

#include <spdlog/spdlog.h>

#include <filesystem>

#include "base/result.h"

namespace cutegen {

// Sends the log to `path` (appended). Level from $CUTEGEN_LOG (trace, debug, info, warn, error), default info.
Result<void> open_log(const std::filesystem::path& path);

}  // namespace cutegen
