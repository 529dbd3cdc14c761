// The operands of C[M, N] = A[M, K] · B[N, K]^T, as they lie in global memory and as fp16 pairs packed for the tensor cores.
//
// Both operands are seen as [rows, K]: A's rows are M, B's rows are the N columns of the product. Everything here is a constexpr layout or
// a size, so the host can check it too.
#pragma once

#include <cstdint>
#include <cute/atom/mma_traits_sm90_gmma.hpp>
#include <cute/tensor.hpp>

namespace cutegen::gemm {

// Which dimension of a [rows, K] matrix is contiguous.
enum class Contiguous { k, rows };

// A dense fp32 matrix [Rows, K]. A PyTorch x[M, K] or weight[N, K] is contiguous along K; a right-hand b[K, N] along its rows.
template <int64_t Rows, int64_t K, Contiguous Major>
struct Operand {
  static constexpr int64_t rows = Rows;
  static constexpr int64_t k = K;
  static constexpr Contiguous major = Major;
  static constexpr int64_t row_stride = Major == Contiguous::k ? K : 1;  // elements
  static constexpr int64_t k_stride = Major == Contiguous::k ? 1 : Rows;

  CUTE_HOST_DEVICE static constexpr int64_t offset(int64_t row, int64_t kk) { return row * row_stride + kk * k_stride; }
};

// Packed operands. x = (hi + lo / kLowScale) * 2^-exponent(row), hi and lo being fp16. A tile holds 128 rows by 64 of K of one term, in the
// K-major 128-byte swizzle that both ldmatrix and wgmma read without bank conflicts; [row tile][k tile][hi, lo], so that both terms of a
// tile are one contiguous 32 KiB copy that lands in shared memory ready for use. Rows and K are padded with zeros to whole tiles.
inline constexpr int kTileRows = 128;
inline constexpr int kTileK = 64;
inline constexpr int kTileElements = kTileRows * kTileK;                                   // of one term
inline constexpr int kPairBytes = 2 * kTileElements * static_cast<int>(sizeof(uint16_t));  // hi and lo of a tile: 32 KiB
inline constexpr float kLowScale = 2048.0f;  // lo is held x2^11: as large as hi, so that it does not fall into fp16's subnormals

// The layout as CuTe's wgmma descriptors want it: the swizzle is a property of the shared-memory pointer.
using TileLayout =
    decltype(cute::tile_to_shape(cute::GMMA::Layout_K_SW128_Atom<cute::half_t>{}, cute::Shape<cute::Int<kTileRows>, cute::Int<kTileK>>{}));
// The same as a map from coordinates to offsets: 16-byte chunk c of row r lies at chunk c ^ (r % 8).
using TileOffsets = decltype(cute::tile_to_shape(
    cute::composition(cute::Swizzle<3, 3, 3>{}, cute::Layout<cute::Shape<cute::_8, cute::_64>, cute::Stride<cute::_64, cute::_1>>{}),
    cute::Shape<cute::Int<kTileRows>, cute::Int<kTileK>>{}));

// Element (row, k) of one term within its tile, in elements from the tile's start. Eight consecutive k (from a multiple of 8) are 16 bytes.
CUTE_HOST_DEVICE constexpr int tile_offset(int row, int k) { return static_cast<int>(TileOffsets{}(row, k)); }

template <class Op>
struct Packed {
  static constexpr int64_t row_tiles = (Op::rows + kTileRows - 1) / kTileRows;
  static constexpr int64_t k_tiles = (Op::k + kTileK - 1) / kTileK;
  static constexpr int64_t bytes = row_tiles * k_tiles * kPairBytes;
  static constexpr int64_t exponent_bytes = row_tiles * kTileRows * static_cast<int64_t>(sizeof(int32_t));

  // Start of the pair (row tile, k tile), in elements.
  CUTE_HOST_DEVICE static constexpr int64_t pair_offset(int64_t row_tile, int64_t k_tile) {
    return (row_tile * k_tiles + k_tile) * (2 * kTileElements);
  }
};

// Stored instead of an exponent for a row that an fp16 pair cannot hold: one with an infinity or a NaN, or whose largest magnitude is below
// 2^-100. Such a row is packed as zeros and its outputs are computed in fp32 (gemm_epilogue.cuh).
inline constexpr int32_t kUnpackable = INT32_MAX;

// The exponent e for a row whose largest |x| has the bits `max_bits`: |x| * 2^e lies below 2^15, well inside fp16 (65504), and its largest
// value is at least 2^14. A row of zeros has e = 0.
CUTE_HOST_DEVICE constexpr int32_t scale_exponent(uint32_t max_bits) {
  if (max_bits == 0) return 0;
  const int32_t exponent = static_cast<int32_t>(max_bits >> 23) - 127;
  return exponent == 128 || exponent < -100 ? kUnpackable : 14 - exponent;
}

}  // namespace cutegen::gemm
