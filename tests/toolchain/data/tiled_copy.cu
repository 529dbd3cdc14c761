#include <cutegen/kernel.cuh>
#include <cute/tensor.hpp>
using namespace cute;
extern "C" __global__ void __launch_bounds__(256) twice(float const* x, float* y) {
  auto from = make_tensor(make_gmem_ptr(x), make_layout(make_shape(Int<12>{}, Int<4>{})));
  auto to = make_tensor(make_gmem_ptr(y), make_layout(make_shape(Int<12>{}, Int<4>{})));
  auto tc = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{}, Layout<Shape<_8,_4>>{}, Layout<Shape<_1,_1>>{});
  auto th = tc.get_slice(threadIdx.x);
  copy(tc, th.partition_S(from), th.partition_D(to));
  auto bad = local_tile(from, make_shape(Int<5>{}, Int<4>{}, Int<3>{}), make_coord(0,0));
}
CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(twice).grid(1).block(256).args(cutegen::input(0), cutegen::output(0))));
