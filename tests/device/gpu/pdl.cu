// y = 2x, then y += 1 by a dependent launch that starts early and waits for the memory of the first.
#include <cutegen/kernel.cuh>
#include <task.h>

extern "C" __global__ void __launch_bounds__(256) twice(float const* x, float* y) {
  const int64_t i = int64_t{blockIdx.x} * 256 + threadIdx.x;
  asm volatile("griddepcontrol.launch_dependents;");
  y[i] = 2.0f * x[i];
}

extern "C" __global__ void __launch_bounds__(256) plus_one(float* y) {
  const int64_t i = int64_t{blockIdx.x} * 256 + threadIdx.x;
  asm volatile("griddepcontrol.wait;" ::: "memory");
  y[i] += 1.0f;
}

CUTEGEN_PLAN(cutegen::plan(
    CUTEGEN_LAUNCH(twice).grid(task::in0::elements / 256).block(256).args(cutegen::input(0), cutegen::output(0)),
    CUTEGEN_LAUNCH(plus_one).grid(task::in0::elements / 256).block(256).pdl().args(cutegen::output(0))));
