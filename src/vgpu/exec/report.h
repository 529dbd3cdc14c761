// From a GuestFault to a Fault that says where.
#pragma once

#include "vgpu/exec/unit.h"

namespace cutegen::vgpu {

Fault describe_fault(const Image& image, const Grid& grid, const Unit& unit, GuestFault guest);

}  // namespace cutegen::vgpu
