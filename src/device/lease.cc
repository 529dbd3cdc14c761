#include "device/lease.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/fd.h"

namespace cutegen {
namespace {

constexpr std::chrono::milliseconds kPoll{50};

// Every user must come to the same directory, so /run/lock counts only when it is writable for all, whoever asks.
bool writable_for_all(const char* directory) {
  struct stat st = {};
  return ::stat(directory, &st) == 0 && S_ISDIR(st.st_mode) && (st.st_mode & S_IWOTH) != 0;
}

// Opened before created: with fs.protected_regular, O_CREAT on another user's file in a sticky directory is refused.
Result<Fd> open_lock_file(const std::filesystem::path& path) {
  for (int attempt = 0; attempt < 3; ++attempt) {
    Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (fd.valid()) return fd;
    if (errno != ENOENT) break;
    fd.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (fd.valid()) {
      ::fchmod(fd.get(), 0666);  // whatever the umask: the next user must be able to lock it too
      return fd;
    }
    if (errno != EEXIST) break;
  }
  return Error{Errc::io, "cannot open the GPU lock " + path.string() + ": " + std::strerror(errno),
               "set CUTEGEN_LOCK_DIR to a directory that every user of this GPU can write to", ""};
}

std::string holder_text(int fd) {
  char text[64] = {};
  const ssize_t n = ::pread(fd, text, sizeof text - 1, 0);
  std::string pid(text, n > 0 ? static_cast<size_t>(n) : 0);
  pid.erase(std::find_if_not(pid.begin(), pid.end(), [](unsigned char c) { return std::isdigit(c) != 0; }), pid.end());
  return pid.empty() ? "another process" : "process " + pid;
}

class FileLease : public Lease {
 public:
  explicit FileLease(Fd fd) : fd_(std::move(fd)) {}
  ~FileLease() override {
    [[maybe_unused]] const int emptied = ::ftruncate(fd_.get(), 0);
    ::flock(fd_.get(), LOCK_UN);  // also when a forked child still has a copy of the descriptor
  }

 private:
  Fd fd_;
};

}  // namespace

std::filesystem::path lease_path(const std::string& gpu) {
  std::string name = gpu;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0 && c != '-'; }, '_');
  const char* configured = std::getenv("CUTEGEN_LOCK_DIR");
  std::filesystem::path directory = "/tmp";
  if (configured != nullptr && *configured != '\0') {
    directory = configured;
  } else if (writable_for_all("/run/lock")) {
    directory = "/run/lock";
  }
  return directory / ("cutegen-gpu-" + name + ".lock");
}

Result<std::unique_ptr<Lease>> acquire_gpu_lease(const std::string& gpu, Deadline deadline, const Clock& clock) {
  const std::filesystem::path path = lease_path(gpu);
  CUTEGEN_TRY(Fd fd, open_lock_file(path));
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return Error{Errc::io, "cannot lock " + path.string() + ": " + std::strerror(errno), "", ""};
    if (deadline.passed(clock))
      return Error{Errc::timeout, "GPU " + gpu + " is in use by " + holder_text(fd.get()), "wait for it, or give a longer waiting time",
                   path.string()};
    std::this_thread::sleep_for(kPoll);
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  [[maybe_unused]] int told = ::ftruncate(fd.get(), 0);
  [[maybe_unused]] const ssize_t written = ::pwrite(fd.get(), pid.data(), pid.size(), 0);
  return std::unique_ptr<Lease>(std::make_unique<FileLease>(std::move(fd)));
}

}  // namespace cutegen
