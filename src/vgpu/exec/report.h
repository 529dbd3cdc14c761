// From a GuestFault to a Fault that says where.
#pragma once

#include "vgpu/exec/unit.h"
#include "vgpu/mem/fault.h"

namespace cutegen::vgpu {

// Which warp of which CTA was at which instruction.
struct Place {
  Dim3 block, cta;
  u32 warp = 0, pc = 0;
};

Fault describe_fault(const Image& image, const Grid& grid, const Unit& unit, GuestFault guest);
Fault describe_at(const Image& image, const Place& place, GuestFault guest);

Dim3 thread_of(const Dim3& block, u32 warp, u32 lane);
std::string source_of(const Image& image, u32 pc);  // "file.cu:12", "file.h:3 (inlined at file.cu:12)" or "PTX line 40"

}  // namespace cutegen::vgpu
