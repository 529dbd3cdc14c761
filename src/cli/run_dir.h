// Where a new run goes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace cutegen::cli {

// ./runs/<task>-<utc>-<n>, n from 1: the first that does not exist.
std::filesystem::path default_run_dir(const std::string& task_stem);

// A folder for a run that may not come to be: removed again unless keep() was called, if it was made here.
class FreshRunDir {
 public:
  // Errc::invalid_input or io when `dir` holds a run already, is a file or cannot be written to.
  static Result<FreshRunDir> make(const std::filesystem::path& dir);
  FreshRunDir(FreshRunDir&& other) noexcept;
  FreshRunDir& operator=(FreshRunDir&&) = delete;
  ~FreshRunDir();
  void keep() { made_.clear(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  FreshRunDir(std::filesystem::path path, std::vector<std::filesystem::path> made) : path_(std::move(path)), made_(std::move(made)) {}
  std::filesystem::path path_;
  std::vector<std::filesystem::path> made_;  // folders that were not there before, innermost first
};

}  // namespace cutegen::cli
