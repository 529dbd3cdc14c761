#include "store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "base/fs.h"
#include "base/hash.h"
#include "store/schema.h"

namespace cutegen {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

StoredNode node(int id, const std::string& hash = "c0") {
  StoredNode n;
  n.id = id;
  n.parent = id - 1;
  n.origin = "test:move";
  n.rationale = "because";
  n.candidate_hash = hash;
  n.source_object = hash_hex("source " + std::to_string(id));
  n.candidate = Json{{"backend", "cute"}, {"config", {{"vec", 4}}}};
  return n;
}

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TempDir::make("store-test-");
    ASSERT_TRUE(made.ok()) << made.error().message;
    temp_ = std::move(*made);
    run_ = temp_->path() / "run";
  }
  std::unique_ptr<Store> create(const Meta& meta = {}) { return must(Store::create(run_, meta)); }
  std::unique_ptr<Store> open(bool read_only = false) { return must(Store::open(run_, read_only)); }
  static std::unique_ptr<Store> must(Result<std::unique_ptr<Store>> store) {
    if (store.ok()) return std::move(*store);
    ADD_FAILURE() << store.error().message;
    return nullptr;
  }
  void fill(int count) {
    auto store = create({{"task", Json{{"name", "t"}}}});
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(store->add_node(node(i)).ok());
      ASSERT_TRUE(store->finish_node(i, Json{{"reached", "timed"}}, 0.5).ok());
    }
  }

  std::optional<TempDir> temp_;
  fs::path run_;
};

TEST_F(StoreTest, EverythingWrittenIsReadBack) {
  {
    auto store = create({{"task", Json{{"name", "relu"}}}});
    ASSERT_TRUE(store->set_meta("config", Json{{"seed", 1}}).ok());
    ASSERT_TRUE(store->set_meta("config", Json{{"seed", 2}}).ok());
    ASSERT_TRUE(store->add_node(node(0)).ok());
    ASSERT_TRUE(store->finish_node(0, Json{{"reached", "timed"}}, 1.25, {"p0", std::nullopt}).ok());
    ASSERT_TRUE(store->add_node(node(1)).ok());
    ASSERT_TRUE(store->finish_node(1, Json{{"reached", "built"}}, 0.5, {"p0", 0}).ok());
    ASSERT_TRUE(store->add_node(node(2)).ok());
    ASSERT_TRUE(store->append_event("note", Json{{"text", "hello"}}).ok());
    ASSERT_EQ(*store->put_object("source text"), hash_hex("source text"));
  }
  auto store = open();
  EXPECT_EQ(store->meta("task")->value()["name"], "relu");
  EXPECT_EQ(store->meta("config")->value()["seed"], 2);
  EXPECT_FALSE(store->meta("absent")->has_value());
  const auto nodes = *store->nodes();
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(nodes[0].rationale, "because");
  EXPECT_EQ(nodes[0].candidate["config"]["vec"], 4);
  EXPECT_EQ((*nodes[0].verdict)["reached"], "timed");
  EXPECT_EQ(nodes[0].seconds, 1.25);
  EXPECT_EQ(nodes[0].ptx_hash, "p0");
  EXPECT_FALSE(nodes[0].duplicate_of.has_value());
  EXPECT_EQ(nodes[1].duplicate_of, 0);
  EXPECT_FALSE(nodes[2].verdict.has_value()) << "in flight when the run stopped";
  ASSERT_EQ(store->events()->size(), 1u);
  EXPECT_EQ((*store->events())[0].detail["text"], "hello");
  EXPECT_EQ(*store->object(hash_hex("source text")), "source text");
}

TEST_F(StoreTest, SecondsOfAllSessionsAreSummed) {
  {
    auto store = create();
    EXPECT_FALSE(store->spend(1).ok()) << "no session yet";
    ASSERT_TRUE(store->begin_session(Json::object()).ok());
    ASSERT_TRUE(store->spend(1.5).ok());
    ASSERT_TRUE(store->spend(2.5).ok());
  }
  auto store = open();
  ASSERT_TRUE(store->begin_session(Json::object()).ok());
  ASSERT_TRUE(store->spend(4).ok());
  EXPECT_DOUBLE_EQ(*store->seconds_spent(), 6.5);
}

TEST_F(StoreTest, IsWalWithFullSynchronisation) {
  fill(1);
  auto db = sqlite::Db::open(run_ / "run.db", sqlite::Db::Mode::read_only);
  ASSERT_TRUE(db.ok());
  EXPECT_EQ(*db->text("PRAGMA journal_mode"), "wal");
  EXPECT_EQ(*db->integer("PRAGMA application_id"), kRunApplicationId);
}

TEST_F(StoreTest, NodeNumbersAreUsedOnce) {
  auto store = create();
  ASSERT_TRUE(store->add_node(node(0)).ok());
  EXPECT_FALSE(store->add_node(node(0)).ok());
  EXPECT_FALSE(store->finish_node(7, Json::object(), 0).ok()) << "a node that was never added";
}

TEST_F(StoreTest, ADirectoryWithARunIsNotCreatedAgain) {
  fill(1);
  auto again = Store::create(run_);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Errc::invalid_input);
  EXPECT_THAT(again.error().message, HasSubstr("already holds a run"));
}

TEST_F(StoreTest, ARunKilledDuringItsCreationIsNoRunAndCanBeCreated) {
  fs::create_directories(run_);
  ASSERT_TRUE(write_file_atomic(run_ / ".run.db.new", "half a database").ok());
  auto opened = Store::open(run_, true);
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(opened.error().message, HasSubstr("holds no run.db"));
  EXPECT_NE(create(), nullptr);
}

TEST_F(StoreTest, WhatIsNoRunIsSaid) {
  auto missing = Store::open(temp_->path() / "absent", false);
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message, HasSubstr("no such directory"));
  EXPECT_EQ(missing.error().code, Errc::invalid_input);
  ASSERT_TRUE(write_file_atomic(temp_->path() / "file", "x").ok());
  EXPECT_THAT(Store::create(temp_->path() / "file").error().message, HasSubstr("not a directory"));
}

TEST_F(StoreTest, ASecondWriterIsToldTheHoldersPid) {
  auto store = create();
  auto second = Store::open(run_, false);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Errc::io);
  EXPECT_THAT(second.error().message, HasSubstr("in use by process " + std::to_string(::getpid())));
  store.reset();
  EXPECT_NE(open(), nullptr) << "the lock goes with the store";
}

TEST_F(StoreTest, AWriterKilledInAnotherProcessLeavesNoLock) {
  fill(2);
  const int writer = ::fork();
  ASSERT_GE(writer, 0);
  if (writer == 0) {
    auto store = Store::open(run_, false);
    if (!store.ok() || !(*store)->add_node(node(2)).ok()) ::_exit(1);
    ::pause();
  }
  for (int i = 0; i < 500; ++i) {
    auto reader = Store::open(run_, true);
    ASSERT_TRUE(reader.ok()) << reader.error().message;
    if ((*reader)->nodes()->size() == 3) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  auto refused = Store::open(run_, false);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("in use by process " + std::to_string(writer)));
  ::kill(writer, SIGKILL);
  ::waitpid(writer, nullptr, 0);
  auto store = open();
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(store->nodes()->size(), 3u) << "what was committed before the kill";
}

TEST_F(StoreTest, ReadersWorkWhileAWriterWrites) {
  auto writer = create({{"task", Json{{"name", "t"}}}});
  auto early = open(true);
  ASSERT_TRUE(writer->add_node(node(0)).ok());
  auto late = open(true);
  EXPECT_EQ(early->nodes()->size(), 1u);
  EXPECT_EQ(late->nodes()->size(), 1u);
  EXPECT_TRUE(writer->add_node(node(1)).ok()) << "a reader must not block the writer";
  EXPECT_EQ(early->nodes()->size(), 2u);
}

TEST_F(StoreTest, ReadersCannotWrite) {
  fill(1);
  auto reader = open(true);
  EXPECT_FALSE(reader->set_meta("k", 1).ok());
  EXPECT_FALSE(reader->add_node(node(1)).ok());
  EXPECT_FALSE(reader->append_event("k", 1).ok());
  EXPECT_FALSE(reader->put_object("x").ok());
}

TEST_F(StoreTest, TextThatIsNotUtf8IsKeptReadable) {
  {
    auto store = create();
    StoredNode n = node(0);
    n.candidate = Json{{"config", std::string("\xff\xfe")}};
    ASSERT_TRUE(store->add_node(n).ok());
    ASSERT_TRUE(store->finish_node(0, Json{{"why", std::string("bad \xc3 byte")}}, 0).ok());
  }
  const auto nodes = open(true)->nodes();
  ASSERT_TRUE(nodes.ok()) << nodes.error().message;
  EXPECT_THAT((*nodes)[0].verdict->value("why", ""), HasSubstr("bad "));
}

TEST_F(StoreTest, ADamagedObjectIsToldFromAMissingOne) {
  auto store = create();
  const std::string hash = *store->put_object("a kernel");
  EXPECT_THAT(store->object(hash_hex("never stored")).error().message, HasSubstr("is missing"));
  ASSERT_TRUE(write_file_atomic(store->object_path(hash), "a kernl").ok());
  EXPECT_THAT(store->object(hash).error().message, HasSubstr("damaged"));
  EXPECT_EQ(*store->put_object("a kernel"), hash) << "putting it again repairs it";
  EXPECT_EQ(*store->object(hash), "a kernel");
  EXPECT_EQ(store->object("../../etc/passwd").error().code, Errc::invalid_input);
}

TEST_F(StoreTest, HalfWrittenObjectsOfAKilledWriterAreSwept) {
  fs::path aside;
  {
    auto store = create();
    const std::string hash = *store->put_object("a kernel");
    aside = store->object_path(hash).parent_path() / ("." + hash + ".1.0.tmp");
    ASSERT_TRUE(write_file_atomic(aside, "a ker").ok());
  }
  open(true);
  EXPECT_TRUE(fs::exists(aside)) << "a reader changes nothing";
  open(false);
  EXPECT_FALSE(fs::exists(aside));
}

}  // namespace
}  // namespace cutegen
