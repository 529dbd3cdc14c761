// backend: cuda
// stage: ptxas
// expect: Unresolved extern function 'helper'
#include <cutegen/kernel.cuh>

extern "C" __device__ float helper(float v);

extern "C" __global__ void twice(float const* x, float* y) { y[threadIdx.x] = helper(x[threadIdx.x]); }
CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(twice).grid(1).block(256).args(cutegen::input(0), cutegen::output(0))));
