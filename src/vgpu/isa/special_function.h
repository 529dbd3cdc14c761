// The special function unit (MUFU in machine code) of an H200, bit for bit.
//
// Every function is a quadratic in the low bits u of the operand's fixed-point fraction, with coefficients from a table that the high bits
// choose: constant + slope u + curve S(u), where S is u squared by an array whose low columns are left out (Oberman and Siu, "A
// high-performance area-efficient multifunction interpolator", 2005, describe such a unit). Results are truncated. Widths, tables and the
// cut of the array were derived from the hardware's results; the sweeps cover all mantissas of the binades that matter, and random operands
// the rest.
//
// Operands and results are normal here: the instructions around it (approximate.cc) deal with zeros, subnormals, infinities and NaN.
#pragma once

#include "vgpu/isa/numerics.h"
#include "vgpu/isa/special_function_tables.h"

namespace cutegen::vgpu::mufu {

// u * u without the partial products below column 19, in units of 2^19; u has 17 bits, h are the upper 8. All products within h stay, but
// for the lowest bit's square; of the others, bit i of u meets the bits of h from 9 - i on.
VGPU_INLINE s32 truncated_square(u32 u) {
  const u32 h = u >> 9;
  u32 sum = (h * h) >> 1;
  sum += (0u - ((u >> 2) & 1)) & (h >> 7);
  sum += (0u - ((u >> 3) & 1)) & (h >> 6);
  sum += (0u - ((u >> 4) & 1)) & (h >> 5);
  sum += (0u - ((u >> 5) & 1)) & (h >> 4);
  sum += (0u - ((u >> 6) & 1)) & (h >> 3);
  sum += (0u - ((u >> 7) & 1)) & (h >> 2);
  sum += (0u - ((u >> 8) & 1)) & (h >> 1);
  return static_cast<s32>(sum);
}
VGPU_INLINE s64 interpolate(const Segment& c, u32 u) {
  return c.constant + static_cast<s64>(c.slope) * u + static_cast<s64>(c.curve) * truncated_square(u);
}

// A positive fixed-point number with Point bits of fraction, truncated to single precision.
template <int Point>
VGPU_INLINE u32 truncated_float(s64 v) {
  const auto m = static_cast<u64>(v);
  const int top = 63 - std::countl_zero(m | 1);
  const u64 mantissa = top >= 23 ? m >> (top - 23) : m << (23 - top);
  return m == 0 ? 0 : static_cast<u32>(mantissa - (1u << 23)) + (static_cast<u32>(top - Point + 127) << 23);
}

VGPU_INLINE u32 mantissa_of(u32 b) { return b & 0x7fffffu; }
VGPU_INLINE s32 exponent_of(u32 b) { return static_cast<s32>((b >> 23) & 0xff) - 127; }

// The magnitude of 1/x as bits, before its exponent is moved by -exponent_of(x): in [0.5, 1].
VGPU_INLINE u32 reciprocal_mantissa(u32 mantissa) {
  const u32 u = mantissa & 0xffff;
  const Segment& c = kReciprocal[mantissa >> 16];
  const s64 t = c.constant + static_cast<s64>(c.slope) * u + static_cast<s64>(c.curve) * truncated_square(u << 1);
  return static_cast<u32>(t >> 15) + 0x3f000000u;
}
// 1/sqrt(x) for x in [1, 4), as bits; `odd`: in [2, 4).
VGPU_INLINE u32 reciprocal_root_mantissa(u32 mantissa, bool odd) {
  const Segment& c = odd ? kReciprocalRootOfTwo[mantissa >> 17] : kReciprocalRootOfOne[mantissa >> 17];
  const u32 r = static_cast<u32>(interpolate(c, mantissa & 0x1ffff) >> 17) + 0x3f000000u;
  return mantissa == 0 && !odd ? 0x3f800000u : r;
}
VGPU_INLINE u32 root_mantissa(u32 mantissa, bool odd) {
  const Segment& c = odd ? kRootOfTwo[mantissa >> 17] : kRootOfOne[mantissa >> 17];
  return static_cast<u32>(interpolate(c, mantissa & 0x1ffff) >> 18) + 0x3f800000u;
}

// Moves the exponent of normal bits; a result outside the normal range becomes zero or infinity.
VGPU_INLINE u32 scaled(u32 bits, s32 exponent) {
  const s32 e = static_cast<s32>(bits >> 23) + exponent;
  return e <= 0 ? 0 : e >= 255 ? 0x7f800000u : mantissa_of(bits) | static_cast<u32>(e) << 23;
}

VGPU_INLINE f32 reciprocal(f32 x) {  // x normal
  const u32 b = bits_of(x);
  return std::bit_cast<f32>(scaled(reciprocal_mantissa(mantissa_of(b)), -exponent_of(b)) | (b & 0x80000000u));
}
VGPU_INLINE f32 reciprocal_root(f32 x) {  // x normal, positive
  const u32 b = bits_of(x);
  const s32 e = exponent_of(b);
  return std::bit_cast<f32>(scaled(reciprocal_root_mantissa(mantissa_of(b), (e & 1) != 0), -(e >> 1)));
}
VGPU_INLINE f32 root(f32 x) {  // x normal, positive
  const u32 b = bits_of(x);
  const s32 e = exponent_of(b);
  return std::bit_cast<f32>(scaled(root_mantissa(mantissa_of(b), (e & 1) != 0), e >> 1));
}

// 2^x, |x| < 256. The operand becomes fixed-point with 23 bits of fraction, truncated; a negative one is complemented, not negated, unless
// its fraction is zero.
VGPU_INLINE f32 exponential(f32 x) {
  const u32 b = bits_of(x);
  const s32 shift = exponent_of(b);
  const u32 m = mantissa_of(b) | 0x800000u;
  const u32 fixed = shift >= 0 ? m << (shift & 7) : shift < -24 ? 0 : m >> (-shift & 31);
  const bool negative = (b >> 31) != 0, whole = (fixed & 0x7fffffu) == 0;
  const s32 integer = static_cast<s32>(fixed >> 23);
  const u32 fraction = negative && !whole ? ~fixed & 0x7fffffu : fixed & 0x7fffffu;
  const s32 e = negative ? (whole ? -integer : -integer - 1) : integer;
  const u32 mantissa = static_cast<u32>(interpolate(kExponential[fraction >> 17], fraction & 0x1ffff) >> 17);
  return std::bit_cast<f32>(scaled(mantissa + 0x3f800000u, e));
}

// log2(x), x normal and positive: 36 bits of fraction, complemented when negative.
VGPU_INLINE f32 logarithm(f32 x) {
  const u32 b = bits_of(x), m = mantissa_of(b);
  const s64 t = interpolate(kLogarithm[m >> 17], m & 0x1ffff) >> 2;
  const s64 v = (static_cast<s64>(exponent_of(b)) << 36) + t;
  const u32 r = truncated_float<36>(v < 0 ? ~v : v) | (v < 0 ? 0x80000000u : 0);
  return std::bit_cast<f32>(b == 0x3f800000u ? 0 : r);
}

// sin(2 pi t) plus `quarters` quarter turns, t finite: the phase has 25 bits, truncated; odd quarters are complemented.
VGPU_INLINE f32 sine_of_turns(f32 t, u32 quarters, bool odd_function) {
  const u32 b = bits_of(t), m = mantissa_of(b) | 0x800000u;
  const s32 shift = exponent_of(b) + 2;  // of the mantissa, to units of 2^-25
  const u32 phase = shift >= 25 ? 0 : shift >= 0 ? m << (shift & 31) : shift < -24 ? 0 : m >> (-shift & 31);
  const u32 q = ((phase >> 23) + quarters) & 3, r = q & 1 ? ~phase & 0x7fffffu : phase & 0x7fffffu;
  const u32 magnitude = truncated_float<37>(interpolate(kSine[r >> 17], r & 0x1ffff));
  const u32 sign = (q & 2 ? 0x80000000u : 0) ^ (odd_function ? b & 0x80000000u : 0);
  return std::bit_cast<f32>(magnitude | sign);
}

// tanh: the identity below 2^-8, one from 8 on; each binade between has a number of segments of its own.
VGPU_INLINE f32 hyperbolic_tangent(f32 x) {
  constexpr u8 first[16] = {0, 1, 2, 3, 5, 7, 11, 15, 19, 27, 43}, log_segments[16] = {0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3};
  const u32 b = bits_of(x), magnitude = b & 0x7fffffffu, m = mantissa_of(b);
  const u32 binade = static_cast<u32>(exponent_of(b) + 8) & 15, l = log_segments[binade];
  const u32 index = first[binade] + (m >> (23 - l)), u = (m & ((1u << (23 - l)) - 1)) >> (6 - l);
  const u32 r = truncated_float<39>(interpolate(kTangent[index < 51 ? index : 50], u));
  const u32 result = magnitude < 0x3b800000u ? magnitude : magnitude >= 0x41000000u ? 0x3f800000u : r;
  return std::bit_cast<f32>(result | (b & 0x80000000u));
}

// The upper words of double-precision reciprocals: the same tables, 20 bits of mantissa in and out.
VGPU_INLINE u32 reciprocal_upper_word(u32 b) {  // of a normal double's upper word
  const s32 e = static_cast<s32>((b >> 20) & 0x7ff) - 1023;
  const u32 r = (reciprocal_mantissa((b & 0xfffffu) << 3) - 0x3f000000u) >> 3;  // above 1/2, in units of 2^-21
  const s32 top = 1022 - e + static_cast<s32>(r >> 20);
  return top <= 0 ? b & 0x80000000u : (b & 0x80000000u) | static_cast<u32>(top) << 20 | (r & 0xfffffu);
}
VGPU_INLINE u32 reciprocal_root_upper_word(u32 b) {  // positive
  const s32 e = static_cast<s32>((b >> 20) & 0x7ff) - 1023;
  const u32 r = (reciprocal_root_mantissa((b & 0xfffffu) << 3, (e & 1) != 0) - 0x3f000000u) >> 3;
  return static_cast<u32>(1022 - (e >> 1) + static_cast<s32>(r >> 20)) << 20 | (r & 0xfffffu);
}

}  // namespace cutegen::vgpu::mufu
