// The run directory: run.db (SQLite, WAL, synchronous=FULL) and objects/ (content-addressed files). docs/store.md specifies both.
//
// A run is a task, a configuration and numbered nodes. A node is written in two transactions: when its candidate is proposed, and
// when its verdict is known. A kill between the two loses the candidate in flight and nothing else: `open` returns it as unfinished
// and the search judges it again.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace cutegen {

struct StoredNode {
  int id = 0;
  int parent = -1;
  std::string origin, rationale;
  std::string candidate_hash;
  std::string source_object;        // hash in objects/
  Json candidate = Json::object();  // backend, config
  std::optional<Json> verdict;      // absent: in flight when the run stopped
  double seconds = 0;               // from proposal to verdict
  std::string ptx_hash;             // Build::ptx_hash; empty when it was not built
  std::optional<int> duplicate_of;  // the earlier node whose verdict this one was given
};

// What finish_node records beside the verdict.
struct NodeNotes {
  std::string ptx_hash;
  std::optional<int> duplicate_of;
};

struct StoredEvent {
  int id = 0;
  std::string utc;   // ISO 8601
  std::string kind;  // "error", "cancelled", "final", ...
  Json detail;
};

using Meta = std::map<std::string, Json>;

// Used by one thread at a time.
class Store {
 public:
  virtual ~Store() = default;
  static constexpr int kSchemaVersion = 2;

  // Creates DIR (must not hold a run). Errc::io / invalid_input with a clear message otherwise. The run appears at once with `meta` in it:
  // a kill during creation leaves no run.
  static Result<std::unique_ptr<Store>> create(const std::filesystem::path& dir, const Meta& meta = {});
  // Opens an existing run; upgrades older schemas; Errc::invalid_input for no run, a damaged one or a newer schema. Read-write opens take
  // the run's lock (a second process gets Errc::io naming the holder). Read-only opens never wait, need no write access and change nothing;
  // of an older schema or in a read-only folder they read a copy made at the time of opening.
  static Result<std::unique_ptr<Store>> open(const std::filesystem::path& dir, bool read_only);

  virtual std::filesystem::path dir() const = 0;
  // Run-wide facts by key ("task", "config", "command", "device", "result", "baselines", ...).
  virtual Result<void> set_meta(const std::string& key, const Json& value) = 0;
  virtual Result<std::optional<Json>> meta(const std::string& key) const = 0;
  // Content-addressed, durable before return.
  virtual Result<std::string> put_object(std::string_view content) = 0;
  virtual Result<std::string> object(const std::string& hash) const = 0;
  virtual std::filesystem::path object_path(const std::string& hash) const = 0;

  virtual Result<void> add_node(const StoredNode& node) = 0;  // without its verdict
  virtual Result<void> finish_node(int id, const Json& verdict, double seconds, const NodeNotes& notes = {}) = 0;
  virtual Result<std::vector<StoredNode>> nodes() const = 0;  // by id
  virtual Result<void> append_event(const std::string& kind, const Json& detail) = 0;
  virtual Result<std::vector<StoredEvent>> events() const = 0;  // in order

  // A session is one process's work on the run. spend() records the seconds that the current one has used so far.
  virtual Result<void> begin_session(const Json& facts) = 0;
  virtual Result<void> spend(double session_seconds) = 0;
  virtual Result<double> seconds_spent() const = 0;  // of all sessions
};

}  // namespace cutegen
