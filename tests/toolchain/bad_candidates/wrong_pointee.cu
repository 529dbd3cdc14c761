// backend: cuda
// stage: nvcc
// expect: the element type of a pointer parameter differs from the tensor's
// user: CUTEGEN_PLAN(
#include <cutegen/kernel.cuh>

extern "C" __global__ void twice(__half const* x, float* y, int64_t n) {
  if (threadIdx.x < n) y[threadIdx.x] = 2 * __half2float(x[threadIdx.x]);
}

CUTEGEN_PLAN(
    cutegen::plan(CUTEGEN_LAUNCH(twice).grid(1).block(256).args(cutegen::input(0), cutegen::output(0), task::in0::elements)));
