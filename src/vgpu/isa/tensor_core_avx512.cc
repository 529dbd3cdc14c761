// The fused sum for AVX-512. Two passes over the products of 64 results (16 rows by 4 columns): the largest exponent, in bytes; then the
// terms, scaled so that the cut is the conversion to integers.
#if defined(__x86_64__) && !defined(__clang__)
#include <immintrin.h>

#include "vgpu/isa/builder.h"
#include "vgpu/isa/tensor_core_plain.h"

#pragma GCC diagnostic ignored "-Wuninitialized"  // in g++ 12's own intrinsics (GCC PR 105593)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt,movbe,avx512f,avx512bw,avx512dq,avx512vl,avx512cd,prefer-vector-width=512")

namespace cutegen::vgpu {
namespace {

// Exponents as bytes: nonzero factors within [-40, 40], so that no product of a zero (-127 + 40) outdoes one of nonzero factors (-80).
constexpr int kNarrow = 40;

// Exponents of four vectors of 16 floats. Byte 16 i + 4 j + t of the result is float 4 i + t of vector j.
inline __m512i exponent_bytes(const __m512i z[4], s32 min_exponent, bool& narrow) {
  __m512i field[4];
  for (int j = 0; j < 4; ++j) field[j] = _mm512_srli_epi32(_mm512_slli_epi32(z[j], 1), 24);
  __m512i f = _mm512_packus_epi16(_mm512_packus_epi32(field[0], field[1]), _mm512_packus_epi32(field[2], field[3]));
  const __mmask64 nonzero = _mm512_test_epi8_mask(f, f);
  if (nonzero != ~__mmask64{0} && min_exponent == -126) {  // formats with single precision's range have subnormals there
    for (int j = 0; j < 4; ++j) narrow = narrow && _mm512_fpclass_ps_mask(_mm512_castsi512_ps(z[j]), 0x20) == 0;
  }
  f = _mm512_maskz_max_epu8(nonzero, f, _mm512_set1_epi8(static_cast<char>(127 + min_exponent)));
  const __m512i above = _mm512_sub_epi8(f, _mm512_set1_epi8(127 - kNarrow));
  narrow = narrow && _mm512_mask_cmpgt_epu8_mask(nonzero, above, _mm512_set1_epi8(2 * kNarrow)) == 0;
  return _mm512_sub_epi8(f, _mm512_set1_epi8(127));
}

inline __m512i shuffle_control(int t) {
  return _mm512_set4_epi32(0x0c0c0c0c + 0x01010101 * t, 0x08080808 + 0x01010101 * t, 0x04040404 + 0x01010101 * t, 0x01010101 * t);
}

template <int T>
inline void spread(const __m512i z[4], __m512i exponents, RowsOfA& a, int k) {
  for (int j = 0; j < 4; ++j) _mm512_store_ps(a.value[k + T] + 16 * j, _mm512_permute_ps(_mm512_castsi512_ps(z[j]), T * 0x55));
  _mm512_store_si512(a.exponent[k + T], _mm512_shuffle_epi8(exponents, shuffle_control(T)));
}

inline __m512i load(const f32* p) { return _mm512_loadu_si512(p); }

// Four vectors of 16 results of one parity: rows 0-3, 4-7, 8-11, 12-15. False when a lane needs the definition.
template <int Products, bool Check, bool Half>
inline bool multiply_group(const RowsOfA& a, const f32 (*b)[4], const s8 (*exponents)[4], int fraction_bits, const f32* lower,
                           const f32* upper, f32* d_lower, f32* d_upper) {
  __m512i largest = _mm512_set1_epi8(-127);
#pragma GCC unroll 16
  for (int k = 0; k < Products; ++k) {
    s32 four = 0;
    std::memcpy(&four, exponents[k], 4);
    largest = _mm512_max_epi8(largest, _mm512_adds_epi8(_mm512_load_si512(a.exponent[k]), _mm512_set1_epi32(four)));
  }
  const f32* const c[4] = {lower, lower + 16, upper, upper + 16};
  f32* const d[4] = {d_lower, d_lower + 16, d_upper, d_upper + 16};
  largest = _mm512_add_epi8(largest, _mm512_set1_epi8(127));  // biased, at most 207
  // Exponents are where a float has its own.
  __m512i exponent[4], sum[4], least = _mm512_set1_epi32(INT32_MAX), greatest = _mm512_setzero_si512();
  __m512 scale[4];
#pragma GCC unroll 4
  for (int q = 0; q < 4; ++q) {
    const __m512i top = _mm512_shuffle_epi8(largest, _mm512_set4_epi32(0x00808080 + ((4 * q + 3) << 24), 0x00808080 + ((4 * q + 2) << 24),
                                                                       0x00808080 + ((4 * q + 1) << 24), 0x00808080 + ((4 * q) << 24)));
    const __m512i bits = load(c[q]);
    __m512i of_c = _mm512_and_si512(bits, _mm512_set1_epi32(0x7f800000));
    if (Half)
      of_c = _mm512_maskz_max_epi32(_mm512_test_epi32_mask(bits, _mm512_set1_epi32(INT32_MAX)), of_c, _mm512_set1_epi32((127 - 14) << 23));
    exponent[q] = _mm512_max_epi32(of_c, _mm512_srli_epi32(top, 1));
    scale[q] = _mm512_castsi512_ps(
        _mm512_sub_epi32(_mm512_set1_epi32(static_cast<s32>(static_cast<u32>(254 + fraction_bits) << 23)), exponent[q]));
    least = _mm512_min_epi32(least, exponent[q]);
    greatest = _mm512_max_epi32(greatest, exponent[q]);
    sum[q] = _mm512_setzero_si512();
  }
  if (_mm512_cmpge_epi32_mask(greatest, _mm512_set1_epi32(0x7f800000)) != 0) [[unlikely]]  // c is infinite or NaN
    return false;
#pragma GCC unroll 8
  for (int k = 0; k < Products; ++k) {
    const __m512 columns = _mm512_broadcast_f32x4(_mm_load_ps(b[k]));
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) {
      const __m512 product = _mm512_mul_ps(_mm512_load_ps(a.value[k] + 16 * q), columns);
      sum[q] = _mm512_add_epi32(sum[q], _mm512_cvttps_epi32(_mm512_mul_ps(product, scale[q])));
    }
  }
  __m512i overflow = _mm512_setzero_si512();
#pragma GCC unroll 4
  for (int q = 0; q < 4; ++q) {
    const __m512i term = _mm512_cvttps_epi32(_mm512_mul_ps(_mm512_loadu_ps(c[q]), scale[q]));
    const __m512i total = _mm512_add_epi32(sum[q], term);
    if (Check) overflow = _mm512_or_si512(overflow, _mm512_ternarylogic_epi32(sum[q], term, total, 0x42));  // signs equal, total's not
    sum[q] = total;
  }
  if (Check && _mm512_movepi32_mask(overflow) != 0) [[unlikely]]
    return false;
#pragma GCC unroll 4
  for (int q = 0; q < 4; ++q) {
    __m512 cut = _mm512_cvt_roundepi32_ps(sum[q], _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    if (Half) {
      const __mmask16 inexact = _mm512_cmpneq_epi32_mask(_mm512_cvttps_epi32(cut), sum[q]);
      cut = _mm512_castsi512_ps(_mm512_mask_or_epi32(_mm512_castps_si512(cut), inexact, _mm512_castps_si512(cut), _mm512_set1_epi32(1)));
    }
    const __m512 inverse =
        _mm512_castsi512_ps(_mm512_sub_epi32(exponent[q], _mm512_set1_epi32(static_cast<s32>(static_cast<u32>(fraction_bits) << 23))));
    sum[q] = _mm512_castps_si512(_mm512_mul_ps(cut, inverse));
  }
  const __m512i kScaled = _mm512_set1_epi32((127 + kLeastExponent) << 23);
  if (_mm512_cmplt_epi32_mask(least, kScaled) != 0) [[unlikely]] {
    // Where there are no products the result is c, which may be too small to be scaled; adding zero makes -0 +0.
    for (int q = 0; q < 4; ++q) {
      const __m512 unchanged = _mm512_add_ps(_mm512_loadu_ps(c[q]), _mm512_setzero_ps());
      sum[q] = _mm512_mask_blend_epi32(_mm512_cmplt_epi32_mask(exponent[q], kScaled), sum[q], _mm512_castps_si512(unchanged));
    }
  }
#pragma GCC unroll 4
  for (int q = 0; q < 4; ++q) _mm512_storeu_ps(d[q], _mm512_castsi512_ps(sum[q]));
  return true;
}

// The columns of one parity that are done, as two bits.
template <int Products>
int multiply_narrow(const RowsOfA& a, const ColumnsOfB& b, const DotRule& rule, const f32* const c[4], f32* const d[4]) {
  // 8 products and c cannot overflow 32 bits: 8 * 2^27 + 2^26; nor can 32 with 13 fraction bits.
  const bool check = Products > 8 && rule.fraction_bits > 20;
  int done = 0;
  for (int odd = 0; odd < 2; ++odd) {
    const s8(*exponents)[4] = b.exponent[odd];
    const int f = rule.fraction_bits;
    const bool ok = rule.half ? multiply_group<Products, true, true>(a, b.value[odd], exponents, f, c[odd], c[2 + odd], d[odd], d[2 + odd])
                    : check   ? multiply_group<Products, true, false>(a, b.value[odd], exponents, f, c[odd], c[2 + odd], d[odd], d[2 + odd])
                            : multiply_group<Products, false, false>(a, b.value[odd], exponents, f, c[odd], c[2 + odd], d[odd], d[2 + odd]);
    done |= static_cast<int>(ok) << odd;
  }
  return done;
}

}  // namespace

void TensorCoreAvx512::place_a(const u32* const quads[4], u32 keep, RowsOfA& a, int k, const DotRule& rule) {
  const __m512i bits = _mm512_set1_epi32(static_cast<s32>(keep));
  for (int quad = 0; quad < 2; ++quad, k += 4) {
    __m512i z[4];
    for (int j = 0; j < 4; ++j) z[j] = _mm512_and_si512(_mm512_loadu_si512(quads[2 * quad + j / 2] + 16 * (j % 2)), bits);
    const __m512i exponents = exponent_bytes(z, rule.min_exponent_a, a.narrow);
    spread<0>(z, exponents, a, k);
    spread<1>(z, exponents, a, k);
    spread<2>(z, exponents, a, k);
    spread<3>(z, exponents, a, k);
  }
}

void TensorCoreAvx512::place_b(const u32* const quads[2], u32 keep, ColumnsOfB& b, int k, const DotRule& rule) {
  const __m512i bits = _mm512_set1_epi32(static_cast<s32>(keep));
  const __m512i even = _mm512_setr_epi32(0, 8, 16, 24, 1, 9, 17, 25, 2, 10, 18, 26, 3, 11, 19, 27);
  const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(4));
  __m512i z[4];
  for (int quad = 0; quad < 2; ++quad) {
    const __m512i low = _mm512_and_si512(_mm512_loadu_si512(quads[quad]), bits);
    const __m512i high = _mm512_and_si512(_mm512_loadu_si512(quads[quad] + 16), bits);
    z[quad] = _mm512_permutex2var_epi32(low, even, high);
    z[2 + quad] = _mm512_permutex2var_epi32(low, odd, high);
    _mm512_store_si512(b.value[0][k + 4 * quad], z[quad]);
    _mm512_store_si512(b.value[1][k + 4 * quad], z[2 + quad]);
  }
  // Word 4 i + j is k = i of vector j: to (parity, quad, i).
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i exponents = _mm512_permutexvar_epi32(order, exponent_bytes(z, rule.min_exponent_b, b.narrow));
  _mm256_store_si256(reinterpret_cast<__m256i*>(b.exponent[0][k]), _mm512_castsi512_si256(exponents));
  _mm256_store_si256(reinterpret_cast<__m256i*>(b.exponent[1][k]), _mm512_extracti64x4_epi64(exponents, 1));
}

void TensorCoreAvx512::place_halves(const char* const chunks[16], bool bf16, bool negative, ColumnsOfB& b, const DotRule& rule) {
  const __m512i sign = _mm512_set1_epi32(negative ? INT32_MIN : 0);
  for (int odd = 0; odd < 2; ++odd) {
    __m512 x[4];  // column 2t + odd: 16 values of k
    for (int t = 0; t < 4; ++t) {
      const char* const* chunk = chunks + 2 * (2 * t + odd);
      const __m256i raw = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(chunk[0]))),
                                                  _mm_loadu_si128(reinterpret_cast<const __m128i*>(chunk[1])), 1);
      const __m512i wide = bf16 ? _mm512_slli_epi32(_mm512_cvtepu16_epi32(raw), 16) : _mm512_castps_si512(_mm512_cvtph_ps(raw));
      x[t] = _mm512_castsi512_ps(_mm512_xor_si512(wide, sign));
    }
    const __m512d low01 = _mm512_castps_pd(_mm512_unpacklo_ps(x[0], x[1])), high01 = _mm512_castps_pd(_mm512_unpackhi_ps(x[0], x[1]));
    const __m512d low23 = _mm512_castps_pd(_mm512_unpacklo_ps(x[2], x[3])), high23 = _mm512_castps_pd(_mm512_unpackhi_ps(x[2], x[3]));
    const __m512i z[4] = {_mm512_castpd_si512(_mm512_unpacklo_pd(low01, low23)), _mm512_castpd_si512(_mm512_unpackhi_pd(low01, low23)),
                          _mm512_castpd_si512(_mm512_unpacklo_pd(high01, high23)), _mm512_castpd_si512(_mm512_unpackhi_pd(high01, high23))};
    for (int j = 0; j < 4; ++j) {  // 128-bit lane i of z[j] is k = 4 i + j
      const auto store = [&](int i, __m128i four) { _mm_store_si128(reinterpret_cast<__m128i*>(b.value[odd][4 * i + j]), four); };
      store(0, _mm512_castsi512_si128(z[j]));
      store(1, _mm512_extracti32x4_epi32(z[j], 1));
      store(2, _mm512_extracti32x4_epi32(z[j], 2));
      store(3, _mm512_extracti32x4_epi32(z[j], 3));
    }
    _mm512_store_si512(b.exponent[odd], exponent_bytes(z, rule.min_exponent_b, b.narrow));
  }
}

void TensorCoreAvx512::multiply(const RowsOfA& a, const ColumnsOfB& b, int products, const DotRule& rule, const f32* const c[4],
                                f32* const d[4]) {
  int done = 0;
  if (a.narrow && b.narrow) [[likely]]
    done = products == 8    ? multiply_narrow<8>(a, b, rule, c, d)
           : products == 16 ? multiply_narrow<16>(a, b, rule, c, d)
                            : multiply_narrow<32>(a, b, rule, c, d);
  if (done != 3) [[unlikely]]
    multiply_plain(a, b, products, rule, c, d, ~done);
}

}  // namespace cutegen::vgpu

#pragma GCC pop_options
#endif
