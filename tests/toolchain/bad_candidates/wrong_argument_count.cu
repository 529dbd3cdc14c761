// backend: cuda
// stage: nvcc
// expect: the number of arguments in .args() differs from the kernel's parameters
// user: CUTEGEN_LAUNCH(twice).grid(132).block(256)
#include <cutegen/kernel.cuh>

extern "C" __global__ void twice(float const* x, float* y, int64_t n) {
  if (threadIdx.x < n) y[threadIdx.x] = 2 * x[threadIdx.x];
}

CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(twice).grid(132).block(256).args(cutegen::input(0), cutegen::output(0))));
