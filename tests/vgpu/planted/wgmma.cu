// wgmma: its accumulators, its operands in shared memory, its groups. One product of 64x8 by 16, in f16.
#include "planted.h"

__device__ __forceinline__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wait() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }
__device__ __forceinline__ uint64_t descriptor(const void* tile, uint32_t leading, uint32_t stride) {
  return (smem(tile) >> 4) | uint64_t{leading} << 16 | uint64_t{stride} << 32;
}
__device__ __forceinline__ void product(float (&d)[4], uint64_t a, uint64_t b) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "l"(a), "l"(b));
}
struct Tiles {
  uint16_t a[64 * 16], b[8 * 16];
};
__device__ __forceinline__ void fill(Tiles& t, uint16_t v) {
  for (int i = threadIdx.x; i < 64 * 16; i += 128) t.a[i] = v;
  if (threadIdx.x < 128) t.b[threadIdx.x] = v;
}
__device__ __forceinline__ uint64_t desc_a(const Tiles& t) { return descriptor(t.a, 8, 16); }
__device__ __forceinline__ uint64_t desc_b(const Tiles& t) { return descriptor(t.b, 8, 16); }

PLANTED(accumulators_read_too_early) {
  __shared__ __align__(128) Tiles t;
  fill(t, 0x3c00);
  fence_proxy_async();
  __syncthreads();
  float d[4] = {};
  fence();
  product(d, desc_a(t), desc_b(t));
  commit();
  if constexpr (Repaired) wait();
  float sum;
  asm volatile("add.f32 %0, %1, %2;" : "=f"(sum) : "f"(d[0]), "f"(d[1]));  // BUG accumulators_read_too_early
  if constexpr (!Repaired) wait();
  out[threadIdx.x] = sum;
}
TWINS(accumulators_read_too_early)

PLANTED(tiles_without_proxy_fence) {
  __shared__ __align__(128) Tiles t;
  fill(t, 0x3c00);
  if constexpr (Repaired) fence_proxy_async();
  __syncthreads();
  float d[4] = {};
  fence();
  product(d, desc_a(t), desc_b(t));  // BUG tiles_without_proxy_fence
  commit();
  wait();
  out[threadIdx.x] = d[0];
}
TWINS(tiles_without_proxy_fence)

PLANTED(tile_overwritten_in_flight) {
  __shared__ __align__(128) Tiles t;
  fill(t, 0x3c00);
  fence_proxy_async();
  __syncthreads();
  float d[4] = {};
  fence();
  product(d, desc_a(t), desc_b(t));
  commit();
  if constexpr (Repaired) {
    wait();
    __syncthreads();
  }
  t.a[threadIdx.x] = 0;  // BUG tile_overwritten_in_flight
  if constexpr (!Repaired) wait();
  out[threadIdx.x] = d[0];
}
TWINS(tile_overwritten_in_flight)

PLANTED(missing_wgmma_fence) {
  __shared__ __align__(128) Tiles t;
  fill(t, 0x3c00);
  fence_proxy_async();
  __syncthreads();
  float d[4];
  for (float& v : d) v = in[threadIdx.x] + 1;
  if constexpr (Repaired) fence();
  product(d, desc_a(t), desc_b(t));  // BUG missing_wgmma_fence
  commit();
  wait();
  out[threadIdx.x] = d[0];
}
TWINS(missing_wgmma_fence)

PLANTED(wgmma_at_exit) {
  __shared__ __align__(128) Tiles t;
  fill(t, 0x3c00);
  fence_proxy_async();
  __syncthreads();
  float d[4] = {};
  fence();
  product(d, desc_a(t), desc_b(t));  // BUG wgmma_at_exit
  commit();
  if constexpr (Repaired) wait();
}
TWINS(wgmma_at_exit)

PLANTED(tiles_not_ready) {  // no barrier between the stores of other warps and the product
  __shared__ __align__(128) Tiles t;
  fill(t, 0x3c00);
  fence_proxy_async();
  if constexpr (Repaired) __syncthreads();
  float d[4] = {};
  fence();
  product(d, desc_a(t), desc_b(t));  // BUG tiles_not_ready
  commit();
  wait();
  out[threadIdx.x] = d[0];
}
TWINS(tiles_not_ready)
