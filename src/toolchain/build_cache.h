// Builds by content address, shared by all processes of a user.
//
// Layout under the root:
//   entries/ab/<key>/   manifest.json and the files that it names with their hashes; complete or absent, because it is renamed into place
//   locks/abc           flock'd while some process builds a key that begins with abc; a killed builder's lock goes with it
//   tmp/                work in progress; what a killed builder left there is swept after a while
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/fd.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/result.h"

namespace cutegen {

struct CacheEntry {
  std::filesystem::path dir;
  Json facts;                                // what the builder stored
  std::map<std::string, std::string> files;  // name and content
};

class BuildCache {
 public:
  explicit BuildCache(std::filesystem::path root) : root_(std::move(root)) {}

  // The entry, if it is there and every file has the hash that the manifest says; a damaged one counts as absent.
  std::optional<CacheEntry> find(const std::string& key) const;

  // Waits until this caller alone may build keys that share `key`'s lock. Errc::timeout at the deadline.
  Result<Fd> lock(const std::string& key, Deadline deadline, const Clock& clock) const;

  // A folder to work in, on the same file system as the entries.
  Result<TempDir> work_dir() const;

  // Puts facts and files in place under `key`, over a damaged entry if need be. Call with the lock held.
  Result<CacheEntry> publish(const std::string& key, const Json& facts, std::map<std::string, std::string> files) const;

  // Removes work folders that nobody has touched for `age`.
  void sweep(Seconds age) const;

  const std::filesystem::path& root() const { return root_; }

 private:
  std::filesystem::path entry_dir(const std::string& key) const { return root_ / "entries" / key.substr(0, 2) / key; }
  std::filesystem::path root_;
};

}  // namespace cutegen
