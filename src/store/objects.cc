#include "store/objects.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/fd.h"
#include "base/fs.h"
#include "base/hash.h"

namespace cutegen {
namespace fs = std::filesystem;
namespace {

constexpr size_t kHashDigits = 64;

bool is_hash(const std::string& text) {
  return text.size() == kHashDigits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// Creates `dir` and makes its entry in the parent durable.
Result<void> make_durable_dir(const fs::path& dir) {
  std::error_code ec;
  if (fs::is_directory(dir, ec)) return {};
  fs::create_directories(dir, ec);
  if (ec) return Error{Errc::io, "cannot create directory " + dir.string() + ": " + ec.message(), "", ""};
  Fd parent(::open(dir.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent.valid() || ::fsync(parent.get()) != 0)
    return Error{Errc::io, "cannot sync directory " + dir.parent_path().string() + ": " + std::strerror(errno), "", ""};
  return {};
}

}  // namespace

fs::path ObjectFolder::path(const std::string& hash) const { return root_ / hash.substr(0, 2) / hash; }

Result<std::string> ObjectFolder::put(std::string_view content) const {
  std::string hash = hash_hex(content);
  const fs::path file = path(hash);
  std::error_code ec;
  if (fs::exists(file, ec)) {
    const auto present = read_file(file);
    if (present.ok() && *present == content) return hash;  // else damaged from outside: written again
  }
  CUTEGEN_CHECK(make_durable_dir(root_));
  CUTEGEN_CHECK(make_durable_dir(file.parent_path()));
  CUTEGEN_CHECK(write_file_atomic(file, content));
  return hash;
}

Result<std::string> ObjectFolder::get(const std::string& hash) const {
  if (!is_hash(hash)) return Error{Errc::invalid_input, "'" + hash + "' is not the hash of an object", "", ""};
  const fs::path file = path(hash);
  std::error_code ec;
  if (!fs::exists(file, ec))
    return Error{Errc::io, "object " + hash + " is missing from " + root_.string(), "restore it from a copy of the run directory", ""};
  CUTEGEN_TRY(std::string content, read_file(file));
  if (hash_hex(content) != hash)
    return Error{Errc::io, "object " + file.string() + " is damaged: its content does not have its hash",
                 "restore it from a copy of the run directory", ""};
  return content;
}

void ObjectFolder::sweep() const {
  std::error_code ec;
  for (fs::recursive_directory_iterator it(root_, ec), end; !ec && it != end; it.increment(ec)) {
    const std::string name = it->path().filename().string();
    std::error_code ignored;
    if (name.starts_with('.') && name.ends_with(".tmp")) fs::remove(it->path(), ignored);
  }
}

}  // namespace cutegen
