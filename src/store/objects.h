// objects/: files named by the hash of their content, objects/HH/HASH (HH: the first two digits).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cutegen {

class ObjectFolder {
 public:
  explicit ObjectFolder(std::filesystem::path root) : root_(std::move(root)) {}
  // Durable before it returns: file, its folder and the folder's entry are synced. The hash of `content`.
  Result<std::string> put(std::string_view content) const;
  // Errc::io when the object is missing or its content no longer has its hash; Errc::invalid_input for what is no hash.
  Result<std::string> get(const std::string& hash) const;
  std::filesystem::path path(const std::string& hash) const;
  // Removes what a killed writer left half-written. Only for the holder of the run's lock.
  void sweep() const;

 private:
  std::filesystem::path root_;
};

}  // namespace cutegen
