// What the machine needs of the mbarrier instructions.
#pragma once

#include "vgpu/isa/warp.h"

namespace cutegen::vgpu {

// Inst::param of operations that complete on mbarriers of several CTAs.
inline constexpr u32 kMulticast = 1u << 31;

// cp.async.mbarrier.arrive without .noinc: the barrier expects one more arrival a lane.
void expect_arrival(Warp& w, const Inst& in, u32 mask);

// Bytes have arrived for the mbarrier at a shared address. Throws GuestFault.
void complete_bytes(Warp& w, u64 barrier, u64 bytes, u32 lane);

}  // namespace cutegen::vgpu
