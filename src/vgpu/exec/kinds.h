// Inst::param of barriers.
#pragma once

#include <cstdint>

namespace cutegen::vgpu {

inline constexpr uint32_t kAligned = 1, kArriveOnly = 2, kRedPopc = 4, kRedAnd = 8, kRedOr = 16, kCounted = 32;
inline constexpr uint32_t kRed = kRedPopc | kRedAnd | kRedOr;

}  // namespace cutegen::vgpu
