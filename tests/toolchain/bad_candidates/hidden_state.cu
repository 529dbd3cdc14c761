// backend: cuda
// stage: policy
// expect: no_persistent_state: 'calls' keeps its value between launches
#include <cutegen/kernel.cuh>

// To the tokens this is the declaration of a function; the PTX shows the variable all the same.
#define STORED(type, name) __device__ type name
STORED(int, calls);

extern "C" __global__ void twice(float const* x, float* y) {
  if (atomicAdd(&calls, 1) == 0) y[threadIdx.x] = 2 * x[threadIdx.x];
}
CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(twice).grid(1).block(256).args(cutegen::input(0), cutegen::output(0))));
