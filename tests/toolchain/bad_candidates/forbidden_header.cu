// backend: cuda
// stage: policy
// user: #include <torch/extension.h>
// expect: include_allowed: <torch/extension.h> is not one of the headers
#include <cutegen/kernel.cuh>
#include <torch/extension.h>

extern "C" __global__ void twice(float const* x, float* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }
CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(twice).grid(1).block(256).args(cutegen::input(0), cutegen::output(0))));
