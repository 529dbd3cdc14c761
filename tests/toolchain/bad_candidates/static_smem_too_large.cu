// backend: cuda
// stage: ptxas
// expect: uses too much shared data
#include <cutegen/kernel.cuh>

extern "C" __global__ void twice(float const* x, float* y) {
  __shared__ float tile[100000];
  tile[threadIdx.x * 97] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = 2 * tile[(threadIdx.x ^ 1) * 97];
}
CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(twice).grid(1).block(256).args(cutegen::input(0), cutegen::output(0))));
