// Every file in user_files/ with what inspecting it must give: NAME.py beside NAME.json. Members of the JSON:
//   error         code, and message (exact) or message_starts/message_ends; detail: text that the traceback must hold
//   task          members that the task must have; ops: the graph's operators in order; also under "task": "warnings" (codes),
//                 "traced" (whether there is a graph), "opaque_reason_starts"
//   trial         true: a trial must succeed; trial_error: like error, for the trial
//   inspect_limit seconds
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/fs.h"
#include "oracle/side_car.h"

namespace cutegen {
namespace {

std::filesystem::path folder() { return std::filesystem::path(CUTEGEN_SOURCE_DIR) / "tests/oracle/user_files"; }

std::vector<std::string> names() {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder()))
    if (entry.path().extension() == ".py") found.push_back(entry.path().stem());
  std::sort(found.begin(), found.end());
  std::stable_partition(found.begin(), found.end(), [](const std::string& name) {  // those that end the process last
    const auto expected = read_json_file(folder() / (name + ".json"));
    const std::string code = expected.ok() && expected->contains("error") ? json_or<std::string>((*expected)["error"], "code", "") : "";
    return code != "io" && code != "timeout";
  });
  return found;
}

std::string with_folder(std::string text) {
  const std::string mark = "{folder}";
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark)) text.replace(at, mark.size(), folder().string());
  return text;
}

void expect_error(const Error& error, const Json& expected) {
  EXPECT_STREQ(to_string(error.code), expected["code"].get<std::string>().c_str()) << error.message;
  EXPECT_EQ(error.message, json_or(expected, "message", error.message));
  const auto starts = json_or<std::string>(expected, "message_starts", "");
  const auto ends = json_or<std::string>(expected, "message_ends", "");
  EXPECT_EQ(error.message.substr(0, starts.size()), starts);
  EXPECT_EQ(error.message.substr(error.message.size() - std::min(ends.size(), error.message.size())), ends);
  const std::string detail = with_folder(json_or<std::string>(expected, "detail", ""));
  EXPECT_NE(error.detail.find(detail), std::string::npos) << error.detail;
  EXPECT_EQ(error.detail.find("cutegen_oracle"), std::string::npos) << "our own frames show: " << error.detail;
}

Json operators(const Graph& graph) {
  Json ops = Json::array();
  for (const Node& node : graph.nodes) ops.push_back(node.op);
  return ops;
}

void expect_task(const Task& task, const Json& expected) {
  const Json actual = to_json(task);
  const Json members = expected.value("task", Json::object());
  for (const auto& [key, value] : members.items()) {
    if (key == "warnings") {
      Json codes = Json::array();
      for (const Warning& warning : task.warnings) codes.push_back(warning.code);
      EXPECT_EQ(codes, value);
    } else if (key == "traced") {
      EXPECT_EQ(task.graph.has_value(), value.get<bool>()) << task.opaque_reason;
    } else if (key == "opaque_reason_starts") {
      EXPECT_EQ(task.opaque_reason.rfind(value.get<std::string>(), 0), 0U) << task.opaque_reason;
    } else {
      EXPECT_EQ(actual[key], value) << key;
    }
  }
  if (!expected.contains("ops")) return;
  ASSERT_TRUE(task.graph.has_value()) << task.opaque_reason;
  EXPECT_EQ(operators(*task.graph), expected["ops"]);
}

void expect_trial(SideCar& car, const Json& expected) {
  const Json request = {{"op", "trial"}, {"seed", 5}, {"distribution", "as_given"}, {"randomise_params", true}, {"precision", "match"}};
  const auto trial = car.ask(request, Seconds(120), "computing the reference");
  if (expected.contains("trial_error")) {
    ASSERT_FALSE(trial.ok()) << trial->dump();
    expect_error(trial.error(), expected["trial_error"]);
    EXPECT_TRUE(car.running());
  } else {
    ASSERT_TRUE(trial.ok()) << trial.error().message << "\n" << trial.error().detail;
  }
}

void expect_file(SideCar& car, const std::string& name, const Json& expected) {
  const Json inspect = {{"op", "inspect"}, {"path", (folder() / (name + ".py")).string()}};
  const auto answer = car.ask(inspect, Seconds(json_or(expected, "inspect_limit", 120.0)), "loading " + name + ".py");
  if (expected.contains("error")) {
    ASSERT_FALSE(answer.ok()) << answer->dump();
    expect_error(answer.error(), expected["error"]);
    return;
  }
  ASSERT_TRUE(answer.ok()) << answer.error().message << "\n" << answer.error().detail;
  const auto task = task_from_json((*answer)["task"]);
  ASSERT_TRUE(task.ok()) << task.error().message;
  expect_task(*task, expected);
  expect_trial(car, expected);
}

// One side-car serves all files, as long as none of them ends it.
TEST(UserFiles, GiveWhatTheTableSays) {
  const auto python = find_python();
  if (!python.ok()) GTEST_SKIP() << python.error().message;
  const auto dir = TempDir::make("user-files");
  ASSERT_TRUE(dir.ok());
  OracleConfig config;
  config.device = "cpu";
  config.package_dir = std::filesystem::path(CUTEGEN_SOURCE_DIR) / "python";
  config.log = dir->path() / "log";
  config.memory_limit_bytes = int64_t{2} << 30;
  SideCar car(config, *python, system_clock());
  const std::vector<std::string> files = names();
  ASSERT_GE(files.size(), 40U);
  for (const std::string& name : files) {
    SCOPED_TRACE(name);
    const auto started = car.start();
    ASSERT_TRUE(started.ok()) << started.error().message << started.error().detail;
    const auto expected = read_json_file(folder() / (name + ".json"));
    ASSERT_TRUE(expected.ok()) << expected.error().message;
    expect_file(car, name, *expected);
  }
}

}  // namespace
}  // namespace cutegen
