// backend: ptx
// stage: ptxas
// expect: Unknown modifier '.rx'
// user: asm("fma.rx.f32
#include <cutegen/kernel.cuh>

extern "C" __global__ void twice(float const* x, float* y) {
  float v = x[threadIdx.x];
  asm("fma.rx.f32 %0, %0, %0, %0;" : "+f"(v));
  y[threadIdx.x] = v;
}
CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(twice).grid(1).block(256).args(cutegen::input(0), cutegen::output(0))));
