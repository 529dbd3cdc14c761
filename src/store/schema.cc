#include "store/schema.h"

#include <iterator>
#include <string>

#include "store/store.h"

namespace cutegen {
namespace {

// Step i leads from version i to version i + 1. Never edited once released: old databases were made by them.
const char* const kSteps[] = {
    // 1: a run is facts, nodes and a log of events.
    R"sql(
CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;
CREATE TABLE nodes (
  id INTEGER PRIMARY KEY,
  parent INTEGER NOT NULL,
  origin TEXT NOT NULL,
  rationale TEXT NOT NULL,
  candidate_hash TEXT NOT NULL,
  source_object TEXT NOT NULL,
  candidate TEXT NOT NULL,
  proposed_utc TEXT NOT NULL,
  verdict TEXT,
  seconds REAL NOT NULL DEFAULT 0,
  finished_utc TEXT
) STRICT;
CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  utc TEXT NOT NULL,
  kind TEXT NOT NULL,
  detail TEXT NOT NULL
) STRICT;
)sql",
    // 2: duplicates by compiled code, and the time that each session spent (before, only the nodes' seconds were known).
    R"sql(
ALTER TABLE nodes ADD COLUMN ptx_hash TEXT;
ALTER TABLE nodes ADD COLUMN duplicate_of INTEGER;
CREATE TABLE sessions (
  id INTEGER PRIMARY KEY,
  started_utc TEXT NOT NULL,
  facts TEXT NOT NULL,
  seconds REAL NOT NULL DEFAULT 0
) STRICT;
INSERT INTO sessions (started_utc, facts, seconds)
  SELECT MIN(proposed_utc), '{}', SUM(seconds) FROM nodes HAVING COUNT(*) > 0;
)sql",
};
static_assert(std::size(kSteps) == Store::kSchemaVersion);

Result<void> apply_steps(sqlite::Db& db, int from, int to) {
  for (int version = from; version < to; ++version) {
    CUTEGEN_TRY(auto transaction, sqlite::Transaction::begin(db));
    CUTEGEN_CHECK(db.exec(kSteps[version]));
    CUTEGEN_CHECK(db.exec("PRAGMA application_id = " + std::to_string(kRunApplicationId)));
    CUTEGEN_CHECK(db.exec("PRAGMA user_version = " + std::to_string(version + 1)));
    CUTEGEN_CHECK(transaction.commit());
  }
  return {};
}

}  // namespace

Result<void> create_schema(sqlite::Db& db, int version) { return apply_steps(db, 0, version); }

Result<int> schema_version(const sqlite::Db& db) {
  CUTEGEN_TRY(const int64_t application, db.integer("PRAGMA application_id"));
  if (application != kRunApplicationId)
    return Error{Errc::invalid_input, db.path().string() + " is not a run database: it is empty or belongs to another program",
                 "give a run directory that cutegen made", ""};
  CUTEGEN_TRY(const int64_t version, db.integer("PRAGMA user_version"));
  if (version > Store::kSchemaVersion)
    return Error{Errc::invalid_input,
                 db.path().string() + " has schema " + std::to_string(version) + ", newer than the " +
                     std::to_string(Store::kSchemaVersion) + " that this cutegen knows",
                 "use the cutegen that made the run, or a newer one", ""};
  if (version < 1)
    return Error{Errc::invalid_input, "the run database " + db.path().string() + " is damaged: schema " + std::to_string(version), "", ""};
  return static_cast<int>(version);
}

Result<void> upgrade_schema(sqlite::Db& db) {
  CUTEGEN_TRY(const int version, schema_version(db));
  return apply_steps(db, version, Store::kSchemaVersion);
}

}  // namespace cutegen
