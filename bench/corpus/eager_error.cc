// How far the predicted eager time (src/task/eager.h) is from PyTorch's measured one.
//
//   eager_error BASELINES.json TASKS_DIR     TASKS_DIR/level1_1.json: a task with its graph; BASELINES.json: {"tasks": [{"id": "level1/1",
//   "eager_ms"}]}
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "task/eager.h"

using namespace cutegen;

namespace {

uint32_t fnv1a(const std::string& text) {
  uint32_t h = 0x811c9dc5;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x01000193;
  return h;
}

void print(const char* name, std::vector<double> errors) {
  if (errors.empty()) return;
  std::sort(errors.begin(), errors.end());
  const auto within = [&](double limit) { return std::count_if(errors.begin(), errors.end(), [&](double e) { return e <= limit; }); };
  fmt::print("{:9} tasks {}  median error {:.3f}  within 25% {:.2f}  p90 {:.2f}\n", name, errors.size(), errors[errors.size() / 2],
             static_cast<double>(within(0.25)) / static_cast<double>(errors.size()), errors[errors.size() * 9 / 10]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: eager_error BASELINES.json TASKS_DIR\n"), 2;
  const auto baselines = read_json_file(argv[1]);
  if (!baselines.ok()) return std::fprintf(stderr, "%s\n", baselines.error().message.c_str()), 1;
  std::vector<double> errors[2];
  for (const Json& t : baselines->at("tasks")) {
    const auto id = t.at("id").get<std::string>();
    std::string file = id;
    std::replace(file.begin(), file.end(), '/', '_');
    const auto j = read_json_file(std::filesystem::path(argv[2]) / (file + ".json"));
    const double measured = json_or(t, "eager_ms", 0.0);
    if (!j.ok() || measured <= 0) continue;
    const auto task = task_from_json(*j);
    if (!task.ok()) continue;
    const auto seconds = eager_seconds(*task, rates_for("H200"));
    if (!seconds) continue;
    fmt::print("{:12} predicted {:8.3f} ms  measured {:8.3f} ms  {:.2f}\n", id, 1e3 * *seconds, measured, 1e3 * *seconds / measured);
    errors[fnv1a(id) % 2].push_back(std::abs(1e3 * *seconds / measured - 1));
  }
  print("fitted", errors[0]);
  print("held out", errors[1]);
  return 0;
}
