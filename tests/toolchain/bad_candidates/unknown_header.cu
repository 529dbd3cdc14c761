// backend: cuda
// stage: nvcc
// expect: candidate.cu:6: error: cutegen/no_such_block.cuh: No such file or directory
// user: #include <cutegen/no_such_block.cuh>
#include <cutegen/kernel.cuh>
#include <cutegen/no_such_block.cuh>

extern "C" __global__ void twice(float const* x, float* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }
CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(twice).grid(1).block(256).args(cutegen::input(0), cutegen::output(0))));
