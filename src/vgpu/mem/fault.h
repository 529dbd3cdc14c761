// What a guest does wrong, thrown by bodies and caught in one place (exec/unit.cc).
#pragma once

#include <string>

#include "vgpu/isa/types.h"
#include "vgpu/vgpu.h"

namespace cutegen::vgpu {

struct GuestFault {
  FaultKind kind;
  std::string message;
  u32 lane;
  u64 address;
  std::string buffer;
  s64 distance;
};

}  // namespace cutegen::vgpu
