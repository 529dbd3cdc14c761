#include "toolchain/build_cache.h"

#include "base/hash.h"
#include "toolchain/file_lock.h"

namespace cutegen {
namespace fs = std::filesystem;
namespace {

constexpr const char* kManifest = "manifest.json";
constexpr int kSchema = 1;

Error io(const std::string& what, const std::error_code& ec) { return Error{Errc::io, what + ": " + ec.message(), "", ""}; }

}  // namespace

std::optional<CacheEntry> BuildCache::find(const std::string& key) const {
  CacheEntry entry;
  entry.dir = entry_dir(key);
  const auto manifest = read_json_file(entry.dir / kManifest);
  if (!manifest.ok() || json_or(*manifest, "schema", 0) != kSchema) return std::nullopt;
  const auto files = manifest->find("files");
  const auto facts = manifest->find("facts");
  if (files == manifest->end() || !files->is_object() || facts == manifest->end()) return std::nullopt;
  if (json_or<std::string>(*manifest, "check", "") != hash_hex(facts->dump() + files->dump())) return std::nullopt;
  for (const auto& [name, hash] : files->items()) {
    auto content = read_file(entry.dir / name);
    if (!content.ok() || !hash.is_string() || hash_hex(*content) != hash.get<std::string>()) return std::nullopt;
    entry.files[name] = std::move(*content);
  }
  entry.facts = *facts;
  return entry;
}

Result<Fd> BuildCache::lock(const std::string& key, Deadline deadline, const Clock& clock) const {
  return lock_file(root_ / "locks" / key.substr(0, 3), deadline, clock, "another process that builds the same candidate");
}

Result<TempDir> BuildCache::work_dir() const { return TempDir::make("build-", root_ / "tmp"); }

Result<CacheEntry> BuildCache::publish(const std::string& key, const Json& facts, std::map<std::string, std::string> files) const {
  CUTEGEN_TRY(const TempDir stage, work_dir());
  const fs::path fresh = stage.path() / "entry";
  Json hashes = Json::object();
  for (const auto& [name, content] : files) {
    CUTEGEN_CHECK(write_file_atomic(fresh / name, content));
    hashes[name] = hash_hex(content);
  }
  const Json manifest{{"schema", kSchema}, {"facts", facts}, {"files", hashes}, {"check", hash_hex(facts.dump() + hashes.dump())}};
  CUTEGEN_CHECK(write_file_atomic(fresh / kManifest, manifest.dump(1) + "\n"));
  const fs::path target = entry_dir(key);
  std::error_code ec;
  fs::create_directories(target.parent_path(), ec);
  if (ec) return io("cannot create " + target.parent_path().string(), ec);
  // A damaged entry is moved away first: a folder cannot be renamed over one that is not empty.
  if (fs::exists(target, ec)) fs::rename(target, stage.path() / "damaged", ec);
  fs::rename(fresh, target, ec);
  if (ec) return io("cannot put the build into " + target.string(), ec);
  return CacheEntry{target, facts, std::move(files)};
}

void BuildCache::sweep(Seconds age) const {
  std::error_code ec;
  const auto now = fs::file_time_type::clock::now();
  for (fs::directory_iterator it(root_ / "tmp", ec), end; !ec && it != end; it.increment(ec)) {
    std::error_code gone;
    const auto touched = fs::last_write_time(it->path(), gone);
    if (!gone && now - touched > age) fs::remove_all(it->path(), gone);
  }
}

}  // namespace cutegen
