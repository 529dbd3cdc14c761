// What a PTX instruction becomes: how many machine instructions, on which pipe, with which latency. ptxas is not modelled; these are its
// usual choices on sm_90, and the estimate of issued instructions is corrected by what the cubin holds (machine_code.h).
#pragma once

#include <string_view>
#include <vector>

#include "vgpu/link/image.h"
#include "vgpu/time/profile.h"

namespace cutegen::vgpu {

enum class Waits : uint8_t {
  nothing,
  copies,
  matrices,
  barrier,
  mbarrier
};  // what an instruction may have to wait for, beyond its operands

struct PcCost {
  float instructions = 1;  // machine instructions of one warp
  float issue = 1;         // cycles before the warp's next instruction
  float pipe = 1;          // cycles of its pipe
  float latency = 4;       // of its result, memory excepted
  Waits waits = Waits::nothing;
  bool commits_copies = false, commits_matrices = false, starts_copy = false, is_wgmma = false, is_bulk = false, arrives = false;
  bool bypasses_l1 = false, read_only = false, is_constant = false;
  bool anchor = false;  // one to one with machine instructions, whatever ptxas does around it
  uint16_t wait_operand = 0;
  std::vector<Ref> sources, destinations;  // offsets into the warp's registers
};

// One entry a pc.
std::vector<PcCost> pc_costs(const Image& image, const GpuProfile& gpu);

}  // namespace cutegen::vgpu
