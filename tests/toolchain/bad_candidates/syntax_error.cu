// backend: cuda
// stage: nvcc
// expect: candidate.cu:10: error: expected a ";"
// user: y[i] = v;
#include <cutegen/kernel.cuh>

extern "C" __global__ void __launch_bounds__(256) twice(float const* x, float* y, int64_t n) {
  for (int64_t i = blockIdx.x * 256 + threadIdx.x; i < n; i += 256 * gridDim.x) {
    float const v = x[i] * 2.0f
    y[i] = v;
  }
}

CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(twice).grid(132).block(256).args(cutegen::input(0), cutegen::output(0), task::in0::elements)));
