// What the program's kernels came to, by kernel: launches, host time, counters of the virtual GPU.
#pragma once

#include <map>
#include <string>

#include "base/json.h"
#include "vgpu/vgpu.h"

namespace cutegen::sim {

struct KernelLog {
  uint64_t launches = 0, faults = 0;
  double host_seconds = 0;
  uint64_t ctas = 0, threads = 0;
  vgpu::Counters counters;
};

class LaunchLog {
 public:
  void add(const vgpu::LaunchConfig& config, const vgpu::LaunchResult& result, double host_seconds);
  bool empty() const { return kernels_.empty(); }
  // {"kernels": [{"kernel", "launches", "faults", "host_seconds", "ctas", "threads", "counters": {...}}]}, by name.
  Json to_json() const;

 private:
  std::map<std::string, KernelLog> kernels_;
};

}  // namespace cutegen::sim
