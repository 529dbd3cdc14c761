// backend: cuda
// stage: nvcc
// expect: no launch is given one of the task's outputs
// user: CUTEGEN_PLAN(
#include <cutegen/kernel.cuh>

extern "C" __global__ void twice(float const* x, float* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }
CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(twice).grid(1).block(256).args(cutegen::input(0), cutegen::workspace())).workspace(1024));
