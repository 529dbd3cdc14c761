#include "store/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "base/clock.h"

namespace cutegen {
namespace {

std::string holder_text(int fd) {
  char buffer[256];
  const ssize_t n = ::pread(fd, buffer, sizeof buffer, 0);
  return n > 0 ? std::string(buffer, static_cast<size_t>(n)) : std::string();
}

bool process_lives(int pid) { return pid > 0 && (::kill(pid, 0) == 0 || errno == EPERM); }

// "PID HOST UTC", for people and for the message of the next process.
void write_holder(int fd) {
  char host[128] = "";
  ::gethostname(host, sizeof host - 1);
  const std::string text = std::to_string(::getpid()) + " " + host + " " + system_clock().utc_iso8601() + "\n";
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, text.data(), text.size(), 0) < 0) return;  // the lock holds without its label
}

}  // namespace

Result<RunLock> RunLock::acquire(const std::filesystem::path& dir) {
  const std::filesystem::path path = dir / "run.lock";
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd.valid()) return Error{Errc::io, "cannot write to run directory " + dir.string() + ": " + std::strerror(errno), "", ""};
  // A killed writer's child may hold its inherited descriptor for the moment between its fork and its exec; only a
  // living holder is a conflict.
  const Deadline patience = Deadline::in(system_clock(), Seconds(2));
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return Error{Errc::io, "cannot lock " + path.string() + ": " + std::strerror(errno), "", ""};
    const std::string holder = holder_text(fd.get());
    if (process_lives(std::atoi(holder.c_str())) || patience.passed(system_clock()))
      return Error{Errc::io, "the run " + dir.string() + " is in use by process " + holder.substr(0, holder.find(' ')),
                   "wait for it or stop it; `cutegen report` can read the run meanwhile", holder};
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  write_holder(fd.get());
  return RunLock(std::move(fd));
}

}  // namespace cutegen
