#include "cli/resume.h"

#include "base/fs.h"

namespace cutegen::cli {
namespace fs = std::filesystem;
namespace {

std::string describe(const Json& device) {
  const auto kind = json_or<std::string>(device, "kind", "none");
  return kind == "none" ? "no device" : kind + " (" + json_or<std::string>(device, "name", "") + ")";
}

}  // namespace

Result<RunConfig> stored_config(const Store& store) {
  CUTEGEN_TRY(const std::optional<Json> stored, store.meta("config"));
  if (!stored)
    return Error{Errc::invalid_input, store.dir().string() + " holds no options to resume with",
                 "start the run again with `cutegen optimize`", ""};
  CUTEGEN_TRY(RunConfig config, run_config_from_json(*stored));
  CUTEGEN_TRY(const std::optional<Json> task, store.meta("task"));
  std::error_code ec;
  if (task && !fs::exists(config.task, ec)) {
    CUTEGEN_TRY(const std::string source, json_get<std::string>(*task, "source"));
    const fs::path copy = store.dir() / "task" / config.task.filename();
    CUTEGEN_CHECK(write_file_atomic(copy, source));
    config.task = copy;
  }
  return config;
}

Result<void> check_same_run(const Session& session, const Store& store) {
  CUTEGEN_TRY(const std::optional<Json> task, store.meta("task"));
  if (task) {
    CUTEGEN_TRY(const Task before, task_from_json(*task));
    if (before.hash() != session.oracle->task().hash())
      return Error{Errc::invalid_input, "the task " + session.oracle->task().path.string() + " is not what it was when the run was made",
                   "start a new run with `cutegen optimize`", ""};
  }
  CUTEGEN_TRY(const std::optional<Json> device, store.meta("device"));
  if (device && describe(*device) != describe(session.device_json()))
    return Error{Errc::invalid_input, "the run was made on " + describe(*device) + ", here is " + describe(session.device_json()),
                 "resume it there, or start a new run with `cutegen optimize`", ""};
  return {};
}

}  // namespace cutegen::cli
