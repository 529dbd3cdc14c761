// PTX ISA 9.7.3: floating point, double precision.
#include <cfenv>

#include "vgpu/isa/builder.h"
#include "vgpu/isa/numerics.h"
#include "vgpu/isa/registry.h"
#include "vgpu/isa/special_function.h"

namespace cutegen::vgpu {
namespace {

enum class Op { add, mul, fma, div, sqrt };

constexpr u64 kSign = 1ull << 63, kInvalid64 = 0xfff8000000000000ull;  // of infinity - infinity and the like
VGPU_INLINE f64 quiet(f64 nan) { return std::bit_cast<f64>(bits_of(nan) | 0x0008000000000000ull); }

// Which NaN an operation passes on, quieted: the second operand's before the third's before the first's (measured).
VGPU_INLINE f64 nan_of(f64 r, f64 a, f64 b) { return b != b ? quiet(b) : a != a ? quiet(a) : r; }
VGPU_INLINE f64 nan_of(f64 r, f64 a, f64 b, f64 c) { return b != b ? quiet(b) : c != c ? quiet(c) : a != a ? quiet(a) : r; }

template <Op O>
VGPU_INLINE f64 evaluate(f64 a, f64 b, f64 c) {
  switch (O) {
    case Op::add: return a + b;
    case Op::mul: return a * b;
    case Op::fma: return __builtin_fma(a, b, c);
    case Op::div: return a / b;
    case Op::sqrt: return std::sqrt(a);
  }
  return a;
}

// The host's own rounding modes; volatile keeps the operation between the two mode changes.
template <Op O, Rounding R>
[[gnu::noinline]] f64 directed(f64 x, f64 y, f64 z) {
  volatile f64 a = x, b = y, c = z;
  std::fesetround(R == Rounding::rz ? FE_TOWARDZERO : R == Rounding::rm ? FE_DOWNWARD : FE_UPWARD);
  volatile f64 r = evaluate<O>(a, b, c);
  std::fesetround(FE_TONEAREST);
  return r;
}
template <Op O, Rounding R>
VGPU_INLINE f64 apply(f64 a, f64 b = 0, f64 c = 0) {
  if constexpr (R == Rounding::rn)
    return evaluate<O>(a, b, c);
  else
    return directed<O, R>(a, b, c);
}

template <Rounding R>
void rounded(Section& s, const std::string& rnd) {
  constexpr bool hot = R == Rounding::rn;
  for (const std::string& r : R == Rounding::rn ? std::vector<std::string>{rnd, ""} : std::vector<std::string>{rnd}) {
    s.lanes<[](f64 a, f64 b) { return nan_of(apply<Op::add, R>(a, b), a, b); }, hot>("add" + r + ".f64", Pipe::fp64);
    s.lanes<[](f64 a, f64 b) { return nan_of(apply<Op::add, R>(a, -b), a, b); }, hot>("sub" + r + ".f64", Pipe::fp64);
    s.lanes<[](f64 a, f64 b) { return nan_of(apply<Op::mul, R>(a, b), a, b); }, hot>("mul" + r + ".f64", Pipe::fp64);
  }
  s.lanes<[](f64 a, f64 b, f64 c) { return nan_of(apply<Op::fma, R>(a, b, c), a, b, c); }, hot>(
      {"fma" + rnd + ".f64", "mad" + rnd + ".f64"}, Pipe::fp64);
  s.lanes<[](f64 a, f64 b) { return apply<Op::div, R>(a, b); }, hot>("div" + rnd + ".f64", Pipe::fp64);
  s.lanes<[](f64 a) { return apply<Op::div, R>(1.0, a); }, hot>("rcp" + rnd + ".f64", Pipe::fp64);
  s.lanes<[](f64 a) { return apply<Op::sqrt, R>(a); }, hot>("sqrt" + rnd + ".f64", Pipe::fp64);
}

VGPU_INLINE f64 minimum(f64 a, f64 b) {
  const f64 r = a < b ? a : b < a ? b : std::bit_cast<f64>(bits_of(a) | bits_of(b));
  return a != a ? (b != b ? quiet(b) : b) : b != b ? a : r;
}
VGPU_INLINE f64 maximum(f64 a, f64 b) {
  const f64 r = b < a ? a : a < b ? b : std::bit_cast<f64>(bits_of(a) & bits_of(b));
  return a != a ? (b != b ? quiet(b) : b) : b != b ? a : r;
}

// rcp and rsqrt.approx.ftz.f64 work on the upper words alone (PTX ISA 9.7.3.15); their NaN is 0x7fffffff and zeros.
VGPU_INLINE f64 from_upper(u32 word) { return std::bit_cast<f64>(static_cast<u64>(word) << 32); }
VGPU_INLINE f64 reciprocal_upper(f64 a) {
  const auto b = static_cast<u32>(bits_of(a) >> 32), magnitude = b & 0x7fffffffu, sign = b & 0x80000000u;
  const u32 special = magnitude > 0x7ff00000u ? 0x7fffffffu : magnitude == 0x7ff00000u ? sign : sign | 0x7ff00000u;
  return from_upper(magnitude >= 0x7ff00000u || magnitude < 0x00100000u ? special : mufu::reciprocal_upper_word(b));
}
VGPU_INLINE f64 reciprocal_root_upper(f64 a) {
  const auto b = static_cast<u32>(bits_of(a) >> 32), magnitude = b & 0x7fffffffu, sign = b & 0x80000000u;
  if (magnitude < 0x00100000u) return from_upper(sign | 0x7ff00000u);
  if (magnitude > 0x7ff00000u || sign != 0) return from_upper(0x7fffffffu);
  return from_upper(magnitude == 0x7ff00000u ? 0 : mufu::reciprocal_root_upper_word(b));
}

// rsqrt.approx.f64: one step of third order from the upper word, as machine code does it.
VGPU_INLINE f64 reciprocal_root(f64 a) {
  if (a != a) return quiet(a);
  if (a == 0.0) return std::copysign(std::numeric_limits<f64>::infinity(), a);
  if (a < 0.0) return std::bit_cast<f64>(kInvalid64);
  if (a == std::numeric_limits<f64>::infinity()) return 0.0;
  const bool subnormal = a < 0x1p-1022;
  const f64 x = subnormal ? a * 0x1p54 : a, y = reciprocal_root_upper(x), e = __builtin_fma(x, -(y * y), 1.0);
  return __builtin_fma(__builtin_fma(e, 0.375, 0.5), y * e, y) * (subnormal ? 0x1p27 : 1.0);
}

}  // namespace

std::vector<Form> float64_forms() {
  Section s("Double precision");
  rounded<Rounding::rn>(s, ".rn");
  rounded<Rounding::rz>(s, ".rz");
  rounded<Rounding::rm>(s, ".rm");
  rounded<Rounding::rp>(s, ".rp");
  s.lanes<[](f64 a) { return a != a ? quiet(a) : std::bit_cast<f64>(bits_of(a) & ~kSign); }>("abs.f64", Pipe::fp64);
  s.lanes<[](f64 a) { return a != a ? quiet(a) : std::bit_cast<f64>(bits_of(a) ^ kSign); }>("neg.f64", Pipe::fp64);
  s.lanes<[](f64 a, f64 b) { return minimum(a, b); }>("min.f64", Pipe::fp64);
  s.lanes<[](f64 a, f64 b) { return maximum(a, b); }>("max.f64", Pipe::fp64);
  s.lanes<[](f64 a, f64 b) { return std::bit_cast<f64>((bits_of(b) & ~kSign) | (bits_of(a) & kSign)); }>("copysign.f64");
  s.lanes<[](f64 a) { return reciprocal_upper(a); }>("rcp.approx.ftz.f64", Pipe::xu);
  s.lanes<[](f64 a) { return reciprocal_root_upper(a); }>("rsqrt.approx.ftz.f64", Pipe::xu);
  s.lanes<[](f64 a) { return reciprocal_root(a); }>("rsqrt.approx.f64", Pipe::xu);
  s.lanes<[](f64 a) { return static_cast<pred>((bits_of(a) & 0x7ff0000000000000ull) != 0x7ff0000000000000ull); }>("testp.finite.f64");
  s.lanes<[](f64 a) { return static_cast<pred>((bits_of(a) & ~kSign) == 0x7ff0000000000000ull); }>("testp.infinite.f64");
  s.lanes<[](f64 a) { return static_cast<pred>(a == a); }>("testp.number.f64");
  s.lanes<[](f64 a) { return static_cast<pred>(a != a); }>("testp.notanumber.f64");
  return s.take();
}

}  // namespace cutegen::vgpu
