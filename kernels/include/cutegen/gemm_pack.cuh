// Splits an fp32 operand into two fp16 terms with a power-of-two scale a row: Markidis et al. 2018 (arXiv 1803.04014), Ootomo and Yokota
// 2022 (arXiv 2203.03341). Scaling by a power of two is exact; the pair keeps 22 bits and the sign of lo as a 23rd.
#pragma once

#include <cuda_fp16.h>

#include "gemm_operand.cuh"

namespace cutegen::gemm {

inline constexpr int kPackThreads = 256;

// 2^exponent, for -126 <= exponent <= 127.
CUTE_DEVICE float power_of_two(int exponent) { return __int_as_float((exponent + 127) << 23); }

CUTE_DEVICE uint32_t magnitude_bits(float x) { return __float_as_uint(x) & 0x7fffffffu; }

// Eight values of one row, consecutive in K, as 16 bytes of each term.
CUTE_DEVICE void split8(float const (&x)[8], float scale, uint4& hi, uint4& lo) {
  uint32_t h[4], l[4];
  CUTE_UNROLL
  for (int i = 0; i < 4; ++i) {
    const float2 v = {x[2 * i] * scale, x[2 * i + 1] * scale};
    const __half2 high = __float22half2_rn(v);
    const float2 back = __half22float2(high);
    const __half2 low = __float22half2_rn({(v.x - back.x) * kLowScale, (v.y - back.y) * kLowScale});
    h[i] = reinterpret_cast<uint32_t const&>(high);
    l[i] = reinterpret_cast<uint32_t const&>(low);
  }
  hi = {h[0], h[1], h[2], h[3]};
  lo = {l[0], l[1], l[2], l[3]};
}

// The largest of `value` over the CTA, for all threads. `scratch` holds one word a warp.
CUTE_DEVICE uint32_t cta_max(uint32_t value, uint32_t* scratch) {
  value = __reduce_max_sync(0xffffffffu, value);
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  CUTE_UNROLL
  for (int w = 0; w < kPackThreads / 32; ++w) value = max(value, scratch[w]);
  return value;
}

// One CTA packs one row of an operand that is contiguous along K. The row is read once when it fits into registers (K <= 16384), else
// twice.
template <class Op>
struct RowPacker {
  static_assert(Op::major == Contiguous::k);
  using P = Packed<Op>;
  static constexpr int64_t padded_k = P::k_tiles * kTileK;
  static constexpr int chunks = static_cast<int>((padded_k / 8 + kPackThreads - 1) / kPackThreads);  // of 8 values, a thread
  static constexpr bool in_registers = chunks <= 8;
  static constexpr bool vectorised = Op::k % 4 == 0;
  static constexpr int64_t ctas = P::row_tiles * kTileRows;  // padding rows are written as zeros

  CUTE_DEVICE static void load(float const* row, bool valid, int64_t k, float (&x)[8]) {
    if constexpr (vectorised) {
      CUTE_UNROLL
      for (int i = 0; i < 2; ++i) {
        const float4 v = valid && k + 4 * i < Op::k ? __ldg(reinterpret_cast<float4 const*>(row + k) + i) : float4{0, 0, 0, 0};
        x[4 * i] = v.x, x[4 * i + 1] = v.y, x[4 * i + 2] = v.z, x[4 * i + 3] = v.w;
      }
    } else {
      CUTE_UNROLL
      for (int i = 0; i < 8; ++i) x[i] = valid && k + i < Op::k ? __ldg(row + k + i) : 0.0f;
    }
  }

  CUTE_DEVICE static void run(float const* source, cute::half_t* packed, int32_t* exponents) {
    __shared__ uint32_t scratch[kPackThreads / 32];
    const int64_t row = blockIdx.x;
    const bool valid = row < Op::rows;
    float const* from = source + Op::offset(valid ? row : 0, 0);

    float x[in_registers ? chunks : 1][8];
    uint32_t largest = 0;
#pragma unroll(in_registers ? chunks : 2)
    for (int c = 0; c < chunks; ++c) {
      float(&v)[8] = x[in_registers ? c : 0];
      load(from, valid, (static_cast<int64_t>(c) * kPackThreads + threadIdx.x) * 8, v);
      CUTE_UNROLL
      for (int i = 0; i < 8; ++i) largest = max(largest, magnitude_bits(v[i]));
    }
    const int32_t exponent = scale_exponent(cta_max(largest, scratch));
    const bool packable = exponent != kUnpackable;
    if (threadIdx.x == 0) exponents[row] = exponent;

#pragma unroll(in_registers ? chunks : 2)
    for (int c = 0; c < chunks; ++c) {
      const int64_t k = (static_cast<int64_t>(c) * kPackThreads + threadIdx.x) * 8;
      if (k >= padded_k) break;
      float(&v)[8] = x[in_registers ? c : 0];
      if constexpr (!in_registers) load(from, valid, k, v);
      uint4 hi{}, lo{};
      if (packable) split8(v, power_of_two(exponent), hi, lo);
      cute::half_t* pair = packed + P::pair_offset(row / kTileRows, k / kTileK) + tile_offset(row % kTileRows, k % kTileK);
      *reinterpret_cast<uint4*>(pair) = hi;
      *reinterpret_cast<uint4*>(pair + kTileElements) = lo;
    }
  }
};

// An operand that is contiguous along its rows is packed in two launches: maxima of slabs of K, then one CTA a tile, which turns the tile
// around through shared memory.
template <class Op>
struct ColumnPacker {
  static_assert(Op::major == Contiguous::rows);
  using P = Packed<Op>;
  static constexpr int64_t slab_k = Op::k <= 64 * 128 ? 128 : (Op::k + 63) / 64;  // of K, a CTA of the first launch: at most 64 slabs
  static constexpr int64_t slabs = (Op::k + slab_k - 1) / slab_k;
  static constexpr int64_t padded_rows = P::row_tiles * kTileRows;
  static constexpr int64_t maxima_bytes = slabs * padded_rows * static_cast<int64_t>(sizeof(uint32_t));
  static constexpr int64_t smem_bytes = kPairBytes;

  // grid: (row_tiles, slabs). maxima: [slabs, padded_rows].
  CUTE_DEVICE static void find_maxima(float const* source, uint32_t* maxima) {
    __shared__ uint32_t scratch[kPackThreads / kTileRows][kTileRows];
    const int lane_row = threadIdx.x % kTileRows, part = threadIdx.x / kTileRows;
    const int64_t row = static_cast<int64_t>(blockIdx.x) * kTileRows + lane_row;
    const int64_t k_begin = blockIdx.y * slab_k;
    const int64_t k_end = k_begin + slab_k < Op::k ? k_begin + slab_k : Op::k;
    uint32_t largest = 0;
    if (row < Op::rows) {
#pragma unroll 16
      for (int64_t k = k_begin + part; k < k_end; k += kPackThreads / kTileRows)
        largest = max(largest, magnitude_bits(__ldg(source + Op::offset(row, k))));
    }
    scratch[part][lane_row] = largest;
    __syncthreads();
    if (part == 0) maxima[blockIdx.y * padded_rows + row] = max(largest, scratch[1][lane_row]);
  }

  // grid: (row_tiles, k_tiles).
  CUTE_DEVICE static void run(float const* source, uint32_t const* maxima, cute::half_t* packed, int32_t* exponents) {
    extern __shared__ __align__(128) unsigned char image[];  // the pair as it will lie in global memory
    auto* pair = reinterpret_cast<cute::half_t*>(image);
    const int lane_row = threadIdx.x % kTileRows, part = threadIdx.x / kTileRows;
    const int64_t row = static_cast<int64_t>(blockIdx.x) * kTileRows + lane_row;
    uint32_t largest = 0;
    for (int64_t s = 0; s < slabs; ++s) largest = max(largest, __ldg(maxima + s * padded_rows + row));
    const int32_t exponent = scale_exponent(largest);
    if (blockIdx.y == 0 && part == 0) exponents[row] = exponent;

    CUTE_UNROLL
    for (int c = part; c < kTileK / 8; c += kPackThreads / kTileRows) {
      float x[8];
      CUTE_UNROLL
      for (int i = 0; i < 8; ++i) {
        const int64_t k = static_cast<int64_t>(blockIdx.y) * kTileK + c * 8 + i;
        x[i] = row < Op::rows && k < Op::k ? __ldg(source + Op::offset(row, k)) : 0.0f;
      }
      uint4 hi{}, lo{};
      if (exponent != kUnpackable) split8(x, power_of_two(exponent), hi, lo);
      *reinterpret_cast<uint4*>(pair + tile_offset(lane_row, c * 8)) = hi;
      *reinterpret_cast<uint4*>(pair + kTileElements + tile_offset(lane_row, c * 8)) = lo;
    }
    __syncthreads();
    auto* to = reinterpret_cast<uint4*>(packed + P::pair_offset(blockIdx.x, blockIdx.y));
    auto const* from = reinterpret_cast<uint4 const*>(image);
    CUTE_UNROLL
    for (int i = 0; i < kPairBytes / 16 / kPackThreads; ++i) to[i * kPackThreads + threadIdx.x] = from[i * kPackThreads + threadIdx.x];
  }
};

}  // namespace cutegen::gemm
