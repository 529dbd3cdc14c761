// How many compilers run at once, over all processes that share a cache: as many as cores and free memory allow.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"

namespace cutegen {

// A CuTe build takes 0.6 to 2.5 GB (measured, nvcc 13.0).
inline constexpr int64_t kBuildMemoryBytes = 2'500'000'000;

// Bytes that new processes may use: /proc/meminfo's MemAvailable, or less under a cgroup limit.
int64_t available_memory_bytes();
// Cores that this process may run on.
int usable_cores();

// "MemAvailable" of /proc/meminfo text, in bytes; -1 when it is not there.
int64_t parse_mem_available(std::string_view meminfo);

class BuildSlots {
 public:
  // `limit` gives the number of slots at the moment of asking; at least one is always granted.
  BuildSlots(std::filesystem::path folder, std::function<int()> limit) : folder_(std::move(folder)), limit_(std::move(limit)) {}

  // min(cores, available memory / kBuildMemoryBytes).
  static BuildSlots of_machine(std::filesystem::path folder);

  // Waits for a slot and holds it while the descriptor lives. Errc::timeout at the deadline.
  Result<Fd> acquire(Deadline deadline, const Clock& clock) const;

 private:
  std::filesystem::path folder_;
  std::function<int()> limit_;
};

}  // namespace cutegen
