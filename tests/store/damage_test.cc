// Databases that something happened to: each must open with what was committed, or say clearly why it cannot.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

#include "base/fs.h"
#include "base/hash.h"
#include "store/schema.h"
#include "store/store.h"

namespace cutegen {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::HasSubstr;

constexpr int kNodes = 40;

StoredNode node(int id) {
  StoredNode n;
  n.id = id;
  n.origin = "test";
  n.candidate_hash = hash_hex(std::to_string(id));
  n.source_object = n.candidate_hash;
  n.rationale = std::string(400, 'r');
  return n;
}

class DamageTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TempDir::make("damage-test-");
    ASSERT_TRUE(made.ok()) << made.error().message;
    temp_ = std::move(*made);
    run_ = temp_->path() / "run";
  }
  // A run that was closed in order: everything is in run.db.
  void closed_run() {
    auto store = Store::create(run_, {{"task", Json{{"name", "t"}}}});
    ASSERT_TRUE(store.ok()) << store.error().message;
    write_nodes(**store);
  }
  // A run as kill -9 leaves it: recent transactions are in the WAL only.
  void killed_run() {
    const fs::path live = temp_->path() / "live";
    auto store = Store::create(live, {{"task", Json{{"name", "t"}}}});
    ASSERT_TRUE(store.ok()) << store.error().message;
    write_nodes(**store);
    fs::create_directories(run_);
    for (const char* name : {"run.db", "run.db-wal"}) fs::copy_file(live / name, run_ / name);
  }
  static void write_nodes(Store& store) {
    for (int i = 0; i < kNodes; ++i) {
      ASSERT_TRUE(store.add_node(node(i)).ok());
      ASSERT_TRUE(store.finish_node(i, Json{{"i", i}}, 0.1).ok());
    }
  }
  std::string bytes(const char* name) { return *read_file(run_ / name); }
  void put(const char* name, std::string_view content) { ASSERT_TRUE(write_file_atomic(run_ / name, content).ok()); }

  std::optional<TempDir> temp_;
  fs::path run_;
};

TEST_F(DamageTest, ATruncatedDatabaseIsRefusedWithAClearMessage) {
  closed_run();
  const std::string whole = bytes("run.db");
  SplitMix64 random(11);
  for (int i = 0; i < 30; ++i) {
    const size_t keep = i == 0 ? 0 : i == 1 ? whole.size() - 1 : random.below(whole.size());
    for (const char* sidecar : {"run.db-wal", "run.db-shm"}) fs::remove(run_ / sidecar);
    put("run.db", whole.substr(0, keep));
    for (const bool read_only : {true, false}) {
      auto store = Store::open(run_, read_only);
      ASSERT_FALSE(store.ok()) << "opened after truncation to " << keep << " of " << whole.size();
      EXPECT_THAT(store.error().message, AnyOf(HasSubstr("is damaged"), HasSubstr("is not a run database"))) << keep;
      EXPECT_EQ(store.error().code, Errc::invalid_input);
      EXPECT_FALSE(store.error().hint.empty());
    }
  }
}

TEST_F(DamageTest, ATruncatedWalLosesTheLastTransactionsOnly) {
  killed_run();
  const std::string db = bytes("run.db");
  const std::string wal = bytes("run.db-wal");
  ASSERT_GT(wal.size(), 100'000u);
  SplitMix64 random(12);
  size_t shortest = kNodes;
  for (int i = 0; i < 30; ++i) {
    const size_t keep = i == 0 ? 0 : random.below(wal.size());
    for (const char* sidecar : {"run.db-wal", "run.db-shm"}) fs::remove(run_ / sidecar);
    put("run.db", db);
    put("run.db-wal", wal.substr(0, keep));
    auto store = Store::open(run_, false);
    ASSERT_TRUE(store.ok()) << keep << ": " << store.error().message;
    const auto nodes = *(*store)->nodes();
    for (size_t k = 0; k < nodes.size(); ++k) {
      EXPECT_EQ(nodes[k].id, static_cast<int>(k));
      if (k + 1 < nodes.size()) {
        ASSERT_TRUE(nodes[k].verdict.has_value());
        EXPECT_EQ((*nodes[k].verdict)["i"], static_cast<int>(k));
      }
    }
    shortest = std::min(shortest, nodes.size());
  }
  EXPECT_LT(shortest, static_cast<size_t>(kNodes)) << "no truncation lost anything: the WAL was not what is tested";
}

TEST_F(DamageTest, BytesFlippedInTheDatabaseNeverCrash) {
  closed_run();
  const std::string whole = bytes("run.db");
  SplitMix64 random(13);
  int refused = 0;
  for (int i = 0; i < 60; ++i) {
    std::string hurt = whole;
    for (int k = 0; k < 40; ++k) hurt[random.below(hurt.size())] = static_cast<char>(random.next());
    for (const char* sidecar : {"run.db-wal", "run.db-shm"}) fs::remove(run_ / sidecar);
    put("run.db", hurt);
    auto store = Store::open(run_, true);
    if (!store.ok()) {
      ++refused;
      EXPECT_FALSE(store.error().message.empty());
      continue;
    }
    const auto nodes = (*store)->nodes();  // damage inside a value is not structural: read or refused, never undefined
    if (!nodes.ok()) {
      EXPECT_THAT(nodes.error().message, HasSubstr("run"));
    }
  }
  EXPECT_GT(refused, 30);
}

TEST_F(DamageTest, AForeignFileIsNoRunDatabase) {
  fs::create_directories(run_);
  put("run.db", "this is not a database, it is a letter to a friend of mine");
  for (const bool read_only : {true, false}) EXPECT_THAT(Store::open(run_, read_only).error().message, HasSubstr("is not a run database"));
}

TEST_F(DamageTest, AForeignSqliteDatabaseIsNoRunAndIsLeftAlone) {
  fs::create_directories(run_);
  {
    auto db = sqlite::Db::open(run_ / "run.db", sqlite::Db::Mode::create);
    ASSERT_TRUE(db.ok());
    ASSERT_TRUE(db->exec("CREATE TABLE recipes (name TEXT); INSERT INTO recipes VALUES ('soup')").ok());
  }
  const std::string before = bytes("run.db");
  for (const bool read_only : {true, false})
    EXPECT_THAT(Store::open(run_, read_only).error().message, HasSubstr("belongs to another program"));
  EXPECT_EQ(bytes("run.db"), before);
}

TEST_F(DamageTest, ANewerSchemaIsRefused) {
  closed_run();
  {
    auto db = sqlite::Db::open(run_ / "run.db", sqlite::Db::Mode::read_write);
    ASSERT_TRUE(db->exec("PRAGMA user_version = 99").ok());
  }
  auto store = Store::open(run_, true);
  ASSERT_FALSE(store.ok());
  EXPECT_THAT(store.error().message, HasSubstr("schema 99, newer than"));
}

// Schema 1 as the first cutegen made it.
void make_version_1(const fs::path& run) {
  fs::create_directories(run);
  auto db = sqlite::Db::open(run / "run.db", sqlite::Db::Mode::create);
  ASSERT_TRUE(db.ok());
  ASSERT_TRUE(create_schema(*db, 1).ok());
  ASSERT_TRUE(
      db->exec("INSERT INTO meta VALUES ('task', '{\"name\":\"old\"}');"
               "INSERT INTO nodes (id, parent, origin, rationale, candidate_hash, source_object, candidate, proposed_utc, verdict, seconds)"
               " VALUES (0, -1, 'o', 'r', 'c', 's', '{}', '2026-01-01T00:00:00Z', '{\"reached\":\"timed\"}', 2.5),"
               "        (1, 0, 'o', 'r', 'c', 's', '{}', '2026-01-01T00:01:00Z', NULL, 0);")
          .ok());
}

TEST_F(DamageTest, AnOlderSchemaIsUpgradedAndKeepsItsContent) {
  make_version_1(run_);
  for (int i = 0; i < 2; ++i) {
    auto store = Store::open(run_, false);
    ASSERT_TRUE(store.ok()) << store.error().message;
    const auto nodes = *(*store)->nodes();
    ASSERT_EQ(nodes.size(), 2u);
    EXPECT_EQ(nodes[0].seconds, 2.5);
    EXPECT_EQ(nodes[0].ptx_hash, "");
    EXPECT_FALSE(nodes[1].verdict.has_value());
    EXPECT_DOUBLE_EQ(*(*store)->seconds_spent(), 2.5);
    EXPECT_EQ((*store)->meta("task")->value()["name"], "old");
  }
  auto db = sqlite::Db::open(run_ / "run.db", sqlite::Db::Mode::read_only);
  EXPECT_EQ(*schema_version(*db), Store::kSchemaVersion);
}

TEST_F(DamageTest, AnOlderSchemaIsReadWithoutChangingIt) {
  make_version_1(run_);
  {
    auto store = Store::open(run_, true);
    ASSERT_TRUE(store.ok()) << store.error().message;
    EXPECT_EQ((*store)->nodes()->size(), 2u);
    EXPECT_DOUBLE_EQ(*(*store)->seconds_spent(), 2.5);
  }
  auto db = sqlite::Db::open(run_ / "run.db", sqlite::Db::Mode::read_only);
  EXPECT_EQ(*schema_version(*db), 1);
}

// Acts as an unprivileged user while it lives, so that file permissions count for root too.
class Unprivileged {
 public:
  Unprivileged() : was_(::geteuid()) {
    if (was_ == 0) works_ = ::seteuid(65534) == 0;
  }
  ~Unprivileged() {
    if (was_ == 0 && ::seteuid(0) != 0) ADD_FAILURE() << "cannot become root again";
  }
  bool works() const { return works_; }

 private:
  uid_t was_;
  bool works_ = true;
};

TEST_F(DamageTest, AReadOnlyDirectoryCanBeReadAndNotWritten) {
  killed_run();
  ASSERT_EQ(::chmod(temp_->path().c_str(), 0755), 0);
  for (const auto& entry : fs::directory_iterator(run_)) ::chmod(entry.path().c_str(), 0444);
  ASSERT_EQ(::chmod(run_.c_str(), 0555), 0);
  {
    const Unprivileged user;
    if (!user.works()) GTEST_SKIP() << "cannot become an unprivileged user here";
    auto reader = Store::open(run_, true);
    ASSERT_TRUE(reader.ok()) << reader.error().message;
    EXPECT_EQ((*reader)->nodes()->size(), static_cast<size_t>(kNodes)) << "the WAL must be read too";
    auto writer = Store::open(run_, false);
    ASSERT_FALSE(writer.ok());
    EXPECT_THAT(writer.error().message, HasSubstr("cannot write to run directory"));
    auto created = Store::create(run_ / "new");
    ASSERT_FALSE(created.ok());
    EXPECT_THAT(created.error().message, HasSubstr("cannot create run directory"));
  }
  ::chmod(run_.c_str(), 0755);
}

// Limits the size of files that this process may write: the nearest thing to a full disk that needs no privileges.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    was_handler_ = ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &was_);
    rlimit now = was_;
    now.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &was_);
    ::signal(SIGXFSZ, was_handler_);
  }

 private:
  rlimit was_{};
  sighandler_t was_handler_;
};

TEST_F(DamageTest, WhenNoMoreCanBeWrittenNothingEarlierIsLost) {
  auto store = Store::create(run_);
  ASSERT_TRUE(store.ok());
  int written = 0;
  {
    const FileSizeLimit limit(300'000);
    for (; written < 10'000; ++written) {
      auto added = (*store)->add_node(node(written));
      if (added.ok()) continue;
      EXPECT_EQ(added.error().code, Errc::io);
      EXPECT_THAT(added.error().message, HasSubstr("run.db"));
      break;
    }
    EXPECT_FALSE((*store)->put_object(std::string(1'000'000, 'x')).ok());
  }
  ASSERT_GT(written, 10);
  ASSERT_LT(written, 10'000);
  EXPECT_TRUE((*store)->add_node(node(written)).ok()) << "goes on once there is room";
  store->reset();
  auto again = Store::open(run_, false);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ((*again)->nodes()->size(), static_cast<size_t>(written) + 1);
}

}  // namespace
}  // namespace cutegen
