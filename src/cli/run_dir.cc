#include "cli/run_dir.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"

namespace cutegen::cli {
namespace fs = std::filesystem;

fs::path default_run_dir(const std::string& task_stem) {
  std::string utc = system_clock().utc_iso8601();  // 2026-11-30T21:14:05Z, less what is awkward in a path
  std::erase_if(utc, [](char c) { return c == '-' || c == ':'; });
  for (int n = 1;; ++n) {
    fs::path dir = fs::path("runs") / (task_stem + "-" + utc + "-" + std::to_string(n));
    std::error_code ec;
    if (!fs::exists(dir, ec)) return dir;
  }
}

Result<FreshRunDir> FreshRunDir::make(const fs::path& dir) {
  std::error_code ec;
  if (fs::exists(dir / "run.db", ec))
    return Error{Errc::invalid_input, dir.string() + " already holds a run",
                 "use `cutegen resume " + dir.string() + "`, or another directory", ""};
  if (fs::exists(dir, ec) && !fs::is_directory(dir, ec))
    return Error{Errc::invalid_input, dir.string() + " exists and is not a directory", "", ""};
  std::vector<fs::path> made;
  for (fs::path p = fs::absolute(dir, ec); !fs::exists(p, ec) && p.has_relative_path(); p = p.parent_path()) made.push_back(p);
  fs::create_directories(dir, ec);
  if (ec) return Error{Errc::io, "cannot create run directory " + dir.string() + ": " + ec.message(), "give another one with --run", ""};
  if (::access(dir.c_str(), W_OK) != 0)
    return Error{Errc::io, "cannot write to run directory " + dir.string() + ": " + std::strerror(errno), "give another one with --run",
                 ""};
  return FreshRunDir(dir, std::move(made));
}

FreshRunDir::FreshRunDir(FreshRunDir&& other) noexcept : path_(std::move(other.path_)), made_(std::exchange(other.made_, {})) {}

FreshRunDir::~FreshRunDir() {
  std::error_code ec;
  if (!made_.empty()) fs::remove_all(made_.front(), ec);
  for (const fs::path& parent : made_) fs::remove(parent, ec);  // only when nothing else came into it meanwhile
}

}  // namespace cutegen::cli
