// PTX ISA 9.7.3: the approximations. The manual gives error bounds only; these are inside them, not bit-exact: the hardware's tables have
// not been measured. rcp, sqrt, rsqrt, ex2, lg2, sin and cos are within 1 ulp here (or within 2^-22 absolute where the manual's bound is
// absolute); tanh keeps 11 significant bits, as coarse as the hardware may be.
#include "vgpu/isa/builder.h"
#include "vgpu/isa/numerics.h"
#include "vgpu/isa/registry.h"

namespace cutegen::vgpu {
namespace {

constexpr f64 kLn2 = 0.693147180559945309417;

// 2^x for |x| below 1022: 2^n by the exponent, 2^f by its series (|f| <= 1/2, error under 3e-10).
VGPU_INLINE f64 exp2_series(f64 x) {
  const f64 shifted = x + 0x1.8p52;  // the integer part, rounded, in the low bits
  const f64 n = shifted - 0x1.8p52;
  const f64 t = (x - n) * kLn2;
  const f64 p = 1.0 + t * (1.0 + t * (1.0 / 2 + t * (1.0 / 6 + t * (1.0 / 24 + t * (1.0 / 120 + t * (1.0 / 720 + t * (1.0 / 5040)))))));
  const u64 exponent = (bits_of(shifted) + 1023) << 52;
  return p * std::bit_cast<f64>(exponent);
}
VGPU_INLINE f32 exp2_approx(f32 x) {
  const f64 clamped = x < -200.0f ? -200.0 : x > 200.0f ? 200.0 : static_cast<f64>(x);
  const auto r = static_cast<f32>(exp2_series(clamped));
  return x == x ? r : std::bit_cast<f32>(kNan32);
}
VGPU_INLINE f32 log2_approx(f32 x) {
  const u64 b = bits_of(static_cast<f64>(x));
  const u64 biased = b - 0x3fe6a09e667f3bcdull;  // m in [sqrt(1/2), sqrt(2))
  const s64 exponent = static_cast<s64>(biased) >> 52;
  const f64 m = std::bit_cast<f64>(b - (static_cast<u64>(exponent) << 52));
  const f64 s = (m - 1.0) / (m + 1.0), q = s * s;
  const f64 p = s * (1.0 + q * (1.0 / 3 + q * (1.0 / 5 + q * (1.0 / 7 + q * (1.0 / 9 + q * (1.0 / 11))))));
  const auto r = static_cast<f32>(static_cast<f64>(static_cast<s32>(exponent)) + p * (2.0 / kLn2));
  constexpr f32 inf = std::numeric_limits<f32>::infinity();
  return x == 0.0f ? -inf : x > 0.0f ? (x == inf ? inf : r) : std::bit_cast<f32>(kNan32);
}
// sin(x + quarter * pi/2). The reduction is exact enough for |x| up to 2^30; beyond, the manual promises nothing.
VGPU_INLINE f32 sine_approx(f32 x, s64 quarter) {
  const f64 turns = static_cast<f64>(x) * (2.0 / 3.14159265358979323846);
  const f64 shifted = turns + 0x1.8p52;
  const f64 r = (static_cast<f64>(x) - (shifted - 0x1.8p52) * 1.57079632673412561417) - (shifted - 0x1.8p52) * 6.07710050650619224932e-11;
  const s64 q = static_cast<s64>(bits_of(shifted)) + quarter;
  const f64 z = r * r;
  const f64 sine = r + r * z * (-1.0 / 6 + z * (1.0 / 120 + z * (-1.0 / 5040 + z * (1.0 / 362880 - z * (1.0 / 39916800)))));
  const f64 cosine =
      1.0 + z * (-0.5 + z * (1.0 / 24 + z * (-1.0 / 720 + z * (1.0 / 40320 + z * (-1.0 / 3628800 + z * (1.0 / 479001600))))));
  const f64 v = (q & 1) != 0 ? cosine : sine;
  const auto signed_v = static_cast<f32>((q & 2) != 0 ? -v : v);
  const f32 kept = x == 0.0f && quarter == 0 ? x : signed_v;
  return (bits_of(x) & 0x7f800000u) == 0x7f800000u ? std::bit_cast<f32>(kNan32) : kept;
}
VGPU_INLINE f32 tanh_approx(f32 x) {
  const f64 a = std::fabs(static_cast<f64>(x));
  const f64 e = exp2_series((a > 20.0 ? 20.0 : a) * (2.0 / kLn2));
  const f64 t = a < 0x1p-10 ? a : (e - 1.0) / (e + 1.0);
  const u32 magnitude = (bits_of(static_cast<f32>(t)) + 0x1000u) & ~0x1fffu;  // 11 significant bits
  const f32 r = std::bit_cast<f32>((bits_of(static_cast<f32>(t)) < 0x00800000u ? bits_of(static_cast<f32>(t)) : magnitude) |
                                   (bits_of(x) & 0x80000000u));
  return x == x ? r : std::bit_cast<f32>(kNan32);
}
VGPU_INLINE f32 reciprocal_root(f32 x) { return static_cast<f32>(1.0 / std::sqrt(static_cast<f64>(x))); }
// a * (1/b); a divisor of 2^126 or more has a reciprocal that flushes to zero (PTX ISA, div.approx).
VGPU_INLINE f32 divide_approx(f32 a, f32 b) {
  const f32 m = std::fabs(b);
  const f32 r = m > 0x1p126f && m <= std::numeric_limits<f32>::max() ? std::copysign(0.0f, b) : static_cast<f32>(1.0 / static_cast<f64>(b));
  return a * r;
}

template <bool Ftz>
VGPU_INLINE f32 in(f32 x) {
  return Ftz ? ftz(x) : x;
}
template <bool Ftz>
VGPU_INLINE f32 out(f32 x) {
  return canonical(Ftz ? ftz(x) : x);
}

template <bool Ftz>
void single(Section& s) {
  const std::string t = std::string(Ftz ? ".approx.ftz" : ".approx") + ".f32";
  s.lanes<[](f32 a) { return out<Ftz>(exp2_approx(in<Ftz>(a))); }>("ex2" + t, Pipe::xu);
  s.lanes<[](f32 a) { return out<Ftz>(log2_approx(in<Ftz>(a))); }>("lg2" + t, Pipe::xu);
  s.lanes<[](f32 a) { return out<Ftz>(sine_approx(in<Ftz>(a), 0)); }>("sin" + t, Pipe::xu);
  s.lanes<[](f32 a) { return out<Ftz>(sine_approx(in<Ftz>(a), 1)); }>("cos" + t, Pipe::xu);
  s.lanes<[](f32 a) { return out<Ftz>(1.0f / in<Ftz>(a)); }>("rcp" + t, Pipe::xu);
  s.lanes<[](f32 a) { return out<Ftz>(std::sqrt(in<Ftz>(a))); }>("sqrt" + t, Pipe::xu);
  s.lanes<[](f32 a) { return out<Ftz>(reciprocal_root(in<Ftz>(a))); }>("rsqrt" + t, Pipe::xu);
  s.lanes<[](f32 a, f32 b) { return out<Ftz>(divide_approx(in<Ftz>(a), in<Ftz>(b))); }>("div" + t, Pipe::xu);
  s.lanes<[](f32 a, f32 b) { return out<Ftz>(in<Ftz>(a) / in<Ftz>(b)); }>(std::string(Ftz ? "div.full.ftz" : "div.full") + ".f32",
                                                                          Pipe::xu);
}

}  // namespace

std::vector<Form> approximate_forms() {
  Section s("Approximations");
  single<false>(s);
  single<true>(s);
  s.lanes<[](f32 a) { return canonical(tanh_approx(a)); }>("tanh.approx.f32", Pipe::xu);
  s.lanes<[](f16 a) { return to_f16(tanh_approx(to_f32(a))); }>("tanh.approx.f16", Pipe::xu);
  s.lanes<[](bf16 a) { return to_bf16(tanh_approx(to_f32(a))); }>("tanh.approx.bf16", Pipe::xu);
  s.lanes<[](f16 a) { return to_f16(exp2_approx(to_f32(a))); }>("ex2.approx.f16", Pipe::xu);
  s.lanes<[](bf16 a) { return to_bf16(exp2_approx(ftz(to_f32(a)))); }>("ex2.approx.ftz.bf16", Pipe::xu);
  s.lanes<[](f16x2 a) { return pack(to_f16(tanh_approx(to_f32(half_of(a, 0)))), to_f16(tanh_approx(to_f32(half_of(a, 1))))); }>(
      "tanh.approx.f16x2", Pipe::xu);
  s.lanes<[](bf16x2 a) { return pack(to_bf16(tanh_approx(to_f32(half_of(a, 0)))), to_bf16(tanh_approx(to_f32(half_of(a, 1))))); }>(
      "tanh.approx.bf16x2", Pipe::xu);
  s.lanes<[](f16x2 a) { return pack(to_f16(exp2_approx(to_f32(half_of(a, 0)))), to_f16(exp2_approx(to_f32(half_of(a, 1))))); }>(
      "ex2.approx.f16x2", Pipe::xu);
  s.lanes<[](bf16x2 a) {
    return pack(to_bf16(exp2_approx(ftz(to_f32(half_of(a, 0))))), to_bf16(exp2_approx(ftz(to_f32(half_of(a, 1))))));
  }>("ex2.approx.ftz.bf16x2", Pipe::xu);
  return s.take();
}

}  // namespace cutegen::vgpu
