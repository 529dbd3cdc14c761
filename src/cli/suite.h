// A folder of task files, and the running of all of them: each task is a child process with a run directory of its own, so a crash, a kill
// or the end of the machine costs at most the candidates in flight.
//
//   OUTPUT/level1_19/            the run (docs/store.md)
//   OUTPUT/level1_19.log         what its process printed
//   OUTPUT/level1_19.done.json   {"id", "exit", "seconds", "why"}: written when it ended by itself; such a task is not run again
//
// Paths inside OUTPUT are relative to it, so it can be carried to another machine of the same kind and gone on with there.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "cli/run_config.h"

namespace cutegen::cli {

struct SuiteTask {
  std::string id;  // "level1/19" (report/results.h: suite_id)
  std::filesystem::path file;
};

// Every .py file under `folder` that defines a class Model, in the natural order of ids. `only`: patterns of ids, "level1/19",
// "level1/2*", "level1/19-30"; empty: all. Errc::invalid_input for no such folder, a folder without tasks, a pattern that fits none.
Result<std::vector<SuiteTask>> find_suite(const std::filesystem::path& folder, const std::vector<std::string>& only);

struct SuiteConfig {
  RunConfig run;  // of every task; its `task` is not used
  std::filesystem::path output;
  int workers = 1;                  // runs at the same time: one is judged while the others build
  std::vector<std::string> again;   // patterns of tasks that are gone on with although they are finished, with the budget given now
  std::function<bool()> cancelled;  // polled between tasks
  std::function<void(const std::string& line)> progress;
};

// Runs what is not finished. An Error stops the suite: the machine lacks something, or OUTPUT cannot be written.
Result<void> run_suite(const SuiteConfig& config, const std::vector<SuiteTask>& tasks);

// The outcomes so far, as bench/results has them (report/results.h), with "score". Tasks not yet run have that as their "why_short".
Result<Json> suite_results(const SuiteConfig& config, const std::vector<SuiteTask>& tasks, const std::string& suite,
                           const std::string& command);

}  // namespace cutegen::cli
