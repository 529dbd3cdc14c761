// backend: cuda
// stage: policy
// expect: no_persistent_state: 'calls' keeps its value between launches
#include <cutegen/kernel.cuh>

// No rule about tokens sees a type that declares; the PTX shows the variable all the same.
#define STORED(space, type, name) space type name
STORED(__device__, int, calls);

extern "C" __global__ void twice(float const* x, float* y) {
  if (atomicAdd(&calls, 1) == 0) y[threadIdx.x] = 2 * x[threadIdx.x];
}
CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(twice).grid(1).block(256).args(cutegen::input(0), cutegen::output(0))));
