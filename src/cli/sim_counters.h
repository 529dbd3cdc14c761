// What the processes of a `cutegen sim` run counted, put together.
#pragma once

#include <filesystem>
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace cutegen::cli {

// {"kernels": [...]}, as sim/launch_log.h describes them, of all processes that left a file in `folder`; kernels of one name are added up.
Result<Json> collect_counters(const std::filesystem::path& folder);
std::string counters_table(const Json& counters);
Result<void> write_counters(const Json& counters, const std::filesystem::path& path);  // with "schema"

}  // namespace cutegen::cli
