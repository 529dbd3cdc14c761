#include "store/sqlite.h"

#include <utility>

namespace cutegen::sqlite {
namespace {

// A reader may have to wait while another connection recovers the WAL of a killed writer; nothing else ever blocks it.
constexpr int kBusyMilliseconds = 5000;

Error describe(sqlite3* db, int code, const std::filesystem::path& path, const std::string& doing) {
  const std::string said = db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code);
  switch (code & 0xff) {
    case SQLITE_NOTADB:
      return Error{Errc::invalid_input, path.string() + " is not a run database: " + said, "give a run directory that cutegen made", ""};
    case SQLITE_CORRUPT:
      return Error{Errc::invalid_input, "the run database " + path.string() + " is damaged: " + said,
                   "restore the run directory from a copy, or start the run again; the sources in objects/ can still be read as files", ""};
    case SQLITE_FULL:
      return Error{Errc::io, "cannot " + doing + " " + path.string() + ": the disk is full", "free some space, then resume the run", ""};
    default: return Error{Errc::io, "cannot " + doing + " " + path.string() + ": " + said, "", std::string(sqlite3_errstr(code))};
  }
}

}  // namespace

Error Db::error(const std::string& doing) const {
  // The extended code of an I/O failure says that the disk is full where the primary one does not.
  return describe(db_.get(), sqlite3_extended_errcode(db_.get()), path_, doing);
}

Result<Db> Db::open(const std::filesystem::path& path, Mode mode) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  flags |= mode == Mode::read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  if (mode == Mode::create) flags |= SQLITE_OPEN_CREATE;
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  Db db;
  db.db_.reset(raw);
  db.path_ = path;
  if (code != SQLITE_OK) return describe(raw, code, path, "open");
  sqlite3_busy_timeout(raw, kBusyMilliseconds);
  return db;
}

Result<void> Db::exec(const std::string& sql) {
  if (sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return error("write to");
  return {};
}

Result<int64_t> Db::integer(const std::string& sql) const {
  CUTEGEN_TRY(Statement statement, Statement::prepare(*this, sql.c_str()));
  CUTEGEN_TRY(const bool row, statement.step());
  if (!row) return Error{Errc::internal, "no row from: " + sql, "", ""};
  return statement.integer(0);
}

Result<std::string> Db::text(const std::string& sql) const {
  CUTEGEN_TRY(Statement statement, Statement::prepare(*this, sql.c_str()));
  CUTEGEN_TRY(const bool row, statement.step());
  if (!row) return Error{Errc::internal, "no row from: " + sql, "", ""};
  return statement.text(0);
}

Result<Statement> Statement::prepare(const Db& db, const char* sql) {
  Statement statement;
  statement.db_ = &db;
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(db.handle(), sql, -1, &raw, nullptr) != SQLITE_OK) return db.error("query");
  statement.statement_.reset(raw);
  return statement;
}

Statement& Statement::bind(int64_t value) {
  sqlite3_bind_int64(statement_.get(), ++bound_, value);
  return *this;
}

Statement& Statement::bind(double value) {
  sqlite3_bind_double(statement_.get(), ++bound_, value);
  return *this;
}

Statement& Statement::bind(std::string_view value) {
  sqlite3_bind_text64(statement_.get(), ++bound_, value.data() != nullptr ? value.data() : "", value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}

Statement& Statement::bind_null() {
  sqlite3_bind_null(statement_.get(), ++bound_);
  return *this;
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return db_->error(sqlite3_stmt_readonly(statement_.get()) != 0 ? "read" : "write to");
}

Result<void> Statement::finish() {
  for (;;) {
    CUTEGEN_TRY(const bool row, step());
    if (!row) return {};
  }
}

bool Statement::is_null(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }
int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
double Statement::real(int column) const { return sqlite3_column_double(statement_.get(), column); }

std::string Statement::text(int column) const {
  const auto* bytes = sqlite3_column_text(statement_.get(), column);
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const char*>(bytes), static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

Result<Transaction> Transaction::begin(Db& db) {
  CUTEGEN_CHECK(db.exec("BEGIN IMMEDIATE"));
  return Transaction(&db);
}

Transaction::~Transaction() {
  if (db_ != nullptr) sqlite3_exec(db_->handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

Result<void> Transaction::commit() {
  CUTEGEN_CHECK(db_->exec("COMMIT"));  // on failure the destructor rolls back
  db_ = nullptr;
  return {};
}

}  // namespace cutegen::sqlite
