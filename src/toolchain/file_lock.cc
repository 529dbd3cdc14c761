#include "toolchain/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

namespace cutegen {

Result<std::optional<Fd>> try_lock_file(const std::filesystem::path& path) {
  std::error_code ec;
  std::filesystem::create_directories(path.parent_path(), ec);
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd.valid()) return Error{Errc::io, "cannot open lock " + path.string() + ": " + std::strerror(errno), "", ""};
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return std::optional<Fd>();
    if (errno != EINTR) return Error{Errc::io, "cannot lock " + path.string() + ": " + std::strerror(errno), "", ""};
  }
  return std::optional<Fd>(std::move(fd));
}

Result<Fd> lock_file(const std::filesystem::path& path, Deadline deadline, const Clock& clock, std::string_view holder) {
  for (auto pause = std::chrono::milliseconds(5);; pause = std::min(pause * 2, std::chrono::milliseconds(100))) {
    CUTEGEN_TRY(std::optional<Fd> fd, try_lock_file(path));
    if (fd) return std::move(*fd);
    if (deadline.passed(clock)) return Error{Errc::timeout, "the deadline passed while waiting for " + std::string(holder), "", ""};
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace cutegen
