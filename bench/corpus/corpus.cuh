// What every file of the corpus includes. The kernels are small and plain on purpose: each exercises one thing that the model has a term for.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define KERNEL extern "C" __global__ void

__device__ inline unsigned global_thread() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline unsigned all_threads() { return gridDim.x * blockDim.x; }
__device__ inline unsigned shared_address(void const* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
