// backend: ptx
// user: asm volatile("exit;");
// stage: policy
// expect: no_asm_exit: inline asm with 'exit'
#include <cutegen/kernel.cuh>

extern "C" __global__ void twice(float const* x, float* y) {
  y[threadIdx.x] = 2 * x[threadIdx.x];
  asm volatile("exit;");
}
CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(twice).grid(1).block(256).args(cutegen::input(0), cutegen::output(0))));
