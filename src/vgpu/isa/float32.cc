// PTX ISA 9.7.3: floating point, single precision, IEEE part.
#include "vgpu/isa/builder.h"
#include "vgpu/isa/numerics.h"
#include "vgpu/isa/registry.h"

namespace cutegen::vgpu {
namespace {

template <bool Ftz>
VGPU_INLINE f32 input(f32 x) {
  return Ftz ? ftz(x) : x;
}
template <bool Ftz, bool Sat>
VGPU_INLINE f32 output(f32 x) {
  if constexpr (Sat) x = saturate(x);
  if constexpr (Ftz) x = ftz(x);
  return canonical(x);
}

template <Rounding R>
VGPU_INLINE f32 add(f32 a, f32 b) {
  if constexpr (R == Rounding::rn)
    return a + b;
  else
    return add_rounded<R>(a, b);
}
template <Rounding R>
VGPU_INLINE f32 mul(f32 a, f32 b) {
  if constexpr (R == Rounding::rn)
    return a * b;
  else
    return mul_rounded<R>(a, b);
}
template <Rounding R>
VGPU_INLINE f32 fma(f32 a, f32 b, f32 c) {
  if constexpr (R == Rounding::rn)
    return __builtin_fmaf(a, b, c);
  else
    return fma_rounded<R>(a, b, c);
}
template <Rounding R>
VGPU_INLINE f32 divide(f32 a, f32 b) {
  if constexpr (R == Rounding::rn) return a / b;
  const f64 q = static_cast<f64>(a) / static_cast<f64>(b);
  const f64 remainder = __builtin_fma(-q, b, a);  // its sign, times b's, says on which side of q the quotient lies
  if (!(std::fabs(q) <= std::numeric_limits<f64>::max())) return static_cast<f32>(q);
  return round_pair<R>(q, std::signbit(b) ? -remainder : remainder);
}
template <Rounding R>
VGPU_INLINE f32 root(f32 a) {
  if constexpr (R == Rounding::rn) return std::sqrt(a);
  const f64 q = std::sqrt(static_cast<f64>(a));
  if (!(q > 0.0 && q <= std::numeric_limits<f64>::max())) return static_cast<f32>(q);
  return round_pair<R>(q, __builtin_fma(-q, q, a));
}

// minimum/maximum: -0 below +0; a NaN loses against a number unless .NaN asks otherwise.
template <bool Nan>
VGPU_INLINE f32 minimum(f32 a, f32 b) {
  const f32 r = a < b ? a : b < a ? b : std::bit_cast<f32>(bits_of(a) | bits_of(b));
  if constexpr (Nan) return a != a || b != b ? std::bit_cast<f32>(kNan32) : r;
  return a != a ? b : b != b ? a : r;
}
template <bool Nan>
VGPU_INLINE f32 maximum(f32 a, f32 b) {
  const f32 r = b < a ? a : a < b ? b : std::bit_cast<f32>(bits_of(a) & bits_of(b));
  if constexpr (Nan) return a != a || b != b ? std::bit_cast<f32>(kNan32) : r;
  return a != a ? b : b != b ? a : r;
}
VGPU_INLINE f32 magnitude(f32 x) { return std::bit_cast<f32>(bits_of(x) & 0x7fffffffu); }
VGPU_INLINE f32 with_sign(f32 x, u32 sign) { return std::bit_cast<f32>((bits_of(x) & 0x7fffffffu) | (sign & 0x80000000u)); }

// .ftz: a result is a zero when it would lie below 2^-126 after rounding to 24 bits with an unbounded exponent (measured). Where the usual
// result is 2^-126 itself, that needs the exact value; `exact` gives it in double precision, exact for such small results.
template <Rounding R>
VGPU_INLINE f32 settle(f32 r, f64 exact) {
  const f64 magnitude = std::fabs(exact);
  const bool away = R == Rounding::rp ? exact > 0.0 : R == Rounding::rm ? exact < 0.0 : false;
  const bool tiny = R == Rounding::rn ? magnitude < 0x1p-126 * (1.0 - 0x1p-25) : away && magnitude <= 0x1p-126 * (1.0 - 0x1p-24);
  return tiny ? std::bit_cast<f32>(bits_of(r) & 0x80000000u) : r;
}
// A body of two or three operands: F, and where its result is the smallest normal number, settled by the exact value E.
template <auto F, auto E, Rounding R, int N>
struct Flushing {
  VGPU_INLINE static void run(Warp& w, const Inst& in, u32 mask) {
    const Source<f32> a(w, in.op[1]), b(w, in.op[2]), c(w, in.op[N]);
    alignas(64) u32 r[kLanes];
    u32 smallest = 0;
    for (int i = 0; i < kLanes; ++i) {
      r[i] = bits_of(F(a[i], b[i], c[i]));
      smallest |= static_cast<u32>((r[i] & 0x7fffffffu) == 0x00800000u);
    }
    if (smallest != 0)
      for (int i = 0; i < kLanes; ++i)
        if ((r[i] & 0x7fffffffu) == 0x00800000u) r[i] = bits_of(settle<R>(std::bit_cast<f32>(r[i]), E(ftz(a[i]), ftz(b[i]), ftz(c[i]))));
    write_lanes(w.lanes<u32>(in.op[0]), r, mask);
  }
};
template <auto F, auto E, Rounding R, int N, bool Hot>
void flushing(Section& s, const std::string& name, Pipe pipe) {
  std::vector<OperandSpec> operands(static_cast<size_t>(N) + 1, {Role::src, Value::F32});
  operands[0].role = Role::dst;
  s.add({name, "", operands, bodies_of<Flushing<F, E, R, N>, Hot>(), pipe});
}

std::vector<std::string> spelt(const std::string& op, const std::string& rnd, const std::string& rest, bool rn_may_be_left_out) {
  std::vector<std::string> names{op + rnd + rest};
  if (rnd == ".rn" && rn_may_be_left_out) names.push_back(op + rest);
  return names;
}

template <Rounding R, bool Ftz, bool Sat>
void rounded(Section& s, const std::string& rnd) {
  constexpr bool hot = R == Rounding::rn && !Sat;
  const std::string rest = std::string(Ftz ? ".ftz" : "") + (Sat ? ".sat" : "") + ".f32";
  for (const std::string& n : spelt("add", rnd, rest, true))
    s.lanes<[](f32 a, f32 b) { return output<Ftz, Sat>(add<R>(input<Ftz>(a), input<Ftz>(b))); }, hot>(n, Pipe::fma);
  for (const std::string& n : spelt("sub", rnd, rest, true))
    s.lanes<[](f32 a, f32 b) { return output<Ftz, Sat>(add<R>(input<Ftz>(a), -input<Ftz>(b))); }, hot>(n, Pipe::fma);
  for (const std::string& n : spelt("mul", rnd, rest, true)) {
    if constexpr (Ftz)
      flushing<[](f32 a, f32 b, f32) { return output<true, Sat>(mul<R>(ftz(a), ftz(b))); },
               [](f32 a, f32 b, f32) { return static_cast<f64>(a) * static_cast<f64>(b); }, R, 2, hot>(s, n, Pipe::fma);
    else
      s.lanes<[](f32 a, f32 b) { return output<Ftz, Sat>(mul<R>(input<Ftz>(a), input<Ftz>(b))); }, hot>(n, Pipe::fma);
  }
  for (const std::string& op : {std::string("fma"), std::string("mad")}) {
    if constexpr (Ftz)
      flushing<[](f32 a, f32 b, f32 c) { return output<true, Sat>(fma<R>(ftz(a), ftz(b), ftz(c))); },
               [](f32 a, f32 b, f32 c) { return static_cast<f64>(a) * static_cast<f64>(b) + static_cast<f64>(c); }, R, 3, hot>(
          s, op + rnd + rest, Pipe::fma);
    else
      s.lanes<[](f32 a, f32 b, f32 c) { return output<Ftz, Sat>(fma<R>(a, b, c)); }, hot>(op + rnd + rest, Pipe::fma);
  }
  if constexpr (!Sat) {
    if constexpr (Ftz)
      flushing<[](f32 a, f32 b, f32) { return output<true, false>(divide<R>(ftz(a), ftz(b))); },
               [](f32 a, f32 b, f32) { return static_cast<f64>(a) / static_cast<f64>(b); }, R, 2, hot>(s, "div" + rnd + rest, Pipe::xu);
    else
      s.lanes<[](f32 a, f32 b) { return output<Ftz, false>(divide<R>(a, b)); }, hot>("div" + rnd + rest, Pipe::xu);
    s.lanes<[](f32 a) {
      const f32 r = output<Ftz, false>(divide<R>(1.0f, input<Ftz>(a)));
      if constexpr (Ftz && R != Rounding::rn)
        return std::fabs(r) == 0x1p-126f ? settle<R>(r, 1.0 / static_cast<f64>(a)) : r;
      else
        return r;
    },
            hot>("rcp" + rnd + rest, Pipe::xu);
    s.lanes<[](f32 a) { return output<Ftz, false>(root<R>(input<Ftz>(a))); }, hot>("sqrt" + rnd + rest, Pipe::xu);
  }
}

template <Rounding R>
void all_rounded(Section& s, const std::string& rnd) {
  rounded<R, false, false>(s, rnd);
  rounded<R, true, false>(s, rnd);
  rounded<R, false, true>(s, rnd);
  rounded<R, true, true>(s, rnd);
}

template <bool Ftz>
void sign_and_order(Section& s) {
  const std::string t = std::string(Ftz ? ".ftz" : "") + ".f32";
  s.lanes<[](f32 a) { return canonical(magnitude(input<Ftz>(a))); }>("abs" + t);
  s.lanes<[](f32 a) { return canonical(-input<Ftz>(a)); }>("neg" + t);
  s.lanes<[](f32 a, f32 b) { return canonical(minimum<false>(input<Ftz>(a), input<Ftz>(b))); }>("min" + t);
  s.lanes<[](f32 a, f32 b) { return canonical(maximum<false>(input<Ftz>(a), input<Ftz>(b))); }>("max" + t);
  s.lanes<[](f32 a, f32 b) { return minimum<true>(input<Ftz>(a), input<Ftz>(b)); }>(std::string("min") + (Ftz ? ".ftz" : "") + ".NaN.f32");
  s.lanes<[](f32 a, f32 b) { return maximum<true>(input<Ftz>(a), input<Ftz>(b)); }>(std::string("max") + (Ftz ? ".ftz" : "") + ".NaN.f32");
  s.lanes<[](f32 a, f32 b) {
    const f32 x = input<Ftz>(a), y = input<Ftz>(b);
    return canonical(with_sign(minimum<false>(magnitude(x), magnitude(y)), bits_of(x) ^ bits_of(y)));
  }>(std::string("min") + (Ftz ? ".ftz" : "") + ".xorsign.abs.f32");
  s.lanes<[](f32 a, f32 b) {
    const f32 x = input<Ftz>(a), y = input<Ftz>(b);
    return canonical(with_sign(maximum<false>(magnitude(x), magnitude(y)), bits_of(x) ^ bits_of(y)));
  }>(std::string("max") + (Ftz ? ".ftz" : "") + ".xorsign.abs.f32");
}

}  // namespace

std::vector<Form> float32_forms() {
  Section s("Single precision");
  all_rounded<Rounding::rn>(s, ".rn");
  all_rounded<Rounding::rz>(s, ".rz");
  all_rounded<Rounding::rm>(s, ".rm");
  all_rounded<Rounding::rp>(s, ".rp");
  sign_and_order<false>(s);
  sign_and_order<true>(s);
  s.lanes<[](f32 a, f32 b) { return with_sign(b, bits_of(a)); }>("copysign.f32");  // the sign of a, the magnitude of b
  s.lanes<[](f32 a) { return static_cast<pred>((bits_of(a) & 0x7f800000u) != 0x7f800000u); }>("testp.finite.f32");
  s.lanes<[](f32 a) { return static_cast<pred>((bits_of(a) & 0x7fffffffu) == 0x7f800000u); }>("testp.infinite.f32");
  s.lanes<[](f32 a) { return static_cast<pred>(a == a); }>("testp.number.f32");
  s.lanes<[](f32 a) { return static_cast<pred>(a != a); }>("testp.notanumber.f32");
  s.lanes<[](f32 a) {
    return static_cast<pred>((bits_of(a) & 0x7f800000u) != 0x7f800000u &&
                             ((bits_of(a) & 0x7f800000u) != 0 || (bits_of(a) & 0x7fffffffu) == 0));
  }>("testp.normal.f32");  // zero counts as normal
  s.lanes<[](f32 a) { return static_cast<pred>((bits_of(a) & 0x7f800000u) == 0 && (bits_of(a) & 0x7fffffu) != 0); }>("testp.subnormal.f32");
  return s.take();
}

}  // namespace cutegen::vgpu
