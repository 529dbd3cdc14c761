// Scans (prefix sums and products) of a tile that a CTA holds in registers. Every tree has a fixed order: the same input gives the same bits.
//
// A tile is [warp][access u][lane][v], in the order of the scan: a warp's elements are neighbours, and so are the elements of one access of
// it. Within a tile floats are added as a tree (4 to 16 sequential additions and 5 levels of shuffles, whatever the row's length); from warp to warp and from
// tile to tile in double, so that a long row is no less accurate than PyTorch's, which carries floats.
#pragma once

#include <cute/tensor.hpp>

#include <cstdint>
#include <type_traits>

#include "reduce.cuh"

namespace cutegen {

template <class T>
struct ScanSum {
  using Value = T;
  using Wide = detail::wide_t<T>;
  __device__ static constexpr T neutral() { return T(0); }
  template <class U>
  __device__ __forceinline__ static U combine(U a, U b) { return a + b; }
};

// In double throughout: a part of the row whose product overflows a float may stand behind a zero, and 0 * inf would be NaN where the product
// is 0.
template <class T>
struct ScanProduct {
  using Value = detail::wide_t<T>;
  using Wide = Value;
  __device__ static constexpr Value neutral() { return Value(1); }
  template <class U>
  __device__ __forceinline__ static U combine(U a, U b) { return a * b; }
};

// Totals of the warps, alternating between tiles, so that one barrier a tile is enough.
template <class Op, int kThreads>
struct ScanStorage {
  typename Op::Value totals[2][kThreads / 32];
};

// Replaces t, this thread's part of a tile, by the scan of the tile that begins after `carry`, and brings `carry` to the tile's end. All
// threads of the CTA take part; `parity` alternates from tile to tile.
template <class Op, int kThreads, bool exclusive, int U, int V>
__device__ __forceinline__ void tile_scan(typename Op::Value (&t)[U][V], typename Op::Wide& carry, ScanStorage<Op, kThreads>& storage,
                                          int parity) {
  using T = typename Op::Value;
  using Wide = typename Op::Wide;
  constexpr unsigned kAll = 0xffffffffu;
  int const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  T before[U];  // what the warp has before this lane's access u
  T total = Op::neutral();
  CUTE_UNROLL
  for (int u = 0; u < U; ++u) {
    CUTE_UNROLL
    for (int v = 1; v < V; ++v) t[u][v] = Op::combine(t[u][v - 1], t[u][v]);
    T sum = t[u][V - 1];
    CUTE_UNROLL
    for (int distance = 1; distance < 32; distance *= 2) {
      T const other = __shfl_up_sync(kAll, sum, distance);
      if (lane >= distance) sum = Op::combine(other, sum);
    }
    T const left = __shfl_up_sync(kAll, sum, 1);
    before[u] = lane == 0 ? total : Op::combine(total, left);
    total = Op::combine(total, __shfl_sync(kAll, sum, 31));
  }
  if (lane == 31) storage.totals[parity][warp] = total;
  __syncthreads();
  Wide start = carry;
  CUTE_UNROLL
  for (int w = 0; w < kThreads / 32; ++w) {
    if (w == warp) start = carry;
    carry = Op::combine(carry, static_cast<Wide>(storage.totals[parity][w]));
  }
  CUTE_UNROLL
  for (int u = 0; u < U; ++u) {
    T const offset = static_cast<T>(Op::combine(start, static_cast<Wide>(before[u])));
    if constexpr (exclusive) {
      CUTE_UNROLL
      for (int v = V - 1; v > 0; --v) t[u][v] = Op::combine(offset, t[u][v - 1]);
      t[u][0] = offset;
    } else {
      CUTE_UNROLL
      for (int v = 0; v < V; ++v) t[u][v] = Op::combine(offset, t[u][v]);
    }
  }
}

}  // namespace cutegen
