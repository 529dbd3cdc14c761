// One function a file of this folder.
#pragma once

#include "vgpu/observe/check.h"
#include "vgpu/observe/order/pair.h"

namespace cutegen::vgpu {

CheckEntry mbarrier_check();
CheckEntry registers_check();
CheckEntry unfinished_check();
CheckEntry uninitialised_check();
CheckEntry wgmma_registers_check();

// Of pairs of accesses (order/ordering.h).
PairCheck async_wait_check();
PairCheck mbarrier_fence_check();
PairCheck proxy_fence_check();
PairCheck race_check();

}  // namespace cutegen::vgpu
