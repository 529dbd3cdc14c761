// backend: cuda
// stage: plan
// expect: launch 0 (twice) has 512 threads a block, but the kernel is compiled for at most 256
#include <cutegen/kernel.cuh>

extern "C" __global__ void __launch_bounds__(256) twice(float const* x, float* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }
CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(twice).grid(1).block(512).args(cutegen::input(0), cutegen::output(0))));
