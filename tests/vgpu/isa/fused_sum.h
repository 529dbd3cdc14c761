// What a tensor core's sum is, in integers: an independent statement of the rules in src/vgpu/isa/tensor_core.h for the tests.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "vgpu/isa/types.h"

namespace cutegen::vgpu::reference {

struct FloatFormat {
  int exponent_bits = 8, fraction_bits = 23, width = 32;
  bool infinities = true;
  static FloatFormat of(const std::string& name) {
    if (name == "f16") return {5, 10, 16};
    if (name == "bf16") return {8, 7, 16};
    if (name == "tf32") return {8, 10, 32};
    if (name == "e4m3") return {4, 3, 8, false};
    if (name == "e5m2") return {5, 2, 8};
    return {};
  }
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};

struct Decoded {  // (-1)^negative * significand * 2^(exponent - fraction_bits), significand < 2^(fraction_bits + 1)
  bool nan = false, infinite = false, negative = false;
  int exponent = 0, fraction_bits = 0;
  u64 significand = 0;
};
inline Decoded decode(u64 bits, const FloatFormat& f) {
  if (f.width == 32) bits >>= 23 - f.fraction_bits;  // tf32: what lies below is ignored
  const int total = 1 + f.exponent_bits + f.fraction_bits;
  const u64 fraction = bits & ((1ull << f.fraction_bits) - 1), top = (1ull << f.exponent_bits) - 1;
  const u64 e = (bits >> f.fraction_bits) & top;
  Decoded d;
  d.negative = ((bits >> (total - 1)) & 1) != 0;
  d.fraction_bits = f.fraction_bits;
  if (e == top && (f.infinities || fraction == (1ull << f.fraction_bits) - 1)) {
    d.nan = !f.infinities || fraction != 0;
    d.infinite = !d.nan;
    return d;
  }
  d.exponent = std::max(static_cast<int>(e), 1) - f.bias();
  d.significand = fraction | (e != 0 ? 1ull << f.fraction_bits : 0);
  return d;
}

// sum * 2^scale to single precision toward zero with `kept` bits of fraction, or to half to nearest even. Magnitudes below 2^40.
inline u32 encode_sum(s64 sum, int scale, const std::string& to, int kept = 23) {
  const FloatFormat f = FloatFormat::of(to == "f16" ? "f16" : "f32");
  const int fraction = to == "f16" ? 10 : kept;
  const bool negative = sum < 0;
  const auto m = static_cast<u64>(negative ? -sum : sum);
  if (m == 0) return 0;
  int top = 0;
  while ((m >> top) > 1) ++top;
  int e = std::max(top + scale, 1 - f.bias());
  const int shift = std::min(e - fraction - scale, 63);  // bits to lose
  u64 kept_bits = shift <= 0 ? m << -shift : m >> shift;
  if (to == "f16" && shift > 0) {
    const u64 lost = m & ((u64{1} << shift) - 1), half = u64{1} << (shift - 1);
    if (lost > half || (lost == half && (kept_bits & 1) != 0)) ++kept_bits;
  }
  kept_bits <<= f.fraction_bits - fraction;
  u64 bits = static_cast<u64>(kept_bits) + (static_cast<u64>(e + f.bias() - 1) << f.fraction_bits);  // a carry moves into the exponent
  const u64 infinity = ((1ull << f.exponent_bits) - 1) << f.fraction_bits;
  bits = std::min(bits, infinity);
  return static_cast<u32>(bits | (negative ? 1ull << (f.width - 1) : 0));
}

// One result: products of a and b and c, cut to `kept` bits below the largest exponent. c and the result are of type `acc`.
inline u32 fused_sum(const std::vector<u64>& a, const FloatFormat& fa, const std::vector<u64>& b, const FloatFormat& fb, u64 c,
                     const std::string& acc, int kept = 25, int result_fraction = 23) {
  struct Term {
    bool negative;
    int exponent, fraction_bits;
    s64 significand;
  };
  std::vector<Term> terms;
  bool nan = false, plus = false, minus = false;
  auto special = [&](bool infinite, bool negative) { (negative ? minus : plus) |= infinite; };
  for (size_t k = 0; k < a.size(); ++k) {
    const Decoded x = decode(a[k], fa), y = decode(b[k], fb);
    const bool zero = (!x.infinite && !x.nan && x.significand == 0) || (!y.infinite && !y.nan && y.significand == 0);
    nan |= x.nan || y.nan || ((x.infinite || y.infinite) && zero);
    special(x.infinite || y.infinite, x.negative != y.negative);
    if (!zero)
      terms.push_back({x.negative != y.negative, x.exponent + y.exponent, x.fraction_bits + y.fraction_bits,
                       static_cast<s64>(x.significand) * static_cast<s64>(y.significand)});
  }
  const Decoded z = decode(c, FloatFormat::of(acc));
  nan |= z.nan;
  special(z.infinite, z.negative);
  if (z.significand != 0) terms.push_back({z.negative, z.exponent, z.fraction_bits, static_cast<s64>(z.significand)});
  const u32 infinity = acc == "f16" ? 0x7c00 : 0x7f800000, sign = acc == "f16" ? 0x8000 : 0x80000000;
  if (nan || (plus && minus)) return acc == "f16" ? 0x7fff : 0x7fffffff;
  if (plus || minus) return infinity | (minus ? sign : 0);
  int largest = -126;
  for (const Term& t : terms) largest = std::max(largest, t.exponent);
  s64 sum = 0;
  for (const Term& t : terms) {
    const int shift = (largest - kept) - (t.exponent - t.fraction_bits);
    const s64 cut = shift <= 0 ? t.significand << -shift : shift > 62 ? 0 : t.significand >> shift;
    sum += t.negative ? -cut : cut;
  }
  return encode_sum(sum, largest - kept, acc, result_fraction);
}

}  // namespace cutegen::vgpu::reference
