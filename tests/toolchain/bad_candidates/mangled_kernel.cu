// backend: cuda
// stage: plan
// expect: launch 0 (twice) starts a kernel that the PTX does not hold
#include <cutegen/kernel.cuh>

__global__ void twice(float const* x, float* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }
CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(twice).grid(1).block(256).args(cutegen::input(0), cutegen::output(0))));
