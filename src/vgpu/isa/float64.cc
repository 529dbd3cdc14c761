// PTX ISA 9.7.3: floating point, double precision.
#include <cfenv>

#include "vgpu/isa/builder.h"
#include "vgpu/isa/numerics.h"
#include "vgpu/isa/registry.h"

namespace cutegen::vgpu {
namespace {

enum class Op { add, mul, fma, div, sqrt };

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
    s.lanes<[](f64 a, f64 b) { return apply<Op::add, R>(a, b); }, hot>("add" + r + ".f64", Pipe::fp64);
    s.lanes<[](f64 a, f64 b) { return apply<Op::add, R>(a, -b); }, hot>("sub" + r + ".f64", Pipe::fp64);
    s.lanes<[](f64 a, f64 b) { return apply<Op::mul, R>(a, b); }, hot>("mul" + r + ".f64", Pipe::fp64);
  }
  s.lanes<[](f64 a, f64 b, f64 c) { return apply<Op::fma, R>(a, b, c); }, hot>({"fma" + rnd + ".f64", "mad" + rnd + ".f64"}, Pipe::fp64);
  s.lanes<[](f64 a, f64 b) { return apply<Op::div, R>(a, b); }, hot>("div" + rnd + ".f64", Pipe::fp64);
  s.lanes<[](f64 a) { return apply<Op::div, R>(1.0, a); }, hot>("rcp" + rnd + ".f64", Pipe::fp64);
  s.lanes<[](f64 a) { return apply<Op::sqrt, R>(a); }, hot>("sqrt" + rnd + ".f64", Pipe::fp64);
}

constexpr u64 kSign = 1ull << 63;
VGPU_INLINE f64 minimum(f64 a, f64 b) {
  const f64 r = a < b ? a : b < a ? b : std::bit_cast<f64>(bits_of(a) | bits_of(b));
  return a != a ? b : b != b ? a : r;
}
VGPU_INLINE f64 maximum(f64 a, f64 b) {
  const f64 r = b < a ? a : a < b ? b : std::bit_cast<f64>(bits_of(a) & bits_of(b));
  return a != a ? b : b != b ? a : r;
}
// rcp/rsqrt.approx.ftz.f64: the upper 32 bits of the result, the rest zero (PTX ISA: relative error up to 2^-20).
VGPU_INLINE f64 upper_word(f64 x) { return std::bit_cast<f64>(bits_of(x) & 0xffffffff00000000ull); }
VGPU_INLINE f64 flush(f64 x) { return (bits_of(x) & 0x7ff0000000000000ull) == 0 ? std::bit_cast<f64>(bits_of(x) & kSign) : x; }

}  // namespace

std::vector<Form> float64_forms() {
  Section s("Double precision");
  rounded<Rounding::rn>(s, ".rn");
  rounded<Rounding::rz>(s, ".rz");
  rounded<Rounding::rm>(s, ".rm");
  rounded<Rounding::rp>(s, ".rp");
  s.lanes<[](f64 a) { return std::bit_cast<f64>(bits_of(a) & ~kSign); }>("abs.f64", Pipe::fp64);
  s.lanes<[](f64 a) { return std::bit_cast<f64>(bits_of(a) ^ kSign); }>("neg.f64", Pipe::fp64);
  s.lanes<[](f64 a, f64 b) { return minimum(a, b); }>("min.f64", Pipe::fp64);
  s.lanes<[](f64 a, f64 b) { return maximum(a, b); }>("max.f64", Pipe::fp64);
  s.lanes<[](f64 a, f64 b) { return std::bit_cast<f64>((bits_of(b) & ~kSign) | (bits_of(a) & kSign)); }>("copysign.f64");
  s.lanes<[](f64 a) { return flush(upper_word(1.0 / flush(a))); }>("rcp.approx.ftz.f64", Pipe::xu);
  s.lanes<[](f64 a) { return flush(upper_word(1.0 / std::sqrt(flush(a)))); }>("rsqrt.approx.ftz.f64", Pipe::xu);
  s.lanes<[](f64 a) { return 1.0 / std::sqrt(a); }>("rsqrt.approx.f64", Pipe::xu);
  s.lanes<[](f64 a) { return static_cast<pred>((bits_of(a) & 0x7ff0000000000000ull) != 0x7ff0000000000000ull); }>("testp.finite.f64");
  s.lanes<[](f64 a) { return static_cast<pred>((bits_of(a) & ~kSign) == 0x7ff0000000000000ull); }>("testp.infinite.f64");
  s.lanes<[](f64 a) { return static_cast<pred>(a == a); }>("testp.number.f64");
  s.lanes<[](f64 a) { return static_cast<pred>(a != a); }>("testp.notanumber.f64");
  return s.take();
}

}  // namespace cutegen::vgpu
