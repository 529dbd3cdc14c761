// How long PyTorch's eager mode would take on a GPU, predicted from the op graph: one or a few kernels an operator, each reading its
// operands from memory and writing its result. The baseline of a predicted speedup; docs/vgpu-model.md compares it with measurements.
#pragma once

#include <optional>

#include "task/analysis.h"

namespace cutegen {

// Seconds; nothing when the task has no graph. Flags are PyTorch's defaults: matrix products in fp32, convolutions in TF32.
std::optional<double> eager_seconds(const Task& task, const GpuRates& rates);

}  // namespace cutegen
