// The product of two packed operands with mma.sync m16n8k16 (sm_80 and later): cp.async stages, ldmatrix, 128x128 tiles, 8 warps.
//
// Per 32 of K and per 16x8 block of the output: hi·hi goes into a fresh accumulator (two MMAs), hi·lo + lo·hi into a second one (four), and
// both are then added to the fp32 total in ordinary registers. A tensor core truncates when it adds to its accumulator, always towards
// zero, so that a sum of positive terms loses half an ulp a step; two steps instead of K/16 keep that below fp32's own rounding
// (docs/gemm.md).
#pragma once

#include <cute/tensor.hpp>

#include "gemm_epilogue.cuh"

namespace cutegen::gemm {

// The output tile of a CTA: bands of `group` row tiles are walked column by column, so that the CTAs that run together share operand tiles
// in L2.
template <int64_t MTiles, int64_t NTiles, int Group>
CUTE_HOST_DEVICE constexpr cute::tuple<int64_t, int64_t> tile_of(int64_t cta) {
  const int64_t band = cta / (Group * NTiles);
  const int64_t first = band * Group;
  const int64_t height = MTiles - first < Group ? MTiles - first : Group;
  const int64_t within = cta - band * Group * NTiles;
  return {first + within % height, within / height};
}

// The tiles of K that belong to split blockIdx.y of `Splits`.
template <int KTiles, int Splits>
struct KRange {
  static_assert(Splits >= 1 && Splits <= KTiles, "more splits than tiles of K");
  int begin = 0, tiles = KTiles;
  CUTE_DEVICE KRange() {
    if constexpr (Splits > 1) {
      begin = static_cast<int>(static_cast<int64_t>(KTiles) * blockIdx.y / Splits);
      tiles = static_cast<int>(static_cast<int64_t>(KTiles) * (blockIdx.y + 1) / Splits) - begin;
    }
  }
};

inline constexpr int kPromoteSteps = 2;  // of 16 of K, between two additions to the fp32 total

// TiledMma: 8 warps as 2x4 over Tile<_32, _64, _16>, so that each owns 16 columns of every 64 and one ldmatrix.x4 feeds two MMAs.
template <class A, class B, class TiledMma, int Stages, int Splits>
struct MmaSync {
  static_assert(A::k == B::k);
  static_assert(cute::size(TiledMma{}) == 256);
  using PA = Packed<A>;
  using PB = Packed<B>;
  static constexpr int threads = 256;
  static constexpr int tile_m = kTileRows;
  static constexpr int tile_n = kTileRows;
  static constexpr int64_t m_tiles = PA::row_tiles;
  static constexpr int64_t n_tiles = PB::row_tiles;
  static constexpr int splits = Splits;
  static constexpr int stage_bytes = 2 * kPairBytes;
  static constexpr int64_t smem_bytes = Stages * stage_bytes + 1024;  // the swizzle wants 1 KiB alignment
  static_assert(Stages >= 2 && smem_bytes <= 232448, "the stages do not fit into shared memory");

  // Both terms of a tile, unchanged: packed global memory holds the image of shared memory.
  CUTE_DEVICE static void load_pair(cute::half_t const* from, unsigned char* to) {
    auto const* source = reinterpret_cast<uint4 const*>(from) + threadIdx.x;
    auto* target = reinterpret_cast<uint4*>(to) + threadIdx.x;
    CUTE_UNROLL
    for (int i = 0; i < kPairBytes / 16 / threads; ++i)
      cute::SM80_CP_ASYNC_CACHEGLOBAL<uint4>::copy(source[i * threads], target[i * threads]);
  }

  template <class Output>
  CUTE_DEVICE static void run(cute::half_t const* a, cute::half_t const* b, Output const& output) {
    using namespace cute;
    extern __shared__ unsigned char raw[];
    unsigned char* smem = raw + (1024 - cast_smem_ptr_to_uint(raw) % 1024) % 1024;
    const auto [m_tile, n_tile] = tile_of<m_tiles, n_tiles, 8>(blockIdx.x);
    const int64_t m0 = m_tile * tile_m, n0 = n_tile * tile_n;
    const KRange<static_cast<int>(PA::k_tiles), Splits> range;
    const int k_tiles = range.tiles;
    cute::half_t const* a_pairs = a + PA::pair_offset(m_tile, range.begin);
    cute::half_t const* b_pairs = b + PB::pair_offset(n_tile, range.begin);
    auto load = [&](int k_tile, int stage) {
      load_pair(a_pairs + static_cast<int64_t>(k_tile) * 2 * kTileElements, smem + stage * stage_bytes);
      load_pair(b_pairs + static_cast<int64_t>(k_tile) * 2 * kTileElements, smem + stage * stage_bytes + kPairBytes);
    };

    TiledMma mma;
    auto thread = mma.get_slice(threadIdx.x);
    auto copy_a = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
    auto copy_b = make_tiled_copy_B(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
    auto thread_a = copy_a.get_slice(threadIdx.x);
    auto thread_b = copy_b.get_slice(threadIdx.x);

    Tensor total = partition_fragment_C(mma, Shape<Int<tile_m>, Int<tile_n>>{});  // (4, 4, 4): MMA, blocks of 32 rows, blocks of 32 columns
    clear(total);

    CUTE_UNROLL
    for (int stage = 0; stage < Stages - 1; ++stage) {
      if (stage < k_tiles) load(stage, stage);
      cp_async_fence();
    }
    CUTE_NO_UNROLL
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
      cp_async_wait<Stages - 2>();
      __syncthreads();
      const int ahead = k_tile + Stages - 1;
      if (ahead < k_tiles) load(ahead, ahead % Stages);
      cp_async_fence();

      auto* stage = reinterpret_cast<half_t*>(smem + (k_tile % Stages) * stage_bytes);
      Tensor sA_hi = make_tensor(make_smem_ptr(stage), TileLayout{});  // [128, 64] each
      Tensor sA_lo = make_tensor(make_smem_ptr(stage + kTileElements), TileLayout{});
      Tensor sB_hi = make_tensor(make_smem_ptr(stage + 2 * kTileElements), TileLayout{});
      Tensor sB_lo = make_tensor(make_smem_ptr(stage + 3 * kTileElements), TileLayout{});
      // One promotion's worth of K at a time, in a real loop: both operands' fragments for all 64 would not fit into the registers.
      Tensor slice = make_tensor(make_smem_ptr(stage), Layout<Shape<Int<kTileRows>, Int<16 * kPromoteSteps>>>{});
      CUTE_NO_UNROLL
      for (int step = 0; step < kTileK / 16; step += kPromoteSteps) {
        Tensor rA_hi = thread.partition_fragment_A(slice);  // (8, 4, kPromoteSteps): values, blocks of rows, steps of 16 of K
        Tensor rA_lo = make_fragment_like(rA_hi);
        Tensor rB_hi = thread.partition_fragment_B(slice);  // (4, 4, kPromoteSteps)
        Tensor rB_lo = make_fragment_like(rB_hi);
        CUTE_UNROLL
        for (int k = 0; k < kPromoteSteps; ++k) {
          copy(copy_a, thread_a.partition_S(sA_hi)(_, _, step + k), thread_a.retile_D(rA_hi)(_, _, k));
          copy(copy_a, thread_a.partition_S(sA_lo)(_, _, step + k), thread_a.retile_D(rA_lo)(_, _, k));
        }
        CUTE_UNROLL
        for (int n = 0; n < size<1>(rB_hi); ++n) {
          if (n % 2 == 0) {
            CUTE_UNROLL
            for (int k = 0; k < kPromoteSteps; ++k) {
              copy(copy_b, thread_b.partition_S(sB_hi)(_, n / 2, step + k), thread_b.retile_D(rB_hi)(_, n / 2, k));
              copy(copy_b, thread_b.partition_S(sB_lo)(_, n / 2, step + k), thread_b.retile_D(rB_lo)(_, n / 2, k));
            }
          }
          Tensor high = make_fragment_like(total(_, _, n));   // hi·hi
          Tensor cross = make_fragment_like(total(_, _, n));  // (hi·lo + lo·hi) * kLowScale
          clear(high);
          clear(cross);
          CUTE_UNROLL
          for (int k = 0; k < kPromoteSteps; ++k) {
            CUTE_UNROLL
            for (int m = 0; m < size<1>(rA_hi); ++m) {
              cute::gemm(mma, rA_hi(_, m, k), rB_hi(_, n, k), high(_, m));
              cute::gemm(mma, rA_hi(_, m, k), rB_lo(_, n, k), cross(_, m));
              cute::gemm(mma, rA_lo(_, m, k), rB_hi(_, n, k), cross(_, m));
            }
          }
          Tensor sum = total(_, _, n);
          CUTE_UNROLL
          for (int i = 0; i < size(sum); ++i) sum(i) += fmaf(cross(i), 1.0f / kLowScale, high(i));
        }
      }
    }

    output.store_fragment(total, thread.partition_C(make_identity_tensor(Shape<Int<tile_m>, Int<tile_n>>{})), m0, n0);
    output.template recompute_unpackable<tile_m, tile_n>(threadIdx.x, threads, m0, n0);
  }
};

}  // namespace cutegen::gemm
