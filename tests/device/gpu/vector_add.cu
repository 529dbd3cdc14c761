// Two inputs, one output: the plainest candidate.
#include <cutegen/kernel.cuh>
#include <task.h>

extern "C" __global__ void __launch_bounds__(256) add(float const* a, float const* b, float* y, int64_t n) {
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += int64_t{gridDim.x} * blockDim.x) y[i] = a[i] + b[i];
}

CUTEGEN_PLAN(cutegen::plan(
    CUTEGEN_LAUNCH(add).grid(132 * 8).block(256).args(cutegen::input(0), cutegen::input(1), cutegen::output(0), task::in0::elements)));
