// Tensor maps of a plan, encoded for the virtual GPU.
#pragma once

#include "candidate/plan.h"
#include "vgpu/tensor_map.h"

namespace cutegen {

// `address`: where the map's buffer, plus its offset, lies in the virtual GPU's memory.
Result<vgpu::TensorMap> encode(const PlanTensorMap& map, uint64_t address);

}  // namespace cutegen
