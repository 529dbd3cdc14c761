// backend: cute
// stage: nvcc
// expect: static assertion failed
// user: copy(
// cute: cute/
#include <cutegen/kernel.cuh>

#include <cute/tensor.hpp>

using namespace cute;

extern "C" __global__ void __launch_bounds__(256) twice(float const* x, float* y) {
  auto from = make_tensor(make_gmem_ptr(x), make_layout(make_shape(Int<3>{}, Int<4>{})));
  auto to = make_tensor(make_gmem_ptr(y), make_layout(make_shape(Int<3>{}, Int<4>{})));
  copy(Copy_Atom<UniversalCopy<uint128_t>, float>{}, from, to);
}
CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(twice).grid(1).block(256).args(cutegen::input(0), cutegen::output(0))));
