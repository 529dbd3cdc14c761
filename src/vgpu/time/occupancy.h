// How many CTAs of a kernel an SM holds at once (CUDA's occupancy rules).
#pragma once

#include "vgpu/time/profile.h"

namespace cutegen::vgpu {

struct Resources {
  uint32_t threads = 0;     // of a CTA
  uint32_t registers = 0;   // a thread, from ptxas
  uint32_t smem_bytes = 0;  // of a CTA, static and dynamic
};

struct Occupancy {
  uint32_t ctas = 0;                                                  // resident on an SM; 0 when one does not fit
  uint32_t by_warps = 0, by_ctas = 0, by_registers = 0, by_smem = 0;  // what each limit alone would allow
  const char* limit = "";                                             // the tightest: "warps", "ctas", "registers", "smem"
};

Occupancy occupancy(const GpuProfile& gpu, const Resources& resources);

}  // namespace cutegen::vgpu
