#include "cli/suite.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

#include "base/fs.h"
#include "base/subprocess.h"
#include "cli/exit_code.h"
#include "cli/outcome.h"
#include "report/score.h"
#include "report/terminal.h"

namespace cutegen::cli {
namespace fs = std::filesystem;
namespace {

// Beyond its budget a run may end its candidate in flight and time the best at length, torch.compile included.
constexpr double kGraceSeconds = 1500;
// One task may be too large for this machine; that many in a row say that the machine is not fit.
constexpr int kLacking = 3;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// level1/9 comes before level1/10.
bool natural_less(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (is_digit(a[0]) && is_digit(b[0])) {
      const size_t na = std::min(a.find_first_not_of("0123456789"), a.size()), nb = std::min(b.find_first_not_of("0123456789"), b.size());
      if (na != nb) return na < nb;
      if (const int order = a.substr(0, na).compare(b.substr(0, nb)); order != 0) return order < 0;
      a.remove_prefix(na), b.remove_prefix(nb);
    } else {
      if (a[0] != b[0]) return a[0] < b[0];
      a.remove_prefix(1), b.remove_prefix(1);
    }
  }
  return a.size() < b.size();
}

// The bounds of "19-30", or nothing.
std::optional<std::pair<int, int>> parse_range(const std::string& text) {
  int low = 0, high = 0, used = 0;
  if (std::sscanf(text.c_str(), "%9d-%9d%n", &low, &high, &used) != 2 || static_cast<size_t>(used) != text.size()) return std::nullopt;
  return std::pair(low, high);
}

bool fits(const std::string& id, const std::string& pattern) {
  if (::fnmatch(pattern.c_str(), id.c_str(), 0) == 0) return true;
  const size_t slash = pattern.rfind('/') + 1;  // 0 without one
  const auto range = parse_range(pattern.substr(slash));
  if (!range || id.compare(0, slash, pattern, 0, slash) != 0) return false;
  const std::string rest = id.substr(slash);
  if (rest.empty() || rest.size() > 9 || !std::all_of(rest.begin(), rest.end(), is_digit)) return false;
  const int number = std::stoi(rest);
  return number >= range->first && number <= range->second;
}

bool fits_any(const std::string& id, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& p) { return fits(id, p); });
}

bool defines_model(const fs::path& file) {
  const auto text = read_file(file);
  return text.ok() && text->find("class Model") != std::string::npos;
}

Result<std::vector<SuiteTask>> all_tasks(const fs::path& folder) {
  std::error_code ec;
  if (!fs::is_directory(folder, ec)) return Error{Errc::invalid_input, "there is no folder " + folder.string(), "", ""};
  std::vector<SuiteTask> tasks;
  for (fs::recursive_directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) {
    const fs::path& file = it->path();
    if (file.extension() != ".py" || !defines_model(file)) continue;
    tasks.push_back({suite_id(fs::absolute(file)), fs::absolute(file)});
  }
  if (ec) return Error{Errc::io, "cannot read " + folder.string() + ": " + ec.message(), "", ""};
  if (tasks.empty()) return Error{Errc::invalid_input, folder.string() + " holds no task: no .py file that defines a class Model", "", ""};
  // Two files with one number keep their names.
  for (SuiteTask& task : tasks) {
    const auto same = [&](const SuiteTask& other) { return suite_id(other.file) == suite_id(task.file); };
    if (std::count_if(tasks.begin(), tasks.end(), same) > 1)
      task.id = task.file.parent_path().filename().string() + "/" + task.file.stem().string();
  }
  std::sort(tasks.begin(), tasks.end(),
            [](const SuiteTask& a, const SuiteTask& b) { return natural_less(a.id, b.id) || (a.id == b.id && a.file < b.file); });
  const auto twice = std::adjacent_find(tasks.begin(), tasks.end(), [](const SuiteTask& a, const SuiteTask& b) { return a.id == b.id; });
  if (twice != tasks.end())
    return Error{Errc::invalid_input,
                 "two tasks would be called " + twice->id + ": " + twice->file.string() + " and " + (twice + 1)->file.string(),
                 "give a folder further down", ""};
  return tasks;
}

std::string file_name(const std::string& id) {
  std::string name = id;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

std::string last_line(const std::string& text) {
  const size_t end = text.find_last_not_of(" \n\r\t");
  if (end == std::string::npos) return "";
  const size_t begin = text.find_last_of('\n', end) + 1;  // 0 when there is none
  return text.substr(begin, end + 1 - begin);
}

// What a process printed of its error: the line that says so, else its last.
std::string reason(const Finished& finished) {
  const size_t at = finished.err.rfind("error: ");
  if (at != std::string::npos) return finished.err.substr(at + 7, finished.err.find('\n', at) - at - 7);
  const std::string line = last_line(finished.err);
  return line.empty() ? finished.status.describe() : line;
}

class Runner {
 public:
  Runner(const SuiteConfig& config, const std::vector<SuiteTask>& tasks) : config_(config), tasks_(tasks) {}

  Result<void> run() {
    std::error_code ec;
    fs::create_directories(config_.output, ec);
    if (ec) return Error{Errc::io, "cannot make " + config_.output.string() + ": " + ec.message(), "", ""};
    std::vector<std::thread> threads;
    for (int i = 1; i < config_.workers; ++i) threads.emplace_back([this] { work(); });
    work();
    for (std::thread& t : threads) t.join();
    if (stop_) return std::move(*stop_);
    return {};
  }

 private:
  fs::path base(const SuiteTask& task) const { return config_.output / file_name(task.id); }
  fs::path done_file(const SuiteTask& task) const { return base(task).string() + ".done.json"; }

  bool finished(const SuiteTask& task) const {
    std::error_code ec;
    return fs::exists(done_file(task), ec) && !fits_any(task.id, config_.again);
  }

  void work() {
    for (;;) {
      const size_t index = next_.fetch_add(1);
      if (index >= tasks_.size() || stopped() || (config_.cancelled && config_.cancelled())) return;
      if (finished(tasks_[index])) continue;
      if (auto ran = run_task(tasks_[index]); !ran.ok()) stop(ran.error());
    }
  }

  bool stopped() {
    const std::lock_guard lock(mutex_);
    return stop_.has_value();
  }
  void stop(const Error& error) {
    const std::lock_guard lock(mutex_);
    if (!stop_) stop_ = error;
  }
  void say(const std::string& line) {
    const std::lock_guard lock(mutex_);
    if (config_.progress) config_.progress(line);
  }

  Command command(const SuiteTask& task) const {
    const RunConfig& run = config_.run;
    const fs::path dir = base(task);
    std::error_code ec;
    Command c;
    c.argv = {"/proc/self/exe"};
    if (const fs::path self = fs::read_symlink("/proc/self/exe", ec); !ec) c.argv = {self.string()};
    if (fs::exists(dir / "run.db", ec))
      c.argv.insert(c.argv.end(), {"resume", dir.string()});
    else
      c.argv.insert(c.argv.end(), {"optimize", task.file.string(), "--run", dir.string(), "--device", run.device, "--precision",
                                   run.precision, "--proposer", run.proposer, "--seed", std::to_string(run.seed)});
    c.argv.insert(c.argv.end(), {"--budget-seconds", fmt::format("{}", run.budget_seconds)});
    if (run.max_candidates > 0) c.argv.insert(c.argv.end(), {"--max-candidates", std::to_string(run.max_candidates)});
    if (config_.workers > 1) c.argv.push_back("--share-gpu");
    return c;
  }

  Result<void> run_task(const SuiteTask& task) {
    CUTEGEN_TRY(const Finished f,
                cutegen::run(command(task), Deadline::in(system_clock(), Seconds(config_.run.budget_seconds + kGraceSeconds))));
    CUTEGEN_CHECK(write_file_atomic(base(task).string() + ".log", f.out + f.err));
    const bool lacking = f.status.code == static_cast<int>(ExitCode::machine);
    if (lacking && ++lacking_ >= kLacking) return Error{Errc::missing_dependency, reason(f), "", ""};
    if (!lacking) lacking_ = 0;
    const bool counted = f.status.signal == 0 && !f.status.timed_out && (f.status.code == 0 || has_result(task) || refused(task, f.status));
    if (counted)
      CUTEGEN_CHECK(write_file_atomic(
          done_file(task),
          Json{{"id", task.id}, {"exit", f.status.code}, {"seconds", f.seconds}, {"why", f.status.code == 0 ? "" : reason(f)}}.dump(1) +
              "\n"));
    say(fmt::format("[{} of {}] {}: {}  ({:.0f} s)", ++done_, tasks_.size(), task.id, outcome_line(task, f), f.seconds));
    return {};
  }

  // The task file itself is bad: there is not even a run.
  bool refused(const SuiteTask& task, const ExitStatus& status) const {
    std::error_code ec;
    return status.code == static_cast<int>(ExitCode::usage) && !fs::exists(base(task) / "run.db", ec);
  }

  // Whether its run came to an end; exit 1 also says that the tools failed.
  bool has_result(const SuiteTask& task) const {
    ResultsHeader header;
    const auto outcome = run_outcome(base(task), header);
    return outcome.ok() && outcome->why_short != kUnfinished;
  }

  std::string outcome_line(const SuiteTask& task, const Finished& f) const {
    ResultsHeader header;
    const auto outcome = run_outcome(base(task), header);
    if (!outcome.ok()) return "failed: " + reason(f);
    return outcome->verdict ? verdict_line(*outcome->verdict) : "no kernel: " + outcome->why_short;
  }

  const SuiteConfig& config_;
  const std::vector<SuiteTask>& tasks_;
  std::atomic<size_t> next_{0};
  std::atomic<int> done_{0};
  std::atomic<int> lacking_{0};  // how many in a row lacked something of the machine
  std::mutex mutex_;
  std::optional<Error> stop_;
};

// Of a task without a run: why it has none.
std::string why_no_run(const fs::path& done) {
  const auto text = read_file(done);
  if (!text.ok()) return "not run yet";
  const auto parsed = parse_json(*text, done.string());
  return parsed.ok() ? json_or<std::string>(*parsed, "why", "") : "not known: " + parsed.error().message;
}

}  // namespace

Result<std::vector<SuiteTask>> find_suite(const fs::path& folder, const std::vector<std::string>& only) {
  CUTEGEN_TRY(std::vector<SuiteTask> tasks, all_tasks(folder));
  for (const std::string& pattern : only) {
    const auto found = std::any_of(tasks.begin(), tasks.end(), [&](const SuiteTask& t) { return fits(t.id, pattern); });
    if (!found)
      return Error{Errc::invalid_input, "no task under " + folder.string() + " fits '" + pattern + "'",
                   "ids look like " + tasks.front().id + "; --list shows them", ""};
  }
  if (!only.empty()) std::erase_if(tasks, [&](const SuiteTask& t) { return !fits_any(t.id, only); });
  return tasks;
}

Result<void> run_suite(const SuiteConfig& config, const std::vector<SuiteTask>& tasks) { return Runner(config, tasks).run(); }

Result<Json> suite_results(const SuiteConfig& config, const std::vector<SuiteTask>& tasks, const std::string& suite,
                           const std::string& command) {
  ResultsHeader header{"", "", "", "", system_clock().utc_iso8601(), command, suite};
  std::vector<TaskResult> rows;
  for (const SuiteTask& task : tasks) {
    const fs::path run = config.output / file_name(task.id);
    std::error_code ec;
    TaskResult row;
    if (fs::exists(run / "run.db", ec)) {
      CUTEGEN_TRY(row, run_outcome(run, header));
    } else {
      row.proposer = config.run.proposer;
      row.task_class = config.run.explore_policy().precision;
      row.why_short = why_no_run(run.string() + ".done.json");
    }
    row.id = task.id;
    rows.push_back(std::move(row));
  }
  Json results = results_json(header, rows);
  results["score"] = to_json(score(results));
  return results;
}

}  // namespace cutegen::cli
