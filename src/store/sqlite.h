// A thin, owning face on SQLite's C interface (https://www.sqlite.org/c3ref/intro.html): errors become Results, handles close themselves.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cutegen::sqlite {

// One connection, used by one thread at a time.
class Db {
 public:
  enum class Mode { create, read_write, read_only };
  static Result<Db> open(const std::filesystem::path& path, Mode mode);

  Result<void> exec(const std::string& sql);
  // First column of the first row.
  Result<int64_t> integer(const std::string& sql) const;
  Result<std::string> text(const std::string& sql) const;

  sqlite3* handle() const { return db_.get(); }
  const std::filesystem::path& path() const { return path_; }
  // The connection's last failure. A damaged or foreign file is Errc::invalid_input, everything else Errc::io.
  Error error(const std::string& doing) const;

 private:
  struct Close {
    void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
  };
  std::unique_ptr<sqlite3, Close> db_;
  std::filesystem::path path_;
};

// A prepared statement. Parameters are numbered from 1 in the order of the bind() calls, columns from 0.
class Statement {
 public:
  static Result<Statement> prepare(const Db& db, const char* sql);
  Statement& bind(int64_t value);
  Statement& bind(double value);
  Statement& bind(std::string_view value);
  Statement& bind_null();
  // True while there is a row.
  Result<bool> step();
  // Steps to the end; for statements without rows.
  Result<void> finish();

  bool is_null(int column) const;
  int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }
  };
  const Db* db_ = nullptr;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bound_ = 0;
};

// BEGIN IMMEDIATE now, ROLLBACK when it goes without commit(). Lives shorter than its Db.
class Transaction {
 public:
  static Result<Transaction> begin(Db& db);
  Transaction(Transaction&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Result<void> commit();

 private:
  explicit Transaction(Db* db) : db_(db) {}
  Db* db_;
};

}  // namespace cutegen::sqlite
