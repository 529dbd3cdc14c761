// y[i] = x[n-1-i], through a workspace and a grid-wide barrier: right only when all CTAs are resident at once.
#include <cooperative_groups.h>
#include <cutegen/kernel.cuh>
#include <task.h>

extern "C" __global__ void __launch_bounds__(256) reverse(float const* x, float* y, float* scratch, int64_t n) {
  const int64_t first = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = first; i < n; i += step) scratch[n - 1 - i] = x[i];
  cooperative_groups::this_grid().sync();
  for (int64_t i = first; i < n; i += step) y[i] = scratch[i];
}

CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(reverse).grid(132).block(256).cooperative().args(
                               cutegen::input(0), cutegen::output(0), cutegen::workspace(), task::in0::elements))
                 .workspace(task::in0::bytes));
