// Slots for the registers of a function: nvcc's PTX is close to static single assignment, so slots are shared between registers whose lives
// do not overlap. A warp's registers then fit the host's cache.
#pragma once

#include <vector>

#include "vgpu/link/cfg.h"

namespace cutegen::vgpu {

struct Accesses {  // of one instruction: registers read and written, indices into ptx::Function::registers
  std::vector<int> reads, writes;
  bool conditional = false;  // guarded: what it writes may keep its old value
};

struct Slots {
  std::vector<u32> offset;  // by register, from the start of the function's area
  u32 bytes = 0;
  std::vector<int> maybe_undefined;  // registers that some path reads before it writes them; their slots are theirs until then
};

// Registers are of three sizes: predicates 4 bytes, up to 32 bits 128 bytes, 64 bits 256 bytes. Offsets start at `base` (a multiple of 64).
Slots allocate_registers(const ptx::Function& f, const Cfg& cfg, const std::vector<Accesses>& accesses, u32 base);

}  // namespace cutegen::vgpu
