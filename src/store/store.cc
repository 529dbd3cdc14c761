#include "store/store.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/fd.h"
#include "base/fs.h"
#include "store/objects.h"
#include "store/run_lock.h"
#include "store/schema.h"
#include "store/sqlite.h"

namespace cutegen {
namespace fs = std::filesystem;
namespace {

using sqlite::Db;
using sqlite::Statement;

constexpr const char* kDatabase = "run.db";
constexpr const char* kUnfinishedDatabase = ".run.db.new";

std::string dump(const Json& j) { return j.dump(-1, ' ', false, Json::error_handler_t::replace); }

Result<void> sync_dir(const fs::path& dir) {
  Fd fd(::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || ::fsync(fd.get()) != 0)
    return Error{Errc::io, "cannot sync directory " + dir.string() + ": " + std::strerror(errno), "", ""};
  return {};
}

bool writable(const fs::path& dir) { return ::faccessat(AT_FDCWD, dir.c_str(), W_OK, AT_EACCESS) == 0; }

Error damaged(const Db& db, const std::string& how) {
  return Error{Errc::invalid_input, "the run database " + db.path().string() + " is damaged: " + how,
               "restore the run directory from a copy, or start the run again; the sources in objects/ can still be read as files", how};
}

// SQLite reads the missing part of a truncated last page as zeros; only the file's size tells.
Result<void> check_size(const Db& db) {
  CUTEGEN_TRY(const int64_t pages, db.integer("PRAGMA page_count"));
  CUTEGEN_TRY(const int64_t page_bytes, db.integer("PRAGMA page_size"));
  std::error_code ec;
  const auto wal_bytes = fs::file_size(db.path().string() + "-wal", ec);
  if (!ec && wal_bytes > 0) return {};  // pages may still be in the WAL alone
  const auto bytes = static_cast<int64_t>(fs::file_size(db.path(), ec));
  if (!ec && bytes < pages * page_bytes)
    return damaged(db, std::to_string(pages * page_bytes - bytes) + " of " + std::to_string(pages * page_bytes) + " bytes are missing");
  return {};
}

Result<void> check_integrity(const Db& db) {
  CUTEGEN_CHECK(check_size(db));
  CUTEGEN_TRY(const std::string said, db.text("PRAGMA integrity_check(1)"));
  if (said != "ok") return damaged(db, said);
  return {};
}

Result<void> prepare_for_writing(Db& db) {
  CUTEGEN_CHECK(db.text("PRAGMA journal_mode = WAL"));
  return db.exec("PRAGMA synchronous = FULL");
}

class SqliteStore final : public Store {
 public:
  SqliteStore(fs::path dir, Db db, std::optional<RunLock> lock, std::optional<TempDir> copy)
      : dir_(std::move(dir)), objects_(dir_ / "objects"), lock_(std::move(lock)), copy_(std::move(copy)), db_(std::move(db)) {}

  fs::path dir() const override { return dir_; }

  Result<void> set_meta(const std::string& key, const Json& value) override {
    CUTEGEN_CHECK(check_writable());
    CUTEGEN_TRY(
        Statement s,
        Statement::prepare(db_, "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"));
    return s.bind(key).bind(dump(value)).finish();
  }

  Result<std::optional<Json>> meta(const std::string& key) const override {
    CUTEGEN_TRY(Statement s, Statement::prepare(db_, "SELECT value FROM meta WHERE key = ?"));
    CUTEGEN_TRY(const bool found, s.bind(key).step());
    if (!found) return std::optional<Json>();
    CUTEGEN_TRY(Json value, parse_json(s.text(0), dir_.string() + ", meta '" + key + "'"));
    return std::optional<Json>(std::move(value));
  }

  Result<std::string> put_object(std::string_view content) override {
    CUTEGEN_CHECK(check_writable());
    return objects_.put(content);
  }
  Result<std::string> object(const std::string& hash) const override { return objects_.get(hash); }
  fs::path object_path(const std::string& hash) const override { return objects_.path(hash); }

  Result<void> add_node(const StoredNode& node) override {
    CUTEGEN_CHECK(check_writable());
    CUTEGEN_TRY(Statement s,
                Statement::prepare(db_,
                                   "INSERT INTO nodes (id, parent, origin, rationale, candidate_hash, source_object, candidate, "
                                   "proposed_utc) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"));
    s.bind(int64_t{node.id}).bind(int64_t{node.parent}).bind(node.origin).bind(node.rationale);
    s.bind(node.candidate_hash).bind(node.source_object).bind(dump(node.candidate)).bind(system_clock().utc_iso8601());
    return s.finish();
  }

  Result<void> finish_node(int id, const Json& verdict, double seconds, const NodeNotes& notes) override {
    CUTEGEN_CHECK(check_writable());
    CUTEGEN_TRY(Statement s,
                Statement::prepare(db_,
                                   "UPDATE nodes SET verdict = ?, seconds = ?, finished_utc = ?, ptx_hash = ?, duplicate_of = ? "
                                   "WHERE id = ?"));
    s.bind(dump(verdict)).bind(seconds).bind(system_clock().utc_iso8601());
    notes.ptx_hash.empty() ? s.bind_null() : s.bind(notes.ptx_hash);
    notes.duplicate_of ? s.bind(int64_t{*notes.duplicate_of}) : s.bind_null();
    CUTEGEN_CHECK(s.bind(int64_t{id}).finish());
    if (sqlite3_changes(db_.handle()) == 0)
      return Error{Errc::internal, "node " + std::to_string(id) + " was finished before it was added", "", ""};
    return {};
  }

  Result<std::vector<StoredNode>> nodes() const override {
    CUTEGEN_TRY(Statement s,
                Statement::prepare(db_,
                                   "SELECT id, parent, origin, rationale, candidate_hash, source_object, candidate, verdict, seconds, "
                                   "ptx_hash, duplicate_of FROM nodes ORDER BY id"));
    std::vector<StoredNode> out;
    for (;;) {
      CUTEGEN_TRY(const bool row, s.step());
      if (!row) return out;
      CUTEGEN_TRY(StoredNode node, read_node(s));
      out.push_back(std::move(node));
    }
  }

  Result<void> append_event(const std::string& kind, const Json& detail) override {
    CUTEGEN_CHECK(check_writable());
    CUTEGEN_TRY(Statement s, Statement::prepare(db_, "INSERT INTO events (utc, kind, detail) VALUES (?, ?, ?)"));
    return s.bind(system_clock().utc_iso8601()).bind(kind).bind(dump(detail)).finish();
  }

  Result<std::vector<StoredEvent>> events() const override {
    CUTEGEN_TRY(Statement s, Statement::prepare(db_, "SELECT id, utc, kind, detail FROM events ORDER BY id"));
    std::vector<StoredEvent> out;
    for (;;) {
      CUTEGEN_TRY(const bool row, s.step());
      if (!row) return out;
      CUTEGEN_TRY(Json detail, parse_json(s.text(3), dir_.string() + ", event " + std::to_string(s.integer(0))));
      out.push_back({static_cast<int>(s.integer(0)), s.text(1), s.text(2), std::move(detail)});
    }
  }

  Result<void> begin_session(const Json& facts) override {
    CUTEGEN_CHECK(check_writable());
    CUTEGEN_TRY(Statement s, Statement::prepare(db_, "INSERT INTO sessions (started_utc, facts) VALUES (?, ?)"));
    CUTEGEN_CHECK(s.bind(system_clock().utc_iso8601()).bind(dump(facts)).finish());
    session_ = sqlite3_last_insert_rowid(db_.handle());
    return {};
  }

  Result<void> spend(double session_seconds) override {
    if (session_ == 0) return Error{Errc::internal, "spend() before begin_session()", "", ""};
    CUTEGEN_TRY(Statement s, Statement::prepare(db_, "UPDATE sessions SET seconds = ? WHERE id = ?"));
    return s.bind(session_seconds).bind(session_).finish();
  }

  Result<double> seconds_spent() const override {
    CUTEGEN_TRY(Statement s, Statement::prepare(db_, "SELECT COALESCE(SUM(seconds), 0.0) FROM sessions"));
    CUTEGEN_CHECK(s.step());
    return s.real(0);
  }

 private:
  Result<void> check_writable() const {
    if (lock_) return {};
    return Error{Errc::internal, "the run " + dir_.string() + " was opened for reading only", "", ""};
  }

  Result<StoredNode> read_node(const Statement& s) const {
    StoredNode node;
    node.id = static_cast<int>(s.integer(0));
    node.parent = static_cast<int>(s.integer(1));
    node.origin = s.text(2);
    node.rationale = s.text(3);
    node.candidate_hash = s.text(4);
    node.source_object = s.text(5);
    const std::string where = dir_.string() + ", node " + std::to_string(node.id);
    CUTEGEN_TRY(node.candidate, parse_json(s.text(6), where));
    if (!s.is_null(7)) {
      CUTEGEN_TRY(node.verdict, parse_json(s.text(7), where));
    }
    node.seconds = s.real(8);
    node.ptx_hash = s.text(9);
    if (!s.is_null(10)) node.duplicate_of = static_cast<int>(s.integer(10));
    return node;
  }

  fs::path dir_;
  ObjectFolder objects_;
  std::optional<RunLock> lock_;  // absent: read-only
  std::optional<TempDir> copy_;  // of the database, when the run's own could not be read in place
  Db db_;                        // closed first
  int64_t session_ = 0;
};

// The finished file is renamed into place, so that run.db is a complete run or is not there.
Result<void> build_database(const fs::path& dir, const Meta& meta) {
  const fs::path aside = dir / kUnfinishedDatabase;
  std::error_code ec;
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) fs::remove(aside.string() + suffix, ec);
  {
    CUTEGEN_TRY(Db db, Db::open(aside, Db::Mode::create));
    CUTEGEN_CHECK(prepare_for_writing(db));
    CUTEGEN_CHECK(create_schema(db, Store::kSchemaVersion));
    for (const auto& [key, value] : meta) {
      CUTEGEN_TRY(Statement s, Statement::prepare(db, "INSERT INTO meta (key, value) VALUES (?, ?)"));
      CUTEGEN_CHECK(s.bind(key).bind(dump(value)).finish());
    }
    CUTEGEN_CHECK(db.text("PRAGMA wal_checkpoint(TRUNCATE)"));
  }
  fs::rename(aside, dir / kDatabase, ec);
  if (ec) return Error{Errc::io, "cannot create " + (dir / kDatabase).string() + ": " + ec.message(), "", ""};
  return sync_dir(dir);
}

Result<std::unique_ptr<Store>> open_for_writing(const fs::path& dir) {
  CUTEGEN_TRY(RunLock lock, RunLock::acquire(dir));
  CUTEGEN_TRY(Db db, Db::open(dir / kDatabase, Db::Mode::read_write));
  CUTEGEN_CHECK(schema_version(db));
  CUTEGEN_CHECK(check_integrity(db));
  CUTEGEN_CHECK(prepare_for_writing(db));
  CUTEGEN_CHECK(upgrade_schema(db));
  ObjectFolder(dir / "objects").sweep();
  return std::unique_ptr<Store>(std::make_unique<SqliteStore>(dir, std::move(db), std::move(lock), std::nullopt));
}

Result<std::unique_ptr<Store>> open_copy(const fs::path& dir, TempDir copy) {
  CUTEGEN_TRY(Db db, Db::open(copy.path() / kDatabase, Db::Mode::read_write));
  CUTEGEN_CHECK(schema_version(db));
  CUTEGEN_CHECK(check_integrity(db));
  CUTEGEN_CHECK(upgrade_schema(db));
  return std::unique_ptr<Store>(std::make_unique<SqliteStore>(dir, std::move(db), std::nullopt, std::move(copy)));
}

// SQLite must write the -shm file beside a WAL database even to read it; where it may not, database and WAL are read as a copy.
Result<std::unique_ptr<Store>> open_copied_files(const fs::path& dir) {
  CUTEGEN_TRY(TempDir copy, TempDir::make("cutegen-run-"));
  for (const char* suffix : {"", "-wal"}) {
    const fs::path from = dir / (std::string(kDatabase) + suffix);
    std::error_code ec;
    if (!fs::exists(from, ec)) continue;
    CUTEGEN_TRY(const std::string content, read_file(from));
    CUTEGEN_CHECK(write_file_atomic(copy.path() / from.filename(), content));
  }
  return open_copy(dir, std::move(copy));
}

Result<std::unique_ptr<Store>> open_for_reading(const fs::path& dir) {
  if (!writable(dir)) {
    // A writer's checkpoint between the two copies would look like damage: copy again.
    for (int attempt = 0; attempt < 2; ++attempt) {
      if (auto store = open_copied_files(dir); store.ok()) return store;
    }
    return open_copied_files(dir);
  }
  CUTEGEN_TRY(Db db, Db::open(dir / kDatabase, Db::Mode::read_only));
  CUTEGEN_TRY(const int version, schema_version(db));
  if (version < Store::kSchemaVersion) {
    CUTEGEN_TRY(TempDir copy, TempDir::make("cutegen-run-"));
    CUTEGEN_TRY(Statement s, Statement::prepare(db, "VACUUM INTO ?"));
    CUTEGEN_CHECK(s.bind((copy.path() / kDatabase).string()).finish());
    return open_copy(dir, std::move(copy));
  }
  CUTEGEN_CHECK(check_integrity(db));
  return std::unique_ptr<Store>(std::make_unique<SqliteStore>(dir, std::move(db), std::nullopt, std::nullopt));
}

}  // namespace

Result<std::unique_ptr<Store>> Store::create(const fs::path& dir, const Meta& meta) {
  std::error_code ec;
  if (fs::exists(dir, ec) && !fs::is_directory(dir, ec))
    return Error{Errc::invalid_input, dir.string() + " exists and is not a directory", "", ""};
  fs::create_directories(dir, ec);
  if (ec) return Error{Errc::io, "cannot create run directory " + dir.string() + ": " + ec.message(), "", ""};
  CUTEGEN_TRY(RunLock lock, RunLock::acquire(dir));
  if (fs::exists(dir / kDatabase, ec))
    return Error{Errc::invalid_input, dir.string() + " already holds a run",
                 "use `cutegen resume " + dir.string() + "`, or another directory", ""};
  CUTEGEN_CHECK(build_database(dir, meta));
  CUTEGEN_CHECK(sync_dir(fs::absolute(dir, ec).lexically_normal().parent_path()));
  CUTEGEN_TRY(Db db, Db::open(dir / kDatabase, Db::Mode::read_write));
  CUTEGEN_CHECK(prepare_for_writing(db));
  return std::unique_ptr<Store>(std::make_unique<SqliteStore>(dir, std::move(db), std::move(lock), std::nullopt));
}

Result<std::unique_ptr<Store>> Store::open(const fs::path& dir, bool read_only) {
  std::error_code ec;
  if (!fs::is_directory(dir, ec)) return Error{Errc::invalid_input, dir.string() + " is not a run: no such directory", "", ""};
  if (!fs::exists(dir / kDatabase, ec))
    return Error{Errc::invalid_input, dir.string() + " is not a run: it holds no " + kDatabase,
                 "give a run directory that `cutegen optimize` made", ""};
  return read_only ? open_for_reading(dir) : open_for_writing(dir);
}

}  // namespace cutegen
