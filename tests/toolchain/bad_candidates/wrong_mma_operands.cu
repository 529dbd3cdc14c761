// backend: cute
// stage: nvcc
// expect: no instance of overloaded function "gemm" matches the argument list argument types are: (cute::TiledMMA<
// user: gemm(
#include <cutegen/kernel.cuh>

#include <cute/tensor.hpp>

using namespace cute;

extern "C" __global__ void __launch_bounds__(32) twice(float const* x, float* y) {
  auto mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{});
  auto a = make_tensor(make_gmem_ptr(x), make_layout(make_shape(Int<16>{}, Int<16>{})));
  auto c = make_tensor(make_gmem_ptr(y), make_layout(make_shape(Int<16>{}, Int<8>{})));
  auto thr = mma.get_thread_slice(threadIdx.x);
  auto rA = thr.partition_fragment_A(a);
  auto rC = thr.partition_fragment_C(c);
  gemm(mma, rA, rA, rC, rC, rC);
}
CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(twice).grid(1).block(32).args(cutegen::input(0), cutegen::output(0))));
