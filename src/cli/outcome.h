// A run as one row of a results file.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "report/results.h"

namespace cutegen::cli {

// Also fills what `header` says of device and tools.
Result<TaskResult> run_outcome(const std::filesystem::path& run, ResultsHeader& header);

}  // namespace cutegen::cli
