// A launch that somebody watches: for profilers, which are built on top of the machine.
#pragma once

#include <cstdint>
#include <functional>

#include "vgpu/observe/observer.h"
#include "vgpu/vgpu.h"

namespace cutegen::vgpu {

struct Watch {
  Observer* observer = nullptr;  // is told of every event, in order
  // Which clusters of the grid run, by number, asked in order just before each starts; all when empty. What the others would write is
  // missing.
  std::function<bool(uint64_t cluster)> only;
};

// As launch(), on one host thread.
LaunchResult launch_watched(const Program& program, Memory& memory, const LaunchConfig& config, const LaunchOptions& options,
                            const Watch& watch);

}  // namespace cutegen::vgpu
