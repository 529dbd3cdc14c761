// PTX ISA 9.7.3: the approximations, as an H200 computes them: the special function unit (special_function.h) between the scalings that
// machine code puts around it.
#include "vgpu/isa/builder.h"
#include "vgpu/isa/numerics.h"
#include "vgpu/isa/registry.h"
#include "vgpu/isa/special_function.h"

namespace cutegen::vgpu {
namespace {

constexpr f32 kInfinity = std::numeric_limits<f32>::infinity();
constexpr f32 kNan = std::bit_cast<f32>(kNan32);

VGPU_INLINE bool is_infinite(f32 x) { return (bits_of(x) & 0x7fffffffu) == 0x7f800000u; }
VGPU_INLINE bool is_zero(f32 x) { return (bits_of(x) & 0x7fffffffu) == 0; }
VGPU_INLINE bool is_subnormal(f32 x) { return (bits_of(x) & 0x7f800000u) == 0 && !is_zero(x); }
VGPU_INLINE f32 signed_like(f32 magnitude, f32 x) { return std::bit_cast<f32>(bits_of(magnitude) | (bits_of(x) & 0x80000000u)); }

// The unit's instructions with .ftz: subnormal operands and results are zeros. Without, the operand is scaled into the normal range before
// and the result after, as machine code does.
VGPU_INLINE f32 reciprocal_ftz(f32 x) {
  const f32 r = mufu::reciprocal(x);
  const f32 special = is_infinite(x) ? signed_like(0.0f, x) : is_zero(ftz(x)) ? signed_like(kInfinity, x) : r;
  return x == x ? special : kNan;
}
VGPU_INLINE f32 reciprocal_full(f32 x) {
  const f32 scale = std::fabs(x) > 0x1p126f ? 0.25f : is_subnormal(x) ? 0x1p24f : 1.0f;
  return canonical(reciprocal_ftz(x * scale) * scale);
}
VGPU_INLINE f32 reciprocal_root_ftz(f32 x) {
  const f32 r = mufu::reciprocal_root(x);
  const f32 special = is_zero(ftz(x)) ? signed_like(kInfinity, x) : x == kInfinity ? 0.0f : r;
  return x == x && (x > 0.0f || is_zero(ftz(x))) ? special : kNan;
}
VGPU_INLINE f32 reciprocal_root_full(f32 x) {
  const bool tiny = is_subnormal(x);
  return canonical(reciprocal_root_ftz(tiny ? x * 0x1p24f : x) * (tiny ? 0x1p12f : 1.0f));
}
VGPU_INLINE f32 root_ftz(f32 x) {
  const f32 r = mufu::root(x);
  const f32 special = is_zero(ftz(x)) ? signed_like(0.0f, x) : x == kInfinity ? x : r;
  return x == x && (x > 0.0f || is_zero(ftz(x))) ? special : kNan;
}
VGPU_INLINE f32 root_full(f32 x) {
  const bool tiny = is_subnormal(x);
  return canonical(root_ftz(tiny ? x * 0x1p24f : x) * (tiny ? 0x1p-12f : 1.0f));
}
VGPU_INLINE f32 exp2_ftz(f32 x) {
  const f32 r = mufu::exponential(x >= 255.0f ? 255.0f : x <= -255.0f ? -255.0f : x);
  return x == x ? r : kNan;
}
VGPU_INLINE f32 exp2_full(f32 x) {  // the square of 2^(x/2) where the result is subnormal
  const bool small = x < -126.0f;
  const f32 r = exp2_ftz(small ? x * 0.5f : x);
  return canonical(small ? r * r : r);
}
VGPU_INLINE f32 log2_ftz(f32 x) {
  const f32 r = mufu::logarithm(x);
  const f32 special = is_zero(ftz(x)) ? -kInfinity : x == kInfinity ? x : r;
  return x == x && (x > 0.0f || is_zero(ftz(x))) ? special : kNan;
}
VGPU_INLINE f32 log2_full(f32 x) {
  const bool tiny = is_subnormal(x);
  return canonical(log2_ftz(tiny ? x * 0x1p24f : x) - (tiny ? 24.0f : 0.0f));
}
// The operand is multiplied by 1/(2 pi), rounded towards zero; the unit takes turns.
template <bool Ftz>
VGPU_INLINE f32 sine(f32 x, u32 quarters) {
  const f32 t = mul_rounded<Rounding::rz>(x, std::bit_cast<f32>(0x3e22f983u));
  const f32 r = mufu::sine_of_turns(Ftz ? ftz(t) : t, quarters, quarters == 0);
  return is_infinite(x) || x != x ? kNan : r;
}
VGPU_INLINE f32 tanh_approx(f32 x) { return x == x ? mufu::hyperbolic_tangent(x) : kNan; }
// a * (1/b), both scaled where b is subnormal; div.full also where b is so large that its reciprocal would be.
template <bool Large>
VGPU_INLINE f32 divide(f32 a, f32 b) {
  const f32 scale = Large && std::fabs(b) > 0x1p126f ? 0.25f : is_subnormal(b) ? 0x1p24f : 1.0f;
  return a * scale * reciprocal_ftz(b * scale);
}

// Truncated; from 65536 on infinite.
VGPU_INLINE f16 exp2_half(f16 x) {
  const f32 r = exp2_ftz(to_f32(x));
  return r >= 65536.0f ? f16{0x7c00} : to_f16_rz(r);
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
  s.lanes<[](f32 a) { return out<Ftz>(Ftz ? exp2_ftz(ftz(a)) : exp2_full(a)); }>("ex2" + t, Pipe::xu);
  s.lanes<[](f32 a) { return out<Ftz>(Ftz ? log2_ftz(ftz(a)) : log2_full(a)); }>("lg2" + t, Pipe::xu);
  s.lanes<[](f32 a) { return out<Ftz>(sine<Ftz>(in<Ftz>(a), 0)); }>("sin" + t, Pipe::xu);
  s.lanes<[](f32 a) { return out<Ftz>(sine<Ftz>(in<Ftz>(a), 1)); }>("cos" + t, Pipe::xu);
  s.lanes<[](f32 a) { return out<Ftz>(Ftz ? reciprocal_ftz(ftz(a)) : reciprocal_full(a)); }>("rcp" + t, Pipe::xu);
  s.lanes<[](f32 a) { return out<Ftz>(Ftz ? root_ftz(ftz(a)) : root_full(a)); }>("sqrt" + t, Pipe::xu);
  s.lanes<[](f32 a) { return out<Ftz>(Ftz ? reciprocal_root_ftz(ftz(a)) : reciprocal_root_full(a)); }>("rsqrt" + t, Pipe::xu);
  s.lanes<[](f32 a, f32 b) { return out<Ftz>(Ftz ? ftz(a) * reciprocal_ftz(ftz(b)) : divide<false>(a, b)); }>("div" + t, Pipe::xu);
  s.lanes<[](f32 a, f32 b) { return out<Ftz>(divide<true>(in<Ftz>(a), in<Ftz>(b))); }>(
      std::string(Ftz ? "div.full.ftz" : "div.full") + ".f32", Pipe::xu);
}

}  // namespace

std::vector<Form> approximate_forms() {
  Section s("Approximations");
  single<false>(s);
  single<true>(s);
  s.lanes<[](f32 a) { return tanh_approx(a); }>("tanh.approx.f32", Pipe::xu);
  s.lanes<[](f16 a) { return to_f16_rz(tanh_approx(to_f32(a))); }>("tanh.approx.f16", Pipe::xu);
  s.lanes<[](bf16 a) { return to_bf16_rz(tanh_approx(to_f32(a))); }>("tanh.approx.bf16", Pipe::xu);
  s.lanes<[](f16 a) { return exp2_half(a); }>("ex2.approx.f16", Pipe::xu);
  s.lanes<[](bf16 a) { return to_bf16_rz(exp2_ftz(ftz(to_f32(a)))); }>("ex2.approx.ftz.bf16", Pipe::xu);
  s.lanes<[](f16x2 a) { return pack(to_f16_rz(tanh_approx(to_f32(half_of(a, 0)))), to_f16_rz(tanh_approx(to_f32(half_of(a, 1))))); }>(
      "tanh.approx.f16x2", Pipe::xu);
  s.lanes<[](bf16x2 a) { return pack(to_bf16_rz(tanh_approx(to_f32(half_of(a, 0)))), to_bf16_rz(tanh_approx(to_f32(half_of(a, 1))))); }>(
      "tanh.approx.bf16x2", Pipe::xu);
  s.lanes<[](f16x2 a) { return pack(exp2_half(half_of(a, 0)), exp2_half(half_of(a, 1))); }>("ex2.approx.f16x2", Pipe::xu);
  s.lanes<[](bf16x2 a) {
    return pack(to_bf16_rz(exp2_ftz(ftz(to_f32(half_of(a, 0))))), to_bf16_rz(exp2_ftz(ftz(to_f32(half_of(a, 1))))));
  }>("ex2.approx.ftz.bf16x2", Pipe::xu);
  return s.take();
}

}  // namespace cutegen::vgpu
