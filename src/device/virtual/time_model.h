// A first, coarse model of an H200's time for a kernel, from counts of PTX instructions and sectors. Not fitted to measurements.
#pragma once

#include <cstdint>

#include "vgpu/vgpu.h"

namespace cutegen {

// Milliseconds of one launch: the largest of DRAM, L2, shared memory and the execution pipes, plus a launch's fixed cost. `buffer_bytes`:
// all buffers that the launch may touch, the most that a cold cache makes DRAM deliver.
double predicted_ms(const vgpu::Counters& counters, uint64_t ctas, uint64_t threads_a_cta, uint64_t buffer_bytes);

}  // namespace cutegen
