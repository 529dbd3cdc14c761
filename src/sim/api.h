// Functions of the interface that others of it call.
#pragma once

#include "sim/abi.h"

SIM_API int cudaGetKernel(void** kernel, const void* stub);
SIM_API int cudaLaunchKernel(const void* function, cutegen::sim::dim3 grid, cutegen::sim::dim3 block, void** arguments,
                             size_t dynamic_smem_bytes, cutegen::sim::Stream stream);
