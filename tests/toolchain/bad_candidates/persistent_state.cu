// backend: cuda
// user: __device__ int calls = 0;
// stage: policy
// expect: no_persistent_state: 'calls' keeps its value between launches
#include <cutegen/kernel.cuh>

__device__ int calls = 0;
__device__ constexpr float factor = 2.0f;

extern "C" __global__ void twice(float const* x, float* y) {
  if (atomicAdd(&calls, 1) == 0) y[threadIdx.x] = factor * x[threadIdx.x];
}
CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(twice).grid(1).block(256).args(cutegen::input(0), cutegen::output(0))));
