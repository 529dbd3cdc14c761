// backend: cuda
// stage: plan
// expect: launch 0 (twice) needs 249856 bytes of shared memory (20480 static + 229376 dynamic), over the limit of 232448
#include <cutegen/kernel.cuh>

extern "C" __global__ void twice(float const* x, float* y) {
  __shared__ float tile[5120];
  extern __shared__ float more[];
  tile[threadIdx.x] = x[threadIdx.x];
  more[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = tile[threadIdx.x ^ 1] + more[threadIdx.x ^ 1];
}
CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(twice).grid(1).block(256).smem(224 * 1024).args(cutegen::input(0), cutegen::output(0))));
