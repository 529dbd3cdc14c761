// One writer a run: flock(2) on run.lock. The kernel lets go of it when the process dies, however it dies.
#pragma once

#include <filesystem>

#include "base/fd.h"
#include "base/result.h"

namespace cutegen {

class RunLock {
 public:
  // Errc::io naming the holder's process when another one writes to the run.
  static Result<RunLock> acquire(const std::filesystem::path& dir);

 private:
  explicit RunLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace cutegen
