// kill -9 of the real program at random moments, then resume: the result must be that of an undisturbed run, and nothing may be left
// behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <regex>
#include <thread>

#include "base/hash.h"
#include "e2e/program.h"
#include "store/sqlite.h"
#include "store/store.h"

namespace cutegen {
namespace {

namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

constexpr int kKills = 5;

class KillProgramTest : public ProgramTest {
 protected:
  void TearDown() override {
    for (const int pid : processes()) ::kill(pid, SIGKILL);  // only after a failed expectation
  }
  std::vector<std::string> optimize(const std::string& run) const {
    return {"optimize", task("row_softmax"), "--device", "virtual", "--max-candidates", "3", "--seed", "7", "--fresh", "--run", run,
            "--json"};
  }
  // Starts the run and kills it after `delay`. The processes that lived then, its children among them; empty when it ended before.
  std::set<int> kill_after(const std::string& run, const std::string& cache, SteadyClock::duration delay) const {
    std::vector<std::string> arguments = optimize(run);
    arguments.insert(arguments.begin(), CUTEGEN_BINARY);
    const int pid = ::fork();
    if (pid == 0) {
      for (const auto& [name, value] : environment(cache)) ::setenv(name.c_str(), value.c_str(), 1);
      if (::chdir(path("").c_str()) != 0 || !::freopen("/dev/null", "w", stdout) || !::freopen("/dev/null", "w", stderr)) ::_exit(126);
      std::vector<char*> argv;
      for (std::string& argument : arguments) argv.push_back(argument.data());
      argv.push_back(nullptr);
      ::execv(CUTEGEN_BINARY, argv.data());
      ::_exit(127);
    }
    std::this_thread::sleep_for(delay);
    std::set<int> alive = processes();
    ::kill(pid, SIGKILL);
    int status = 0;
    ::waitpid(pid, &status, 0);
    if (!WIFSIGNALED(status)) alive.clear();
    return alive;
  }
  void expect_no_process_left() const {
    for (int i = 0; i < 500 && !processes().empty(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    for (const int pid : processes()) {
      auto line = read_file("/proc/" + std::to_string(pid) + "/cmdline");
      ADD_FAILURE() << "process " << pid << " outlived the run: " << (line.ok() ? line->c_str() : "");
    }
  }
  static void expect_no_shared_memory_of(const std::set<int>& dead) {
    const std::regex ours("cutegen-([0-9]+)-.*");
    for (const auto& entry : fs::directory_iterator("/dev/shm")) {
      const std::string name = entry.path().filename();
      std::smatch match;
      if (!std::regex_match(name, match, ours)) continue;
      EXPECT_FALSE(dead.contains(std::stoi(match[1]))) << name << " was left";
    }
  }
  // What must not depend on kills: the nodes in order, with how far each came, and the best.
  static Json essence(const Json& result) {
    Json nodes = Json::array();
    for (const Json& node : result["nodes"]) nodes.push_back({node["candidate_hash"], node["parent"], node["reached"], node["ms"]});
    return {{"best", result["best"]["node"]}, {"nodes", nodes}, {"verified", result["verified"]}, {"stopped", result["stopped"]}};
  }
  void expect_sound(const std::string& run) const {
    auto db = sqlite::Db::open(path(run) / "run.db", sqlite::Db::Mode::read_write);
    ASSERT_TRUE(db.ok()) << db.error().message;
    EXPECT_EQ(*db->text("PRAGMA integrity_check"), "ok");
  }
};

TEST_F(KillProgramTest, AResumedRunComesToTheSameResult) {
  // Without builds at hand the kills hit compilers too.
  const auto cold_start = SteadyClock::now();
  const Finished cold = cutegen(optimize("cold"), "cold_cache");
  if (cold.status.code == 3) GTEST_SKIP() << cold.err;
  ASSERT_EQ(cold.status.code, 0) << cold.err;
  const auto cold_time = SteadyClock::now() - cold_start;
  const Json undisturbed = essence(json_of(cold));
  ASSERT_EQ(undisturbed["nodes"].size(), 3u);
  ASSERT_EQ(undisturbed["verified"], true);

  SplitMix64 random(20261130);
  int kills_of_begun = 0;
  for (int i = 0; i < kKills; ++i) {
    const std::string run = "run" + std::to_string(i);
    const std::string cache = "cache_of_" + run;
    const double moment = (i + static_cast<double>(random.below(1000)) / 1000) / kKills;
    SCOPED_TRACE("killed after " + std::to_string(moment) + " of the run");
    const std::set<int> killed = kill_after(run, cache, std::chrono::duration_cast<SteadyClock::duration>(cold_time * moment));
    expect_no_process_left();
    // A run that was not made yet is begun again; its directory, made already perhaps, is no obstacle.
    const bool begun = fs::exists(path(run) / "run.db");
    kills_of_begun += begun && !killed.empty() ? 1 : 0;
    const Finished finished = cutegen(begun ? std::vector<std::string>{"resume", run, "--fresh", "--json"} : optimize(run), cache);
    ASSERT_EQ(finished.status.code, 0) << finished.err;
    EXPECT_EQ(essence(json_of(finished)), undisturbed);
    expect_sound(run);
    expect_no_process_left();
    expect_no_shared_memory_of(killed);
    if (HasFailure()) return;
  }
  EXPECT_GE(kills_of_begun, 3) << "the kills were not spread over the run";
}

}  // namespace
}  // namespace cutegen
