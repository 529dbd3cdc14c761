// backend: cuda
// stage: policy
// expect: has_plan: no CUTEGEN_PLAN
#include <cutegen/kernel.cuh>

// CUTEGEN_PLAN(cutegen::plan(...)) in a comment is no plan.
extern "C" __global__ void twice(float const* x, float* y, int64_t n) {
  if (threadIdx.x < n) y[threadIdx.x] = 2 * x[threadIdx.x];
}
