// From accumulators to the output: scales taken back, the fused expression applied, one store an element.
//
// An Epilogue is a functor of the candidate: `Output operator()(float c, int64_t m, int64_t n) const` maps element (m, n) of the product to
// what is stored in the dense [M, N] output; it reads biases and other operands itself.
#pragma once

#include "gemm_pack.cuh"

namespace cutegen::gemm {

// c * 2^-(ea + eb) in two exact steps, so that neither factor leaves fp32's range before the result does.
CUTE_DEVICE float unscale(float c, int32_t ea, int32_t eb) {
  const int32_t e = -(ea + eb);
  const int32_t half = e / 2;
  return c * power_of_two(half) * power_of_two(e - half);
}

// Row m of A times row n of B in fp32, in blocks of 128 of K: as accurate as any SGEMM, and infinities and NaNs meet as they do there.
template <class A, class B>
CUTE_DEVICE float dot_fp32(float const* a, float const* b, int64_t m, int64_t n) {
  float total = 0;
  for (int64_t k0 = 0; k0 < A::k; k0 += 128) {
    float block = 0;
    const int64_t end = k0 + 128 < A::k ? k0 + 128 : A::k;
    for (int64_t k = k0; k < end; ++k) block = fmaf(a[A::offset(m, k)], b[B::offset(n, k)], block);
    total += block;
  }
  return total;
}

template <class Output>
struct alignas(2 * sizeof(Output)) Pair {
  Output x, y;
};

// Writes one CTA's tile of a product of packed operands.
template <class A, class B, class Epilogue>
struct PackedOutput {
  using Output = typename Epilogue::Output;
  float const* a;  // the operands as given
  float const* b;
  int32_t const* a_exponents;  // as packed
  int32_t const* b_exponents;
  Output* out;  // [M, N]
  Epilogue epilogue;

  // Elements (m, n) and (m, n + 1); n is even. What cannot be packed is left to recompute_unpackable().
  CUTE_DEVICE void store(float c0, float c1, int64_t m, int64_t n) const {
    if (m >= A::rows || n >= B::rows) return;
    const int32_t ea = __ldg(a_exponents + m), eb0 = __ldg(b_exponents + n), eb1 = __ldg(b_exponents + n + 1);  // padded to whole tiles
    const bool write0 = ea != kUnpackable && eb0 != kUnpackable;
    const bool write1 = ea != kUnpackable && eb1 != kUnpackable && n + 1 < B::rows;
    if (B::rows % 2 == 0 && write0 && write1) {
      *reinterpret_cast<Pair<Output>*>(out + m * B::rows + n) = {epilogue(unscale(c0, ea, eb0), m, n),
                                                                 epilogue(unscale(c1, ea, eb1), m, n + 1)};
      return;
    }
    if (write0) out[m * B::rows + n] = epilogue(unscale(c0, ea, eb0), m, n);
    if (write1) out[m * B::rows + n + 1] = epilogue(unscale(c1, ea, eb1), m, n + 1);
  }

  // All accumulators of a thread. `coords` gives (m, n) of each within the tile; neighbours in the fragment are neighbours in N, as in
  // every tensor-core accumulator.
  template <class Acc, class Coords>
  CUTE_DEVICE void store_fragment(Acc const& acc, Coords const& coords, int64_t m0, int64_t n0) const {
    CUTE_UNROLL
    for (int i = 0; i < cute::size(acc); i += 2) store(acc(i), acc(i + 1), m0 + cute::get<0>(coords(i)), n0 + cute::get<1>(coords(i)));
  }

  // Element (m, n) in fp32, when one of its rows could not be packed.
  CUTE_DEVICE void recompute(int64_t m, int64_t n) const {
    if (m >= A::rows || n >= B::rows) return;
    if (__ldg(a_exponents + m) == kUnpackable || __ldg(b_exponents + n) == kUnpackable)
      out[m * B::rows + n] = epilogue(dot_fp32<A, B>(a, b, m, n), m, n);
  }

  // Called by whole warps, `threads` in all, after their stores; does nothing but look at 256 exponents when every row could be packed.
  template <int TileM, int TileN>
  CUTE_DEVICE void recompute_unpackable(int thread, int threads, int64_t m0, int64_t n0) const {
    if (m0 >= A::rows) return;
    bool found = false;
    for (int i = thread % 32; i < TileM; i += 32) found |= __ldg(a_exponents + m0 + i) == kUnpackable;
    for (int i = thread % 32; i < TileN; i += 32) found |= __ldg(b_exponents + n0 + i) == kUnpackable;
    if (!__any_sync(0xffffffffu, found)) return;
    for (int i = thread; i < TileM * TileN; i += threads) recompute(m0 + i / TileN, n0 + i % TileN);
  }
};

// K split over several CTAs a tile: each writes its sum, still scaled, and a second launch adds them in order (so that the result does not
// depend on timing) and finishes. partials: [splits, rows of A, rows of B], both padded to whole tiles.
template <class A, class B>
struct PartialOutput {
  static constexpr int64_t rows = Packed<A>::row_tiles * kTileRows;
  static constexpr int64_t columns = Packed<B>::row_tiles * kTileRows;
  static constexpr int64_t split_bytes = rows * columns * static_cast<int64_t>(sizeof(float));
  float* partials;

  template <class Acc, class Coords>
  CUTE_DEVICE void store_fragment(Acc const& acc, Coords const& coords, int64_t m0, int64_t n0) const {
    if (m0 >= rows) return;
    float* to = partials + (blockIdx.y * rows + m0) * columns + n0;
    CUTE_UNROLL
    for (int i = 0; i < cute::size(acc); i += 2)
      *reinterpret_cast<float2*>(to + cute::get<0>(coords(i)) * columns + cute::get<1>(coords(i))) = {acc(i), acc(i + 1)};
  }
  template <int TileM, int TileN>
  CUTE_DEVICE void recompute_unpackable(int, int, int64_t, int64_t) const {}  // the second launch does
};

template <class A, class B, int Splits>
struct SplitSum {
  using Partial = PartialOutput<A, B>;
  static constexpr int threads = 256;
  static constexpr int64_t pairs = (B::rows + 1) / 2;  // of neighbouring columns, a row
  static constexpr int64_t ctas = (A::rows * pairs + threads - 1) / threads;
  static constexpr int64_t partial_bytes = Splits * Partial::split_bytes;

  template <class Output>
  CUTE_DEVICE static void run(float const* partials, Output const& output) {
    const int64_t index = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
    const int64_t m = index / pairs, n = index % pairs * 2;
    if (m >= A::rows) return;
    float2 sum = {0, 0};
    CUTE_UNROLL
    for (int s = 0; s < Splits; ++s) {
      const float2 part = __ldg(reinterpret_cast<float2 const*>(partials + (s * Partial::rows + m) * Partial::columns + n));
      sum.x += part.x, sum.y += part.y;
    }
    output.store(sum.x, sum.y, m, n);
    output.recompute(m, n);
    output.recompute(m, n + 1);
  }
};

}  // namespace cutegen::gemm
