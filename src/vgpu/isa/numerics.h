// Arithmetic that instruction bodies share: canonical NaNs, flush to zero, saturation, directed rounding, half precision. Branch-free where
// it can be, so that loops over lanes vectorise.
#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include "vgpu/isa/types.h"

namespace cutegen::vgpu {

#define VGPU_INLINE [[gnu::always_inline]] inline

inline constexpr u32 kNan32 = 0x7fffffffu;  // single precision NaN payloads are not preserved: PTX ISA 9.7.3
inline constexpr u16 kNan16 = 0x7fff;

VGPU_INLINE f32 canonical(f32 x) { return x == x ? x : std::bit_cast<f32>(kNan32); }
VGPU_INLINE f64 canonical(f64 x) { return x; }
VGPU_INLINE f32 ftz(f32 x) {
  const u32 b = std::bit_cast<u32>(x);
  return std::bit_cast<f32>((b & 0x7f800000u) == 0 ? b & 0x80000000u : b);
}
// [0, 1], NaN to +0.
VGPU_INLINE f32 saturate(f32 x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
VGPU_INLINE f64 saturate(f64 x) { return x > 0.0 ? (x < 1.0 ? x : 1.0) : 0.0; }
VGPU_INLINE u32 bits_of(f32 x) { return std::bit_cast<u32>(x); }
VGPU_INLINE u64 bits_of(f64 x) { return std::bit_cast<u64>(x); }

enum class Rounding { rn, rz, rm, rp };

// The neighbour of x upwards or downwards; x finite.
template <class F>
VGPU_INLINE F step(F x, bool up) {
  using U = storage_t<F>;
  const U b = std::bit_cast<U>(x);
  constexpr U sign = U{1} << (sizeof(F) * 8 - 1);
  if ((b & ~sign) == 0) return std::bit_cast<F>(up ? U{1} : static_cast<U>(sign | 1));
  return std::bit_cast<F>(((b & sign) == 0) == up ? b + 1 : b - 1);
}

// An exact sum s + e (|e| at most half an ulp of s) to single precision in rounding mode R.
template <Rounding R>
VGPU_INLINE f32 round_pair(f64 s, f64 e) {
  const auto nearest = static_cast<f32>(s);
  if (!(std::fabs(s) <= std::numeric_limits<f64>::max())) return nearest;  // infinite or NaN operands
  if constexpr (R == Rounding::rn) {                                       // only a tie of the first rounding can be decided by e
    const f64 error = s - static_cast<f64>(nearest);
    if (e == 0.0) return nearest;
    const f32 other = step(nearest, error > 0.0 || (error == 0.0 && e > 0.0));
    const f64 middle = (static_cast<f64>(nearest) + static_cast<f64>(other)) * 0.5;
    if (s != middle) return nearest;
    return (e > 0.0) == (other > nearest) ? other : nearest;
  } else {
    const f64 n = static_cast<f64>(nearest);
    const bool above = n > s || (n == s && e < 0.0);  // nearest lies above the exact value
    const bool below = n < s || (n == s && e > 0.0);
    const bool negative = s < 0.0 || (s == 0.0 && e < 0.0);
    const bool down = R == Rounding::rm || (R == Rounding::rz && !negative);
    if (down) return above ? step(nearest, false) : nearest;
    return below ? step(nearest, true) : nearest;
  }
}

// a + b as s + e exactly (Knuth).
VGPU_INLINE void two_sum(f64 a, f64 b, f64& s, f64& e) {
  s = a + b;
  const f64 bb = s - a;
  e = (a - (s - bb)) + (b - bb);
  if (!(std::fabs(s) <= std::numeric_limits<f64>::max())) e = 0.0;
}

template <Rounding R>
VGPU_INLINE f32 add_rounded(f32 a, f32 b) {
  f64 s = 0, e = 0;
  two_sum(a, b, s, e);
  if (s == 0.0 && a != 0.0f && R == Rounding::rm) return -0.0f;  // x - x
  if (s == 0.0 && R == Rounding::rm && (std::signbit(a) != std::signbit(b))) return -0.0f;
  return round_pair<R>(s, e);
}
template <Rounding R>
VGPU_INLINE f32 mul_rounded(f32 a, f32 b) {
  return round_pair<R>(static_cast<f64>(a) * static_cast<f64>(b), 0.0);
}
template <Rounding R>
VGPU_INLINE f32 fma_rounded(f32 a, f32 b, f32 c) {
  const f64 product = static_cast<f64>(a) * static_cast<f64>(b);  // exact
  f64 s = 0, e = 0;
  two_sum(product, c, s, e);
  if (s == 0.0 && R == Rounding::rm && std::signbit(product) != std::signbit(c)) return -0.0f;
  return round_pair<R>(s, e);
}

// Half precision. Conversions to half round to nearest even; `odd` sums keep a sticky bit so that the second rounding is right.
VGPU_INLINE f32 to_f32(f16 h) {
  const u32 magnitude = h.bits & 0x7fffu, sign = static_cast<u32>(h.bits & 0x8000u) << 16;
  const f32 subnormal = static_cast<f32>(static_cast<s32>(magnitude)) * 0x1p-24f;
  const u32 normal = (magnitude << 13) + 0x38000000u;
  const u32 special = (magnitude << 13) | 0x7f800000u;
  const u32 b = magnitude < 0x400u ? std::bit_cast<u32>(subnormal) : magnitude < 0x7c00u ? normal : special;
  return std::bit_cast<f32>(b | sign);
}
VGPU_INLINE f32 to_f32(bf16 h) { return std::bit_cast<f32>(static_cast<u32>(h.bits) << 16); }

VGPU_INLINE f16 to_f16(f32 x) {
  const u32 b = std::bit_cast<u32>(x), sign = (b >> 16) & 0x8000u, magnitude = b & 0x7fffffffu;
  const u32 rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);  // ties to even at bit 13
  const u32 normal = (rounded >> 13) - (112u << 10);
  const f32 aligned = std::bit_cast<f32>(magnitude) + 0.5f;  // lines a subnormal's last bit up with bit 0, rounding to even
  const u32 subnormal = std::bit_cast<u32>(aligned) - 0x3f000000u;
  u32 r = magnitude < 0x38800000u ? subnormal : normal;
  r = rounded >= 0x47800000u ? 0x7c00u : r;
  r = magnitude > 0x7f800000u ? kNan16 : (r | sign);
  return f16{static_cast<u16>(r)};
}
VGPU_INLINE bf16 to_bf16(f32 x) {
  const u32 b = std::bit_cast<u32>(x);
  const u32 rounded = (b + 0x7fffu + ((b >> 16) & 1u)) >> 16;
  return bf16{static_cast<u16>(x == x ? rounded : kNan16)};
}
// Towards zero: the largest finite value instead of infinity.
VGPU_INLINE f16 to_f16_rz(f32 x) {
  const f16 n = to_f16(x);
  const f32 back = to_f32(n);
  return x == x && std::fabs(back) > std::fabs(x) ? f16{static_cast<u16>(n.bits - 1)} : n;
}
VGPU_INLINE bf16 to_bf16_rz(f32 x) { return bf16{static_cast<u16>(x == x ? std::bit_cast<u32>(x) >> 16 : kNan16)}; }

VGPU_INLINE f32 odd_sum(f64 a, f64 b) {  // a + b rounded to odd in double, then to odd in single
  f64 s = 0, e = 0;
  two_sum(a, b, s, e);
  const f32 toward_zero = round_pair<Rounding::rz>(s, e);
  const bool inexact = e != 0.0 || static_cast<f64>(toward_zero) != s;
  return inexact && s == s ? std::bit_cast<f32>(std::bit_cast<u32>(toward_zero) | 1u) : static_cast<f32>(toward_zero);
}

VGPU_INLINE f16 half_of(f16x2 v, int i) { return f16{static_cast<u16>(v.bits >> (16 * i))}; }
VGPU_INLINE bf16 half_of(bf16x2 v, int i) { return bf16{static_cast<u16>(v.bits >> (16 * i))}; }
VGPU_INLINE f16x2 pack(f16 lo, f16 hi) { return f16x2{static_cast<u32>(lo.bits) | static_cast<u32>(hi.bits) << 16}; }
VGPU_INLINE bf16x2 pack(bf16 lo, bf16 hi) { return bf16x2{static_cast<u32>(lo.bits) | static_cast<u32>(hi.bits) << 16}; }

}  // namespace cutegen::vgpu
