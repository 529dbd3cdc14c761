// backend: cuda
// stage: nvcc
// expect: excessive recursion at instantiation
// user: return deeper<N + 1>(v) + 1;
#include <cutegen/kernel.cuh>

template <int N>
__device__ float deeper(float v) {
  return deeper<N + 1>(v) + 1;
}

extern "C" __global__ void twice(float const* x, float* y) { y[threadIdx.x] = deeper<0>(x[threadIdx.x]); }
CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(twice).grid(1).block(256).args(cutegen::input(0), cutegen::output(0))));
