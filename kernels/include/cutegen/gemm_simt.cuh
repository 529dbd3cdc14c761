// C[M, N] = epilogue(A[M, K] · B[N, K]^T) in fp32 on the CUDA cores, for any M, N and K: a cp.async pipeline, 8x8 outputs a thread. Sums
// are taken in blocks of 128 of K, so the error grows with the number of blocks and not with K: at most that of a plain fp32 loop.
#pragma once

#include <cute/tensor.hpp>

#include "gemm_operand.cuh"

namespace cutegen::gemm {

// TiledMma: 16x16 threads of fp32 FMAs over Tile<Interleave, Interleave, _1>, so that a thread owns rows 4t..4t+3 and 64+4t..64+4t+3 of
// each operand: two 16-byte reads.
using Interleave = cute::Layout<cute::Shape<cute::_16, cute::_4>, cute::Stride<cute::_4, cute::_1>>;

template <class A, class B, class TiledMma, int TileK, int Stages>
struct Simt {
  static_assert(A::k == B::k);
  static_assert(cute::size(TiledMma{}) == 256);
  static constexpr int threads = 256;
  static constexpr int tile_m = 128;
  static constexpr int tile_n = 128;
  static constexpr int block_k = 128;  // of a partial sum
  static_assert(block_k % TileK == 0 && Stages >= 2);
  static constexpr int64_t m_tiles = (A::rows + tile_m - 1) / tile_m;
  static constexpr int64_t n_tiles = (B::rows + tile_n - 1) / tile_n;
  static constexpr int k_tiles = static_cast<int>((A::k + TileK - 1) / TileK);

  // [row, k, stage], rows contiguous; four floats of padding a column keep 16-byte reads aligned and spread the banks of the writes.
  using SmemLayout = cute::Layout<cute::Shape<cute::Int<tile_m>, cute::Int<TileK>, cute::Int<Stages>>,
                                  cute::Stride<cute::_1, cute::Int<tile_m + 4>, cute::Int<(tile_m + 4) * TileK>>>;
  static constexpr int stage_floats = (tile_m + 4) * TileK;
  static constexpr int64_t smem_bytes = 2 * Stages * stage_floats * static_cast<int64_t>(sizeof(float));

  // Copies of 4 bytes: consecutive threads follow the contiguous dimension of global memory.
  template <class Op>
  CUTE_HOST_DEVICE static constexpr auto gmem_copy() {
    using namespace cute;
    using Atom = Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS_ZFILL<uint32_t>, float>;
    if constexpr (Op::major == Contiguous::k)
      return make_tiled_copy(Atom{}, Layout<Shape<Int<threads / TileK>, Int<TileK>>, Stride<Int<TileK>, _1>>{});
    else
      return make_tiled_copy(Atom{}, Layout<Shape<_128, Int<threads / 128>>, Stride<_1, _128>>{});
  }

  // One operand's tile rows from `first_row`, all of K in steps of TileK, to shared memory.
  template <class Op>
  struct Loader {
    float const* source;
    float* smem;
    int64_t first_row;

    CUTE_DEVICE void load(int k_tile, int stage) const {
      using namespace cute;
      Tensor gmem = make_tensor(make_gmem_ptr(source + Op::offset(first_row, static_cast<int64_t>(k_tile) * TileK)),
                                make_layout(Shape<Int<tile_m>, Int<TileK>>{}, make_stride(Int<Op::row_stride>{}, Int<Op::k_stride>{})));
      Tensor to = make_tensor(make_smem_ptr(smem), SmemLayout{})(_, _, stage);
      Tensor where = make_identity_tensor(Shape<Int<tile_m>, Int<TileK>>{});
      auto copier = gmem_copy<Op>();
      auto mine = copier.get_slice(threadIdx.x);
      Tensor from = mine.partition_S(gmem);
      Tensor into = mine.partition_D(to);
      Tensor coord = mine.partition_S(where);
      CUTE_UNROLL
      for (int i = 0; i < size<1>(from); ++i) {
        CUTE_UNROLL
        for (int j = 0; j < size<2>(from); ++j) {
          const bool inside =
              first_row + get<0>(coord(0, i, j)) < Op::rows && static_cast<int64_t>(k_tile) * TileK + get<1>(coord(0, i, j)) < Op::k;
          SM80_CP_ASYNC_CACHEALWAYS_ZFILL<uint32_t>::copy(*reinterpret_cast<uint32_t const*>(inside ? &from(0, i, j) : source),
                                                          *reinterpret_cast<uint32_t*>(&into(0, i, j)), inside);
        }
      }
    }
  };

  template <class Epilogue>
  CUTE_DEVICE static void run(float const* a, float const* b, typename Epilogue::Output* out, Epilogue const& epilogue) {
    using namespace cute;
    extern __shared__ __align__(16) float smem[];
    const int64_t m0 = static_cast<int64_t>(blockIdx.x % m_tiles) * tile_m;
    const int64_t n0 = static_cast<int64_t>(blockIdx.x / m_tiles) * tile_n;
    const Loader<A> load_a{a, smem, m0};
    const Loader<B> load_b{b, smem + Stages * stage_floats, n0};
    Tensor sA = make_tensor(make_smem_ptr(load_a.smem), SmemLayout{});  // [128, TileK, Stages]
    Tensor sB = make_tensor(make_smem_ptr(load_b.smem), SmemLayout{});

    auto mma = TiledMma{}.get_slice(threadIdx.x);
    Tensor tCsA = mma.partition_A(sA);  // (1, (4, 2), TileK, Stages)
    Tensor tCsB = mma.partition_B(sB);
    Tensor total = partition_fragment_C(TiledMma{}, Shape<Int<tile_m>, Int<tile_n>>{});  // (1, (4, 2), (4, 2))
    Tensor block = make_fragment_like(total);
    clear(total);
    clear(block);

    CUTE_UNROLL
    for (int stage = 0; stage < Stages - 1; ++stage) {
      if (stage < k_tiles) load_a.load(stage, stage), load_b.load(stage, stage);
      cp_async_fence();
    }
    CUTE_NO_UNROLL
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
      cp_async_wait<Stages - 2>();
      __syncthreads();  // the tile has landed for all; the slot that is refilled next was read by all
      const int ahead = k_tile + Stages - 1;
      if (ahead < k_tiles) load_a.load(ahead, ahead % Stages), load_b.load(ahead, ahead % Stages);
      cp_async_fence();

      const int stage = k_tile % Stages;
      CUTE_UNROLL
      for (int k = 0; k < TileK; ++k) {
        Tensor rA = make_fragment_like(tCsA(_, _, 0, 0));
        Tensor rB = make_fragment_like(tCsB(_, _, 0, 0));
        copy(AutoVectorizingCopy{}, tCsA(_, _, k, stage), rA);
        copy(AutoVectorizingCopy{}, tCsB(_, _, k, stage), rB);
        cute::gemm(TiledMma{}, rA, rB, block);
      }
      if ((k_tile + 1) % (block_k / TileK) == 0 || k_tile + 1 == k_tiles) {
        CUTE_UNROLL
        for (int i = 0; i < size(total); ++i) total(i) += block(i);
        clear(block);
      }
    }

    Tensor coords = mma.partition_C(make_identity_tensor(Shape<Int<tile_m>, Int<tile_n>>{}));
    CUTE_UNROLL
    for (int i = 0; i < size(total); ++i) {
      const int64_t m = m0 + get<0>(coords(i)), n = n0 + get<1>(coords(i));
      if (m < A::rows && n < B::rows) out[m * B::rows + n] = epilogue(total(i), m, n);
    }
  }
};

}  // namespace cutegen::gemm
