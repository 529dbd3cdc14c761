// The product of two packed operands with wgmma (sm_90a): one producer warp that issues bulk copies, two consumer warpgroups that each own
// 64 of the tile's 128 rows, mbarriers between them, and clusters of two CTAs that share their tile of B.
//
// Per PromoteTiles * 64 of K a warpgroup issues hi·hi into a fresh accumulator, and every 64 hi·lo + lo·hi into one that lives as long as
// the tile (it is 2^11 times smaller, so its truncation does not matter). While the second batch runs, the first is added to the fp32 total
// in ordinary registers; see gemm_mma_sync.cuh and docs/gemm.md for why.
#pragma once

#include <cutlass/arch/reg_reconfig.h>

#include <cute/tensor.hpp>

#include "gemm_barrier.cuh"
#include "gemm_epilogue.cuh"
#include "gemm_mma_sync.cuh"

namespace cutegen::gemm {

// TiledMma: a wgmma m64n128k16 with both operands in shared memory, two warpgroups along M.
template <class A, class B, class TiledMma, int Stages, int ClusterM, int PromoteTiles, int Splits>
struct Wgmma {
  static_assert(A::k == B::k);
  static_assert(cute::size(TiledMma{}) == 256);
  static_assert(ClusterM == 1 || ClusterM == 2);
  using PA = Packed<A>;
  using PB = Packed<B>;
  static constexpr int consumers = 2;  // warpgroups
  static constexpr int threads = 128 * (1 + consumers);
  static constexpr int tile_m = kTileRows;
  static constexpr int tile_n = kTileRows;
  static constexpr int64_t m_tiles = (PA::row_tiles + ClusterM - 1) / ClusterM * ClusterM;  // the last one of a cluster may lie outside
  static constexpr int64_t n_tiles = PB::row_tiles;
  static constexpr int splits = Splits;
  using Range = KRange<static_cast<int>(PA::k_tiles), Splits>;
  static constexpr int stage_bytes = 2 * kPairBytes;
  static constexpr int64_t smem_bytes = Stages * stage_bytes + 1024 + 2 * Stages * static_cast<int64_t>(sizeof(uint64_t));
  static_assert(Stages >= 2 && smem_bytes <= 232448, "the stages do not fit into shared memory");

  struct Pipeline {
    unsigned char* stages;  // [Stages][A hi, A lo, B hi, B lo], each a TileLayout
    uint64_t* full;         // [Stages]: both operands have landed
    uint64_t* empty;        // [Stages]: all consumers of the cluster have read the stage

    CUTE_DEVICE explicit Pipeline(unsigned char* raw) {
      stages = raw + (1024 - cute::cast_smem_ptr_to_uint(raw) % 1024) % 1024;  // the swizzle wants 1 KiB alignment
      full = reinterpret_cast<uint64_t*>(stages + Stages * stage_bytes);
      empty = full + Stages;
    }
    CUTE_DEVICE void init() const {
      for (int s = 0; s < Stages; ++s) {
        cute::initialize_barrier(full[s], 1);
        cute::initialize_barrier(empty[s], consumers * ClusterM);
      }
      fence_barrier_init();
    }
  };

  CUTE_DEVICE static void sync_cluster() {
    if constexpr (ClusterM > 1) {
      cute::cluster_arrive_relaxed();
      cute::cluster_wait();
    } else {
      __syncthreads();
    }
  }

  // One thread: fills stage after stage. With a cluster, each CTA fetches its own A, and one term of B for both.
  CUTE_DEVICE static void produce(Pipeline const& pipe, int k_tiles, cute::half_t const* a_pairs, cute::half_t const* b_pairs,
                                  uint32_t rank) {
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
      const int s = k_tile % Stages;
      wait_cluster(pipe.empty[s], (k_tile / Stages + 1) % 2);  // the first round finds the slots free
      unsigned char* stage = pipe.stages + s * stage_bytes;
      cute::half_t const* a = a_pairs + static_cast<int64_t>(k_tile) * 2 * kTileElements;
      cute::half_t const* b = b_pairs + static_cast<int64_t>(k_tile) * 2 * kTileElements;
      cute::set_barrier_transaction_bytes(pipe.full[s], stage_bytes);
      cute::SM90_BULK_COPY_G2S::copy(a, &pipe.full[s], stage, kPairBytes);
      if constexpr (ClusterM == 1)
        cute::SM90_BULK_COPY_G2S::copy(b, &pipe.full[s], stage + kPairBytes, kPairBytes);
      else
        bulk_copy_multicast(b + rank * kTileElements, stage + kPairBytes + rank * (kPairBytes / 2), kPairBytes / 2, pipe.full[s], 0b11);
    }
  }

  CUTE_DEVICE static void release(Pipeline const& pipe, int k_tile) {
    if (threadIdx.x % 128 == 0) {
      CUTE_UNROLL
      for (int peer = 0; peer < ClusterM; ++peer) arrive_at(pipe.empty[k_tile % Stages], peer);
    }
  }

  template <class Output>
  CUTE_DEVICE static void consume(Pipeline const& pipe, int k_tiles, Output const& output, int64_t m0, int64_t n0) {
    using namespace cute;
    const int thread = threadIdx.x - 128;  // of the consumers
    TiledMma mma;
    auto slice = mma.get_slice(thread);
    Tensor total = partition_fragment_C(mma, Shape<Int<tile_m>, Int<tile_n>>{});  // ((2, 2, 16), 1, 1): 64 floats
    Tensor high = make_fragment_like(total);                                      // hi·hi of one stage
    Tensor cross = make_fragment_like(total);                                     // (hi·lo + lo·hi) * kLowScale, of all stages
    clear(total);
    clear(cross);

    CUTE_NO_UNROLL
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
      const int s = k_tile % Stages;
      auto* stage = reinterpret_cast<half_t*>(pipe.stages + s * stage_bytes);
      Tensor a_hi = slice.make_fragment_A(slice.partition_A(make_tensor(make_smem_ptr(stage), TileLayout{})));  // descriptors: (1, 1, 4)
      Tensor a_lo = slice.make_fragment_A(slice.partition_A(make_tensor(make_smem_ptr(stage + kTileElements), TileLayout{})));
      Tensor b_hi = slice.make_fragment_B(slice.partition_B(make_tensor(make_smem_ptr(stage + 2 * kTileElements), TileLayout{})));
      Tensor b_lo = slice.make_fragment_B(slice.partition_B(make_tensor(make_smem_ptr(stage + 3 * kTileElements), TileLayout{})));

      wait_cluster(pipe.full[s], (k_tile / Stages) % 2);
      warpgroup_fence_operand(high);
      warpgroup_arrive();
      if (k_tile % PromoteTiles == 0) mma.accumulate_ = GMMA::ScaleOut::Zero;
      CUTE_UNROLL
      for (int k = 0; k < size<2>(a_hi); ++k) {
        cute::gemm(mma, a_hi(_, _, k), b_hi(_, _, k), high);
        mma.accumulate_ = GMMA::ScaleOut::One;
      }
      warpgroup_commit_batch();

      warpgroup_wait<1>();  // the stage before has been read to its end
      if (k_tile > 0) release(pipe, k_tile - 1);

      warpgroup_fence_operand(cross);
      warpgroup_arrive();
      CUTE_UNROLL
      for (int k = 0; k < size<2>(a_hi); ++k) {
        cute::gemm(mma, a_hi(_, _, k), b_lo(_, _, k), cross);
        cute::gemm(mma, a_lo(_, _, k), b_hi(_, _, k), cross);
      }
      warpgroup_commit_batch();

      if ((k_tile + 1) % PromoteTiles == 0 || k_tile + 1 == k_tiles) {
        warpgroup_wait<1>();  // hi·hi is there; the other products go on
        warpgroup_fence_operand(high);
        CUTE_UNROLL
        for (int i = 0; i < size(total); ++i) total(i) += high(i);
      }
    }
    warpgroup_wait<0>();
    warpgroup_fence_operand(cross);
    CUTE_UNROLL
    for (int i = 0; i < size(total); ++i) total(i) = fmaf(cross(i), 1.0f / kLowScale, total(i));

    output.store_fragment(total, slice.partition_C(make_identity_tensor(Shape<Int<tile_m>, Int<tile_n>>{})), m0, n0);
    output.template recompute_unpackable<tile_m, tile_n>(thread, 128 * consumers, m0, n0);
  }

  template <class Output>
  CUTE_DEVICE static void run(cute::half_t const* a, cute::half_t const* b, Output const& output) {
    extern __shared__ unsigned char raw[];
    const Pipeline pipe(raw);
    if (threadIdx.x == 0) pipe.init();
    sync_cluster();

    const auto [cluster_tile, n_tile] = tile_of<m_tiles / ClusterM, n_tiles, 8 / ClusterM>(blockIdx.x / ClusterM);
    const uint32_t rank = ClusterM == 1 ? 0 : blockIdx.x % ClusterM;
    const int64_t m_tile = cluster_tile * ClusterM + rank;
    const Range range;
    if (threadIdx.x < 128) {
      cutlass::arch::warpgroup_reg_dealloc<24>();
      const int64_t a_tile = m_tile < PA::row_tiles ? m_tile : PA::row_tiles - 1;  // a CTA outside reads something valid and stores nothing
      if (threadIdx.x == 0)
        produce(pipe, range.tiles, a + PA::pair_offset(a_tile, range.begin), b + PB::pair_offset(n_tile, range.begin), rank);
    } else {
      cutlass::arch::warpgroup_reg_alloc<240>();
      consume(pipe, range.tiles, output, m_tile * tile_m, n_tile * tile_n);
    }
    if constexpr (ClusterM > 1) {
      __syncwarp();          // the producing lane joins its warp
      cute::cluster_sync();  // nobody leaves while a peer may still write or arrive here
    }
  }
};

}  // namespace cutegen::gemm
