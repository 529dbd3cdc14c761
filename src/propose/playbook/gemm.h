// The gemm family: one fp32 matrix product with a pointwise epilogue (kernels/gemm, docs/gemm.md).
#pragma once

#include "propose/playbook/schema.h"

namespace cutegen::playbook {

// A configuration is {"strategy": "simt", "tile_k", "stages"}, {"strategy": "mma_sync", "stages", "splits"} or {"strategy": "wgmma",
// "stages", "cluster", "promote", "splits"}; "promote" and "splits" are there only where the product leaves a choice. The last two
// strategies compute with pairs of fp16 terms on the tensor cores and are offered from K = 256 on, where they are more accurate than a
// plain fp32 loop; wgmma needs sm_90a.
Schema gemm_schema();

}  // namespace cutegen::playbook
