// backend: cuda
// stage: nvcc
// expect: a scalar is given for a pointer parameter
// user: CUTEGEN_LAUNCH(twice)
#include <cutegen/kernel.cuh>

extern "C" __global__ void twice(float const* x, float* y, int64_t n) {
  if (threadIdx.x < n) y[threadIdx.x] = 2 * x[threadIdx.x];
}

CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(twice).grid(1).block(256).args(0, cutegen::output(0), task::in0::elements)));
