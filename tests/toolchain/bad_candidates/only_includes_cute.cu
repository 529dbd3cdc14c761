// backend: cute
// stage: policy
// expect: uses_cute: the backend is 'cute', but the code uses none of CuTe's layouts, tensors or atoms
#include <cutegen/kernel.cuh>

#include <cute/tensor.hpp>

using namespace cute;

// cute::make_tensor(cute::make_gmem_ptr(x), cute::make_layout(256))
extern "C" __global__ void twice(float const* x, float* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }
CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(twice).grid(1).block(256).args(cutegen::input(0), cutegen::output(0))));
