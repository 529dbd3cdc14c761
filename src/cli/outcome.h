// A run as one row of a results file.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "report/results.h"

namespace cutegen::cli {

// TaskResult::why_short of a run without a result.
inline constexpr const char* kUnfinished = "the run is unfinished";

// Also fills what `header` says of device and tools.
Result<TaskResult> run_outcome(const std::filesystem::path& run, ResultsHeader& header);

}  // namespace cutegen::cli
