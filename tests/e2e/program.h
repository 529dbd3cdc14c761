// Starts the built program as a user would, in a folder of its own, and finds what it leaves behind.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/json.h"
#include "base/subprocess.h"

namespace cutegen {

// Every process of a test carries a mark in its environment, which children, compilers and Python inherit.
class ProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TempDir::make("e2e-test-");
    ASSERT_TRUE(made.ok());
    temp_ = std::move(*made);
    std::filesystem::create_directories(cache_dir() / "build");
    share_builds("cache");
  }
  std::filesystem::path path(const std::string& name) const { return temp_->path() / name; }
  // A cache `name` of this test's own, but for the builds, which all tests share.
  void share_builds(const std::string& name) {
    std::filesystem::create_directories(path(name));
    std::filesystem::create_directory_symlink(std::filesystem::absolute(cache_dir() / "build"), path(name) / "build");
  }
  std::map<std::string, std::string> environment(const std::string& cache = "cache") const {
    return {{"CUTEGEN_CACHE", path(cache).string()}, {"CUTEGEN_HOME", CUTEGEN_SOURCE_DIR}, {kMark, mark()}};
  }
  Finished cutegen(std::vector<std::string> arguments, const std::string& cache = "cache") const {
    arguments.insert(arguments.begin(), CUTEGEN_BINARY);
    auto finished = run({std::move(arguments), environment(cache), temp_->path(), ""}, Deadline::in(system_clock(), Seconds(300)));
    if (finished.ok()) return std::move(*finished);
    ADD_FAILURE() << finished.error().message;
    return {};
  }
  static Json json_of(const Finished& finished) {
    auto said = parse_json(finished.out, "stdout");
    if (said.ok()) return std::move(*said);
    ADD_FAILURE() << said.error().message << ": " << finished.out << finished.err;
    return Json::object();
  }
  static std::string task(const std::string& name) { return CUTEGEN_SOURCE_DIR "/tasks/" + name + ".py"; }

  // Live processes that this test has started, directly or not.
  std::set<int> processes() const {
    std::set<int> pids;
    const std::string wanted = std::string(kMark) + "=" + mark() + std::string(1, '\0');
    std::error_code ec;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", ec)) {
      const int pid = std::atoi(entry.path().filename().c_str());
      if (pid <= 0 || pid == ::getpid()) continue;
      const auto env = read_file(entry.path() / "environ");
      if (env.ok() && env->find(wanted) != std::string::npos) pids.insert(pid);
    }
    return pids;
  }

 private:
  static constexpr const char* kMark = "CUTEGEN_E2E_MARK";
  std::string mark() const { return temp_->path().filename().string(); }

  std::optional<TempDir> temp_;
};

}  // namespace cutegen
