// backend: cuda
// stage: plan
// expect: give the kernel __launch_bounds__(1024)
#include <cutegen/kernel.cuh>

extern "C" __global__ void twice(float const* x, float* y) {
  float v[96];
#pragma unroll
  for (int i = 0; i < 96; ++i) v[i] = x[threadIdx.x + 1024 * (i & 15)] * (i + 1);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 96; ++i)
#pragma unroll
    for (int k = 0; k < 96; k += 7) v[i] = fmaf(v[i], v[k], v[(i + k) % 96]);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 96; ++i) sum += v[i];
  y[threadIdx.x] = sum;
}
CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(twice).grid(1).block(1024).args(cutegen::input(0), cutegen::output(0))));
