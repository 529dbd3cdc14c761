// The schema of run.db, as numbered steps. A new version appends one step and a test that opens a database of the version before.
#pragma once

#include "store/sqlite.h"

namespace cutegen {

// PRAGMA application_id of every run database ("CuTG"), so that a foreign SQLite file is told from a run.
inline constexpr int64_t kRunApplicationId = 0x43755447;

// Creates the tables of `version` in an empty database (tests make old ones; Store makes the newest).
Result<void> create_schema(sqlite::Db& db, int version);
// Schema version of a run database. Errc::invalid_input when it is none, or newer than this cutegen.
Result<int> schema_version(const sqlite::Db& db);
// Brings the database to the newest version, one transaction a step.
Result<void> upgrade_schema(sqlite::Db& db);

}  // namespace cutegen
