// y = x by TMA: each CTA loads a 64 x 32 box of a 1024 x 1024 matrix into shared memory and stores it again, both through tensor maps.
#include <cutegen/kernel.cuh>
#include <task.h>

struct alignas(64) TensorMap {
  char opaque[128];
};

inline constexpr int kCols = 1024, kRows = 1024, kBoxCols = 64, kBoxRows = 32;
static_assert(task::in0::elements == int64_t{kCols} * kRows);

__device__ uint32_t smem_address(void const* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

extern "C" __global__ void tma_copy(const __grid_constant__ TensorMap from, const __grid_constant__ TensorMap to) {
  extern __shared__ __align__(128) float tile[];  // [kBoxRows, kBoxCols]
  __shared__ uint64_t arrived;
  const int col = static_cast<int>(blockIdx.x) * kBoxCols;
  const int row = static_cast<int>(blockIdx.y) * kBoxRows;
  const uint32_t barrier = smem_address(&arrived);
  if (threadIdx.x != 0) return;
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(kBoxCols * kBoxRows * 4) : "memory");
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(smem_address(tile)),
               "l"(&from), "r"(col), "r"(row), "r"(barrier)
               : "memory");
  asm volatile(
      "{\n .reg .pred done;\n"
      "again:\n mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n"
      " @!done bra again;\n}" ::"r"(barrier)
      : "memory");
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&to), "r"(col), "r"(row), "r"(smem_address(tile))
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

constexpr auto map_of(auto buffer) {
  return cutegen::tma(buffer, cutegen::dtype::f32, {kCols, kRows}, {kCols * 4}, {kBoxCols, kBoxRows});
}

CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(tma_copy)
                               .grid(kCols / kBoxCols, kRows / kBoxRows)
                               .block(32)
                               .smem(kBoxCols * kBoxRows * 4)
                               .args(map_of(cutegen::input(0)), map_of(cutegen::output(0)))));
