// Which registers an instruction reads and writes, as slots of the warp's register file.
#pragma once

#include <vector>

#include "vgpu/link/image.h"

namespace cutegen::vgpu {

struct RegisterUse {
  std::vector<Ref> reads, writes;
};

// Constants, sinks and absent operands are left out. An accumulator of wgmma is read and written.
RegisterUse registers_of(const Image& image, u32 pc);

}  // namespace cutegen::vgpu
