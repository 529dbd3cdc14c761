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

  // Called by whole warps, `threads` in all, after their stores; does nothing but look at 256 exponents when every row could be packed.
  template <int TileM, int TileN>
  CUTE_DEVICE void recompute_unpackable(int thread, int threads, int64_t m0, int64_t n0) const {
    if (m0 >= A::rows) return;
    bool found = false;
    for (int i = thread % 32; i < TileM; i += 32) found |= __ldg(a_exponents + m0 + i) == kUnpackable;
    for (int i = thread % 32; i < TileN; i += 32) found |= __ldg(b_exponents + n0 + i) == kUnpackable;
    if (!__any_sync(0xffffffffu, found)) return;
    for (int i = thread; i < TileM * TileN; i += threads) {
      const int64_t m = m0 + i / TileN, n = n0 + i % TileN;
      if (m >= A::rows || n >= B::rows) continue;
      if (a_exponents[m] == kUnpackable || b_exponents[n] == kUnpackable) out[m * B::rows + n] = epilogue(dot_fp32<A, B>(a, b, m, n), m, n);
    }
  }
};

}  // namespace cutegen::gemm
