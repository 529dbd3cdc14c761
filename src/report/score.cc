#include "report/score.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "report/json.h"
#include "report/terminal.h"

namespace cutegen {
namespace {

constexpr double kFast[] = {0, 0.8, 1, 1.5, 2, 3, 5};

std::optional<double> number(const Json& task, const char* key) {
  const auto found = task.find(key);
  if (found == task.end() || !found->is_number() || found->get<double>() <= 0) return std::nullopt;
  return found->get<double>();
}

bool verified(const Json& task) { return json_or(task, "verified", false); }

// Baseline over candidate, of a verified task.
std::optional<double> speedup(const Json& task, const std::string& over) {
  const auto candidate = number(task, "candidate_ms"), baseline = number(task, (over + "_ms").c_str());
  if (!verified(task) || !candidate || !baseline) return std::nullopt;
  return *baseline / *candidate;
}

SuiteScore::Mean mean(const Json& tasks, const std::string& over) {
  SuiteScore::Mean result{over, 0, 0, 0};
  double logs = 0;
  for (const Json& task : tasks) {
    const auto times = speedup(task, over);
    if (!times) continue;
    ++result.tasks;
    result.slower += *times < 1;
    logs += std::log(*times);
  }
  if (result.tasks > 0) result.geometric = std::exp(logs / result.tasks);
  return result;
}

// Correctness alone is fast_0.
double share_faster(const Json& tasks, double p) {
  int count = 0;
  for (const Json& task : tasks) {
    const auto times = speedup(task, "eager");
    count += p == 0 ? verified(task) : times && *times > p;
  }
  return tasks.empty() ? 0 : static_cast<double>(count) / static_cast<double>(tasks.size());
}

std::string ms(const Json& task, const char* key) {
  const auto value = number(task, key);
  return value ? fmt::format("{:.4g}", *value) : "-";
}
std::string times(const Json& task, const char* over) {
  const auto value = speedup(task, over);
  return value ? fmt::format("{:.2f}x", *value) : "-";
}
std::string floor_share(const Json& task) {
  const auto floor = number(task, "floor_ms"), candidate = number(task, "candidate_ms");
  return verified(task) && floor && candidate ? fmt::format("{:.0f}%", 100 * *floor / *candidate) : "-";
}

std::vector<std::string> row(const Json& task) {
  return {json_or<std::string>(task, "id", ""),
          verified(task) ? "yes" : "no",
          ms(task, "candidate_ms"),
          ms(task, "eager_ms"),
          ms(task, "compile_ms"),
          times(task, "eager"),
          times(task, "compile"),
          floor_share(task),
          verified(task) ? "" : json_or<std::string>(task, "why_short", "")};
}

}  // namespace

SuiteScore score(const Json& results) {
  const Json tasks = results.value("tasks", Json::array());
  SuiteScore s;
  s.tasks = static_cast<int>(tasks.size());
  for (const Json& task : tasks) {
    s.verified += verified(task);
    s.predicted = s.predicted || (number(task, "candidate_ms") && !json_or(task, "measured", true));
  }
  for (const double p : kFast) s.fast.emplace_back(p, share_faster(tasks, p));
  for (const char* over : {"eager", "compile", "best"}) s.means.push_back(mean(tasks, over));
  return s;
}

Json to_json(const SuiteScore& s) {
  Json fast = Json::object(), means = Json::array();
  for (const auto& [p, share] : s.fast) fast[fmt::format("{}", p)] = share;
  for (const auto& m : s.means)
    means.push_back({{"over", m.over}, {"speedup", m.tasks > 0 ? Json(m.geometric) : Json()}, {"tasks", m.tasks}, {"slower", m.slower}});
  return {{"tasks", s.tasks}, {"verified", s.verified}, {"predicted", s.predicted}, {"fast_p", fast}, {"geomean", means}};
}

std::string suite_text(const Json& results) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& task : results.value("tasks", Json::array())) rows.push_back(row(task));
  const Align right = Align::right;
  std::string text = table({{"task"},
                            {"verified"},
                            {"ms", right},
                            {"eager", right},
                            {"compile", right},
                            {"over eager", right},
                            {"over compile", right},
                            {"floor", right},
                            {"why not"}},
                           rows);
  const SuiteScore s = score(results);
  text += fmt::format("\nverified  {} of {}{}\nfast_p   ", s.verified, s.tasks, s.predicted ? " (times are predicted)" : "");
  for (const auto& [p, share] : s.fast) text += fmt::format(" {}: {:.0f}%", p, 100 * share);
  text += "\ngeomean  ";
  if (s.means[0].tasks == 0) text += " none: no baseline was measured";
  for (const auto& m : s.means)
    if (m.tasks > 0) text += fmt::format(" {:.2f}x over {} ({} tasks, {} slower)", m.geometric, m.over, m.tasks, m.slower);
  return text;
}

}  // namespace cutegen
