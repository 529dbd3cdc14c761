// backend: cuda
// stage: nvcc
// expect: the dynamic shared memory of a launch is over 227 KB
// user: CUTEGEN_PLAN(
#include <cutegen/kernel.cuh>

extern "C" __global__ void twice(float const* x, float* y) {
  extern __shared__ float tile[];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = 2 * tile[threadIdx.x];
}

CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(twice).grid(1).block(256).smem(256 * 1024).args(cutegen::input(0), cutegen::output(0))));
