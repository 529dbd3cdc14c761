// One function a file of this folder.
#pragma once

#include "vgpu/observe/check.h"

namespace cutegen::vgpu {

CheckEntry uninitialised_check();

}  // namespace cutegen::vgpu
