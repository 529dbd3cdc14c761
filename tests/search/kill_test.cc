// kill -9 at random moments of a run, each followed by a resume to the end: the result must be that of an undisturbed run, and nothing may
// be left behind.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "base/fs.h"
#include "base/hash.h"
#include "store/sqlite.h"
#include "store/store.h"

extern char** environ;

namespace cutegen {
namespace {

namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

constexpr int kKills = 50;

// Runs of fake_run_main, all under one tag.
class KillTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TempDir::make("kill-test-");
    ASSERT_TRUE(made.ok());
    temp_ = std::move(*made);
  }
  void TearDown() override {
    for (const int pid : tagged()) ::kill(pid, SIGKILL);  // only after a failed expectation
  }

  int start(const fs::path& run) {
    std::string program = FAKE_RUN_MAIN, dir = run.string();
    char* argv[] = {program.data(), dir.data(), tag_.data(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, (run.string() + ".out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    posix_spawn_file_actions_addopen(&actions, 2, (run.string() + ".err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    int pid = -1;
    EXPECT_EQ(::posix_spawn(&pid, program.c_str(), &actions, nullptr, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    return pid;
  }
  // True when the kill found it running.
  bool kill_after(int pid, SteadyClock::duration delay) {
    std::this_thread::sleep_for(delay);
    ::kill(pid, SIGKILL);
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFSIGNALED(status);
  }
  std::string finish(const fs::path& run) {
    int status = 0;
    ::waitpid(start(run), &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << *read_file(run.string() + ".err");
    return *read_file(run.string() + ".out");
  }
  // Processes whose command line has the tag: the run, its guards, children and grandchildren.
  std::vector<int> tagged() const {
    std::vector<int> pids;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const int pid = std::atoi(entry.path().filename().c_str());
      if (pid <= 0) continue;
      const auto line = read_file(entry.path() / "cmdline");
      if (line.ok() && line->find(tag_) != std::string::npos) pids.push_back(pid);
    }
    return pids;
  }
  void expect_no_orphans() const {
    for (int i = 0; i < 1000 && !tagged().empty(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(tagged().empty()) << tagged().size() << " processes outlived the run";
  }
  void expect_sound(const fs::path& run) const {
    {
      auto db = sqlite::Db::open(run / "run.db", sqlite::Db::Mode::read_write);
      ASSERT_TRUE(db.ok()) << db.error().message;
      EXPECT_EQ(*db->text("PRAGMA integrity_check"), "ok");
    }
    auto store = Store::open(run, false);
    ASSERT_TRUE(store.ok()) << "a lock was left: " << store.error().message;
    const auto nodes = *(*store)->nodes();
    for (const StoredNode& node : nodes) {
      const auto object = (*store)->object(node.source_object);
      EXPECT_TRUE(object.ok()) << object.error().message;
    }
    for (const auto& entry : fs::recursive_directory_iterator(run / "objects")) {
      if (!entry.is_regular_file()) continue;
      EXPECT_EQ(hash_hex(*read_file(entry.path())), entry.path().filename().string());
    }
  }

  std::optional<TempDir> temp_;
  std::string tag_ = "kill-test-tag-" + std::to_string(::getpid());
};

TEST_F(KillTest, AResumedRunComesToTheSameResultWhereverItWasKilled) {
  const auto begin = SteadyClock::now();
  const std::string undisturbed = finish(temp_->path() / "undisturbed");
  const auto duration = SteadyClock::now() - begin;
  expect_no_orphans();
  ASSERT_NE(undisturbed.find("\"stopped\": \"proposer_done\""), std::string::npos) << undisturbed;
  ASSERT_NE(undisturbed.find("\"duplicate_of\": 0"), std::string::npos) << "duplicates must be part of the run";
  ASSERT_NE(undisturbed.find("\"reached\": \"timed\""), std::string::npos);

  SplitMix64 random(20261130);
  int kills = 0, kills_of_resumes = 0;
  std::map<size_t, int> nodes_at_kill;
  for (int i = 0; kills < kKills && i < 3 * kKills; ++i) {
    const fs::path run = temp_->path() / ("run" + std::to_string(i));
    // Spread evenly over the run, at random within each share.
    const double moment = (i % kKills + static_cast<double>(random.below(1000)) / 1000) / kKills;
    const auto after = [&](double share) { return std::chrono::duration_cast<SteadyClock::duration>(duration * share); };
    if (!kill_after(start(run), after(moment))) continue;
    ++kills;
    if (auto seen = Store::open(run, true); seen.ok()) ++nodes_at_kill[(*seen)->nodes()->size()];
    for (int again = i % 5 == 4 ? 2 : 0; again > 0; --again) {
      // The resume is killed too, at once after the kill before it.
      kills_of_resumes += kill_after(start(run), after(static_cast<double>(random.below(1000)) / 1500)) ? 1 : 0;
    }
    ASSERT_EQ(finish(run), undisturbed) << "killed after " << moment << " of the run";
    expect_sound(run);
    if (HasFailure()) return;
  }
  expect_no_orphans();
  EXPECT_EQ(kills, kKills);
  EXPECT_GE(kills_of_resumes, 5);
  EXPECT_GE(nodes_at_kill.size(), 6u) << "the kills were not spread over the run";
}

TEST_F(KillTest, ADifferentHistoryWouldBeNoticed) {
  // The comparison above is only worth something if the fake proposer reacts to what it is shown.
  const fs::path run = temp_->path() / "run";
  const std::string undisturbed = finish(run);
  const fs::path other = temp_->path() / "other";
  ASSERT_EQ(finish(other), undisturbed) << "two undisturbed runs agree";
  {
    auto db = sqlite::Db::open(other / "run.db", sqlite::Db::Mode::read_write);
    ASSERT_TRUE(db->exec("DELETE FROM nodes WHERE id > 5; DELETE FROM meta WHERE key = 'result';"
                         "UPDATE nodes SET verdict = json_set(verdict, '$.why', 'something else') WHERE id = 1")
                    .ok());
  }
  EXPECT_NE(finish(other), undisturbed);
}

}  // namespace
}  // namespace cutegen
