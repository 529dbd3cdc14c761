#include "toolchain/build_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>

namespace cutegen {
namespace {

namespace fs = std::filesystem;

const std::string kKey(64, 'a');

class BuildCacheTest : public testing::Test {
 protected:
  BuildCacheTest() : dir_(*TempDir::make("build-cache-")), cache_(dir_.path()) {}
  CacheEntry publish(const std::string& content) {
    auto entry = cache_.publish(kKey, Json{{"ok", true}}, {{"a.txt", content}, {"b.txt", "b"}});
    EXPECT_TRUE(entry.ok()) << entry.error().message;
    return *entry;
  }
  TempDir dir_;
  BuildCache cache_;
};

TEST_F(BuildCacheTest, FindsWhatWasPublished) {
  EXPECT_FALSE(cache_.find(kKey).has_value());
  publish("content");
  const auto found = cache_.find(kKey);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->files.at("a.txt"), "content");
  EXPECT_EQ(found->facts.at("ok"), true);
  EXPECT_FALSE(cache_.find(std::string(64, 'b')).has_value());
  EXPECT_TRUE(fs::is_empty(dir_.path() / "tmp"));
}

TEST_F(BuildCacheTest, ADamagedEntryIsAbsentAndCanBeReplaced) {
  const fs::path dir = publish("content").dir;
  const auto damage = [&](const char* file, const std::string& text) { std::ofstream(dir / file) << text; };
  damage("a.txt", "conten!");
  EXPECT_FALSE(cache_.find(kKey).has_value());
  publish("content");
  EXPECT_TRUE(cache_.find(kKey).has_value());
  damage("a.txt", "");
  EXPECT_FALSE(cache_.find(kKey).has_value());
  publish("content");
  fs::remove(dir / "b.txt");
  EXPECT_FALSE(cache_.find(kKey).has_value());
  publish("content");
  damage("manifest.json", "{");
  EXPECT_FALSE(cache_.find(kKey).has_value());
  publish("content");
  // A manifest whose facts were changed does not fit its own check.
  auto manifest = read_json_file(dir / "manifest.json");
  ASSERT_TRUE(manifest.ok());
  (*manifest)["facts"]["ok"] = false;
  damage("manifest.json", manifest->dump());
  EXPECT_FALSE(cache_.find(kKey).has_value());
  publish("other");
  EXPECT_EQ(cache_.find(kKey)->files.at("a.txt"), "other");
}

TEST_F(BuildCacheTest, LockExcludesAndTimesOut) {
  auto held = cache_.lock(kKey, Deadline::never(), system_clock());
  ASSERT_TRUE(held.ok());
  const auto second = cache_.lock(kKey, Deadline::in(system_clock(), Seconds(0.02)), system_clock());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Errc::timeout);
  EXPECT_TRUE(cache_.lock(std::string(64, 'b'), Deadline::never(), system_clock()).ok());
  held->reset();
  EXPECT_TRUE(cache_.lock(kKey, Deadline::in(system_clock(), Seconds(5)), system_clock()).ok());
}

TEST_F(BuildCacheTest, AKilledBuilderBlocksNobody) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const int child = fork();
  if (child == 0) {
    const auto held = cache_.lock(kKey, Deadline::never(), system_clock());
    [[maybe_unused]] const ssize_t n = write(ready[1], held.ok() ? "y" : "n", 1);
    pause();
    _exit(0);
  }
  char answer = 0;
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  EXPECT_FALSE(cache_.lock(kKey, Deadline::in(system_clock(), Seconds(0.02)), system_clock()).ok());
  kill(child, SIGKILL);
  EXPECT_TRUE(cache_.lock(kKey, Deadline::in(system_clock(), Seconds(10)), system_clock()).ok());
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
}

TEST_F(BuildCacheTest, SweepsOldWorkOnly) {
  const fs::path old = dir_.path() / "tmp/build-old";
  const fs::path fresh = dir_.path() / "tmp/build-fresh";
  fs::create_directories(old / "sub");
  fs::create_directories(fresh);
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(2));
  cache_.sweep(Seconds(3600));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(fresh));
}

}  // namespace
}  // namespace cutegen
