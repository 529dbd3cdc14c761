#include "sim/settings.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace cutegen::sim {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

Settings settings_from_environment() {
  Settings s;
  const std::string threads = variable(kEnvThreads);
  std::from_chars(threads.data(), threads.data() + threads.size(), s.launch.threads);
  s.launch.threads = std::max(s.launch.threads, 0);
  const std::string checks = variable(kEnvChecks);
  if (checks == "fast") s.launch.checks = vgpu::Checks::fast;
  if (checks == "full") s.launch.checks = vgpu::Checks::full;
  if (auto schedule = vgpu::parse_schedule(variable(kEnvSchedule)); schedule.ok()) s.launch.random_schedule = *schedule;
  s.launch.late_async = variable(kEnvLateAsync) == "1";
  s.counters_folder = variable(kEnvCounters);
  s.launch.count = !s.counters_folder.empty();
  return s;
}

}  // namespace cutegen::sim
