// backend: cuda
// stage: nvcc
// expect: identifier "thrice" is undefined
// user: CUTEGEN_LAUNCH(thrice)
#include <cutegen/kernel.cuh>

extern "C" __global__ void twice(float const* x, float* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }
CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(thrice).grid(1).block(256).args(cutegen::input(0), cutegen::output(0))));
