// What `cutegen sim` tells the stand-in runtime inside the program: environment variables, set by the command and read at the first call.
#pragma once

#include <string>

#include "vgpu/vgpu.h"

namespace cutegen::sim {

inline constexpr const char* kEnvThreads = "CUTEGEN_SIM_THREADS";       // host threads a launch may use
inline constexpr const char* kEnvChecks = "CUTEGEN_SIM_CHECKS";         // fast, checked or full
inline constexpr const char* kEnvSchedule = "CUTEGEN_SIM_SCHEDULE";     // as vgpu::parse_schedule reads it
inline constexpr const char* kEnvLateAsync = "CUTEGEN_SIM_LATE_ASYNC";  // 1: LaunchOptions::late_async
inline constexpr const char* kEnvCounters = "CUTEGEN_SIM_COUNTERS";     // a folder: each process leaves its counters in it as PID.json

struct Settings {
  vgpu::LaunchOptions launch;
  std::string counters_folder;  // empty: nothing is counted
};

Settings settings_from_environment();

}  // namespace cutegen::sim
