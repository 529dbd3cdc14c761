#include "report/results.h"

#include <algorithm>

#include "base/fs.h"
#include "report/json.h"
#include "report/terminal.h"

namespace cutegen {
namespace {

constexpr size_t kShortBytes = 160;

// The first line, cut at a character's border.
std::string shortened(const std::string& why) {
  std::string line = why.substr(0, why.find('\n'));
  if (line.size() <= kShortBytes) return line;
  size_t end = kShortBytes;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) --end;
  return line.substr(0, end) + "...";
}

const TimedAgainst* measured_against(const TimingEvidence& timing, Baseline baseline) {
  const auto found = std::find_if(timing.against.begin(), timing.against.end(),
                                  [&](const TimedAgainst& a) { return a.baseline == baseline && a.samples > 0; });
  return found == timing.against.end() ? nullptr : &*found;
}

bool in_class(Baseline baseline, Precision task_class) {
  if (baseline == Baseline::eager || baseline == Baseline::compile) return true;
  return task_class == Precision::tf32 || task_class == Precision::half;
}

const TimedAgainst* fastest(const TimingEvidence& timing, Precision task_class) {
  const TimedAgainst* best = nullptr;
  for (const TimedAgainst& against : timing.against) {
    if (against.samples == 0 || !in_class(against.baseline, task_class)) continue;
    if (best == nullptr || against.baseline_ms < best->baseline_ms) best = &against;
  }
  return best;
}

Json ms_of(const TimedAgainst* against) { return against == nullptr ? Json() : finite_or_null(against->baseline_ms); }
Json name_of(const TimedAgainst* against) { return against == nullptr ? Json() : Json(to_string(against->baseline)); }

void add_times(Json& task, const TimingEvidence& timing, Precision task_class) {
  const TimedAgainst* best = fastest(timing, task_class);
  const TimedAgainst* first = headline(timing);
  task["candidate_ms"] = finite_or_null(timing.candidate_ms);
  task["measured"] = timing.measured;
  if (first != nullptr) task["ratio_ci95"] = {finite_or_null(first->speedup.low), finite_or_null(first->speedup.high)};
  task["ratio_over"] = name_of(first);
  task["eager_ms"] = ms_of(measured_against(timing, Baseline::eager));
  task["compile_ms"] = ms_of(measured_against(timing, Baseline::compile));
  task["best_ms"] = ms_of(best);
  task["best_is"] = name_of(best);
  task["floor_ms"] = finite_or_null(timing.floor_ms);
}

Json task_json(const TaskResult& result) {
  Json task{{"id", result.id}, {"class", to_string(result.task_class)}, {"verified", false}, {"proposer", result.proposer}};
  for (const char* key : {"candidate_ms", "measured", "ratio_ci95", "ratio_over", "eager_ms", "compile_ms", "best_ms", "best_is",
                          "floor_ms", "error_ratio"}) {
    task[key] = nullptr;
  }
  task["why_short"] = shortened(result.why_short);
  if (!result.verdict) return task;
  const Verdict& verdict = *result.verdict;
  task["verified"] = verdict.verified();
  task["why_short"] = shortened(verdict.why);
  const bool compared = std::any_of(verdict.trials.begin(), verdict.trials.end(), [](const TrialEvidence& t) { return !t.dropped; });
  if (compared) task["error_ratio"] = finite_or_null(verdict.worst_error_ratio);
  if (verdict.timing) add_times(task, *verdict.timing, result.task_class);
  return task;
}

}  // namespace

Json results_json(const ResultsHeader& header, const std::vector<TaskResult>& tasks) {
  Json list = Json::array();
  for (const TaskResult& task : tasks) list.push_back(task_json(task));
  return {{"schema", kResultsSchema},  {"device", header.device}, {"driver", header.driver},
          {"cuda", header.cuda},       {"torch", header.torch},   {"date", header.date},
          {"command", header.command}, {"suite", header.suite},   {"tasks", list}};
}

Result<TaskResult> stored_result(const std::string& id, Precision task_class, const Json& verdict, const std::string& proposer) {
  auto read = verdict_from_json(verdict);
  if (!read.ok()) {
    Error error = read.error();
    error.message = id + ": " + error.message;
    return error;
  }
  return TaskResult{id, task_class, std::move(*read), proposer, ""};
}

std::string suite_id(const std::filesystem::path& task_file) {
  const std::string stem = task_file.stem().string();
  const size_t digits = std::min(stem.find_first_not_of("0123456789"), stem.size());
  return task_file.parent_path().filename().string() + "/" + (digits > 0 ? stem.substr(0, digits) : stem);
}

Result<void> write_results(const std::filesystem::path& path, const Json& results) {
  return write_file_atomic(path, results.dump(1) + "\n");
}

}  // namespace cutegen
