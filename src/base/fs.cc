#include "base/fs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/fd.h"

namespace cutegen {
namespace fs = std::filesystem;
namespace {

Error io_error(const std::string& doing, const fs::path& path) {
  return Error{Errc::io, "cannot " + doing + " " + path.string() + ": " + std::strerror(errno), "", ""};
}

bool looks_like_data_dir(const fs::path& dir) {
  std::error_code ec;
  return fs::exists(dir / "kernels/include/cutegen/kernel.cuh", ec);
}

}  // namespace

Result<std::string> read_file(const fs::path& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return io_error("open", path);
  std::string content;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error("read", path);
    if (n == 0) return content;
    content.append(buffer, static_cast<size_t>(n));
  }
}

Result<void> write_file_atomic(const fs::path& path, std::string_view content) {
  const fs::path dir = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code ec;
  fs::create_directories(dir, ec);
  if (ec) return Error{Errc::io, "cannot create directory " + dir.string() + ": " + ec.message(), "", ""};
  static std::atomic<unsigned> counter{0};
  fs::path aside;
  {
    Fd fd;
    do {  // a killed process with our id may have left its file under this name
      aside = dir / ("." + path.filename().string() + "." + std::to_string(::getpid()) + "." + std::to_string(counter++) + ".tmp");
      fd.reset(::open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    } while (!fd.valid() && errno == EEXIST);
    if (!fd.valid()) return io_error("create", aside);
    size_t done = 0;
    while (done < content.size()) {
      const ssize_t n = ::write(fd.get(), content.data() + done, content.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        const Error error = io_error("write", aside);
        ::unlink(aside.c_str());
        return error;
      }
      done += static_cast<size_t>(n);
    }
    if (::fsync(fd.get()) != 0) {
      const Error error = io_error("sync", aside);
      ::unlink(aside.c_str());
      return error;
    }
  }
  if (::rename(aside.c_str(), path.c_str()) != 0) {
    const Error error = io_error("rename into place", path);
    ::unlink(aside.c_str());
    return error;
  }
  Fd dirfd(::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (dirfd.valid()) ::fsync(dirfd.get());
  return {};
}

fs::path cache_dir() {
  if (const char* own = std::getenv("CUTEGEN_CACHE"); own && *own) return own;
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg) return fs::path(xdg) / "cutegen";
  if (const char* home = std::getenv("HOME"); home && *home) return fs::path(home) / ".cache/cutegen";
  return fs::temp_directory_path() / ("cutegen-cache-" + std::to_string(::getuid()));
}

Result<fs::path> data_dir() {
  if (const char* own = std::getenv("CUTEGEN_HOME"); own && *own) {
    if (looks_like_data_dir(own)) return fs::path(own);
    return Error{Errc::missing_dependency, std::string("CUTEGEN_HOME=") + own + " holds no kernels/include/cutegen/kernel.cuh",
                 "point it at cutegen's checkout or its share/cutegen folder", ""};
  }
  std::error_code ec;
  const fs::path binary = fs::read_symlink("/proc/self/exe", ec);
  if (!ec) {
    for (fs::path dir = binary.parent_path(); !dir.empty(); dir = dir.parent_path()) {
      if (looks_like_data_dir(dir / "share/cutegen")) return dir / "share/cutegen";
      if (looks_like_data_dir(dir)) return dir;
      if (dir == dir.root_path()) break;
    }
  }
  return Error{Errc::missing_dependency, "cutegen's data folder (kernels/, python/) was not found near the binary",
               "set CUTEGEN_HOME to the checkout or to share/cutegen", ""};
}

Result<TempDir> TempDir::make(std::string_view prefix, const fs::path& parent) {
  std::error_code ec;
  const fs::path base = parent.empty() ? fs::temp_directory_path(ec) : parent;
  fs::create_directories(base, ec);
  std::string pattern = (base / (std::string(prefix) + "XXXXXX")).string();
  if (::mkdtemp(pattern.data()) == nullptr) return io_error("create a temporary directory like", pattern);
  return TempDir(fs::path(pattern));
}

TempDir::TempDir(TempDir&& other) noexcept : path_(std::exchange(other.path_, {})) {}
TempDir& TempDir::operator=(TempDir&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}
TempDir::~TempDir() {
  if (path_.empty()) return;
  std::error_code ec;
  fs::remove_all(path_, ec);
}

}  // namespace cutegen
