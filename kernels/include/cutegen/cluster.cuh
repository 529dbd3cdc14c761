// Merging accumulators over a thread-block cluster through distributed shared memory (PTX ISA: mapa, ld.shared::cluster).
#pragma once

#include <cute/arch/cluster_sm90.hpp>

#include "reduce.cuh"

namespace cutegen {

// The word at `local` (an address in this CTA's shared memory) of the CTA with `rank` in the cluster.
__device__ __forceinline__ uint32_t load_dsmem(uint32_t const* local, uint32_t rank) {
  uint32_t const address = static_cast<uint32_t>(__cvta_generic_to_shared(local));
  uint32_t remote, value;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank));
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(remote) : "memory");
  return value;
}

// Merges over all threads of a cluster of `ctas` CTAs, in the order of their ranks; all threads get the result. `mine` is a slot in
// shared memory at the same place in every CTA; it may not be written again before the next cluster-wide barrier.
template <int threads, int ctas, class Acc>
__device__ __forceinline__ Acc cluster_merge(Acc acc, MergeStorage<Acc, threads>& storage, Acc& mine) {
  static_assert(std::is_trivially_copyable_v<Acc> && sizeof(Acc) % 4 == 0);
  constexpr int words = sizeof(Acc) / 4;
  struct Words { uint32_t w[words]; };
  acc = cta_merge<threads>(acc, storage);
  if (threadIdx.x == 0) mine = acc;
  cute::cluster_sync();
  Acc total{};
  for (int rank = 0; rank < ctas; ++rank) {
    Words other;
    CUTE_UNROLL
    for (int i = 0; i < words; ++i) other.w[i] = load_dsmem(reinterpret_cast<uint32_t const*>(&mine) + i, rank);
    total.merge(__builtin_bit_cast(Acc, other));
  }
  return total;
}

}  // namespace cutegen
