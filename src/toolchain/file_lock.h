// Locks between processes: flock on a file. The kernel drops it when its holder ends, however it ends.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"

namespace cutegen {

// Holds the lock while the descriptor lives. Nothing when somebody else has it. Creates the file and its folder.
Result<std::optional<Fd>> try_lock_file(const std::filesystem::path& path);

// Waits for it. Errc::timeout at the deadline, naming `holder`.
Result<Fd> lock_file(const std::filesystem::path& path, Deadline deadline, const Clock& clock, std::string_view holder);

}  // namespace cutegen
