// backend: cuda
// user: twice<<<1, 256>>>(x, y);
// stage: policy
// expect: no_host_code: <<<...>>> is host code
#include <cutegen/kernel.cuh>

extern "C" __global__ void twice(float const* x, float* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }

void run(float const* x, float* y) {
  // The string "<<<" in a comment does not count; the launch does.
  twice<<<1, 256>>>(x, y);
}
CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(twice).grid(1).block(256).args(cutegen::input(0), cutegen::output(0))));
