// Building blocks of kernels whose rows live in the shared memory of a thread-block cluster: copies that the issuing thread waits for
// later (PTX ISA: cp.async), and merges through distributed shared memory (mapa, ld.shared::cluster).
#pragma once

#include <cute/arch/cluster_sm90.hpp>
#include <cute/arch/copy_sm80.hpp>

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

// s(to + j) = g(from + j) for j < V, contiguous and aligned on both sides. Done for the issuing thread when its cp_async_wait returns:
// for accesses of less than 4 bytes, which cp.async has not, at once.
template <int V, class Gmem, class Smem>
__device__ __forceinline__ void copy_async(Gmem const& g, int from, Smem const& s, int to) {
  using T = cute::remove_cv_t<typename Gmem::value_type>;
  constexpr int bytes = sizeof(T) * V;
  static_assert(std::is_same_v<T, cute::remove_cv_t<typename Smem::value_type>>);
  if constexpr (bytes == 16) {
    cute::SM80_CP_ASYNC_CACHEGLOBAL<uint4>::copy(reinterpret_cast<uint4 const&>(g(from)), reinterpret_cast<uint4&>(s(to)));
  } else if constexpr (bytes == 8) {
    cute::SM80_CP_ASYNC_CACHEALWAYS<uint64_t>::copy(reinterpret_cast<uint64_t const&>(g(from)), reinterpret_cast<uint64_t&>(s(to)));
  } else if constexpr (bytes == 4) {
    cute::SM80_CP_ASYNC_CACHEALWAYS<uint32_t>::copy(reinterpret_cast<uint32_t const&>(g(from)), reinterpret_cast<uint32_t&>(s(to)));
  } else {
    CUTE_UNROLL
    for (int j = 0; j < V; ++j) s(to + j) = g(from + j);
  }
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
