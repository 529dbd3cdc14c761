// Files: whole reads, atomic and durable writes, directories of the user.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cutegen {

Result<std::string> read_file(const std::filesystem::path& path);

// Writes aside, fsyncs, renames, fsyncs the directory: after a power loss the path holds the old or the new
// content, never a mixture. Creates parent directories.
Result<void> write_file_atomic(const std::filesystem::path& path, std::string_view content);

// $XDG_CACHE_HOME/cutegen or ~/.cache/cutegen; $CUTEGEN_CACHE overrides. Not created.
std::filesystem::path cache_dir();

// The directory that holds share-like data (kernels/, python/, skills/): $CUTEGEN_HOME, else found beside the
// running binary (BIN/../share/cutegen), else up the tree from the binary (a build inside a checkout).
Result<std::filesystem::path> data_dir();

// A directory that is removed with its content when the object goes.
class TempDir {
 public:
  static Result<TempDir> make(std::string_view prefix, const std::filesystem::path& parent = {});
  TempDir(TempDir&& other) noexcept;
  TempDir& operator=(TempDir&& other) noexcept;
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir();
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit TempDir(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace cutegen
