// PTX ISA 9.7.4: half precision (f16, bf16 and their packed pairs). One operation is computed in single precision and rounded once: for
// add, sub and mul the 24 bits of single precision make the double rounding harmless (24 >= 2 * 11 + 2); fma goes through a sum rounded to
// odd.
#include "vgpu/isa/builder.h"
#include "vgpu/isa/numerics.h"
#include "vgpu/isa/registry.h"

namespace cutegen::vgpu {
namespace {

template <class H>
constexpr u16 kInfinity = 0x7c00;
template <>
constexpr u16 kInfinity<bf16> = 0x7f80;
template <class H>
constexpr u16 kOne = 0x3c00;
template <>
constexpr u16 kOne<bf16> = 0x3f80;

template <class H>
VGPU_INLINE H rounded(f32 x) {
  if constexpr (std::is_same_v<H, f16>)
    return to_f16(x);
  else
    return to_bf16(x);
}
template <class H>
VGPU_INLINE bool is_nan(H a) {
  return (a.bits & 0x7fff) > kInfinity<H>;
}
template <class H>
VGPU_INLINE H flush(H a) {
  return H{static_cast<u16>((a.bits & kInfinity<H>) == 0 ? a.bits & 0x8000 : a.bits)};
}
template <class H>
VGPU_INLINE H clamp01(H a) {
  if (is_nan(a) || (a.bits & 0x8000) != 0) return H{0};
  return a.bits > kOne<H> ? H{kOne<H>} : a;
}
template <class H>
VGPU_INLINE H relu(H a) {
  return is_nan(a) ? H{kNan16} : (a.bits & 0x8000) != 0 ? H{0} : a;
}

template <class H, bool Ftz>
VGPU_INLINE f32 in(H a) {
  return to_f32(Ftz ? flush(a) : a);
}
template <class H, bool Ftz, bool Sat, bool Relu>
VGPU_INLINE H out(f32 x) {
  H r = rounded<H>(x);
  // .ftz: as in float32.cc, what lies below the smallest normal number after rounding to 11 bits.
  if constexpr (Ftz) r = std::fabs(x) < 0x1p-14f * (1.0f - 0x1p-12f) ? H{static_cast<u16>(r.bits & 0x8000)} : flush(r);
  if constexpr (Sat) r = clamp01(r);
  if constexpr (Relu) r = relu(r);
  return r;
}

struct Add {
  VGPU_INLINE static f32 of(f32 a, f32 b) { return a + b; }
};
struct Sub {
  VGPU_INLINE static f32 of(f32 a, f32 b) { return a - b; }
};
struct Mul {
  VGPU_INLINE static f32 of(f32 a, f32 b) { return a * b; }
};

template <class Op, class H, bool Ftz, bool Sat>
VGPU_INLINE H binary(H a, H b) {
  return out<H, Ftz, Sat, false>(Op::of(in<H, Ftz>(a), in<H, Ftz>(b)));
}
template <class H, bool Ftz, bool Sat, bool Relu>
VGPU_INLINE H fused(H a, H b, H c) {
  const f64 product = static_cast<f64>(in<H, Ftz>(a)) * static_cast<f64>(in<H, Ftz>(b));
  return out<H, Ftz, Sat, Relu>(odd_sum(product, in<H, Ftz>(c)));
}
template <class H, bool Nan, bool Max>
VGPU_INLINE H ordered(H a, H b) {
  const bool na = is_nan(a), nb = is_nan(b);
  if (Nan ? na || nb : na && nb) return H{kNan16};
  if (na) return b;
  if (nb) return a;
  auto key = [](H h) { return (h.bits & 0x8000) != 0 ? -static_cast<s32>(h.bits & 0x7fff) - 1 : static_cast<s32>(h.bits); };
  return (key(a) < key(b)) != Max ? a : b;
}

// A scalar function under its scalar and packed names. P: the packed type.
template <class H, class P, auto F, bool Hot = false>
void unary(Section& s, const std::string& op, const std::string& t) {
  s.lanes<[](H a) { return F(a); }, Hot>(op + t, Pipe::fma);
  s.lanes<[](P a) { return pack(F(half_of(a, 0)), F(half_of(a, 1))); }, Hot>(op + t + "x2", Pipe::fma);
}
template <class H, class P, auto F, bool Hot = false>
void binary_pair(Section& s, std::initializer_list<std::string> ops, const std::string& t) {
  for (const std::string& op : ops) {
    s.lanes<[](H a, H b) { return F(a, b); }, Hot>(op + t, Pipe::fma);
    s.lanes<[](P a, P b) { return pack(F(half_of(a, 0), half_of(b, 0)), F(half_of(a, 1), half_of(b, 1))); }, Hot>(op + t + "x2", Pipe::fma);
  }
}
template <class H, class P, auto F, bool Hot = false>
void ternary_pair(Section& s, const std::string& op, const std::string& t) {
  s.lanes<[](H a, H b, H c) { return F(a, b, c); }, Hot>(op + t, Pipe::fma);
  s.lanes<[](P a, P b, P c) {
    return pack(F(half_of(a, 0), half_of(b, 0), half_of(c, 0)), F(half_of(a, 1), half_of(b, 1), half_of(c, 1)));
  },
          Hot>(op + t + "x2", Pipe::fma);
}

template <class H, class P, bool Ftz, bool Sat>
void arithmetic(Section& s, const std::string& type) {
  const std::string t = std::string(Ftz ? ".ftz" : "") + (Sat ? ".sat" : "") + type;
  binary_pair<H, P, [](H a, H b) { return binary<Add, H, Ftz, Sat>(a, b); }, !Ftz && !Sat>(s, {"add", "add.rn"}, t);
  binary_pair<H, P, [](H a, H b) { return binary<Sub, H, Ftz, Sat>(a, b); }, !Ftz && !Sat>(s, {"sub", "sub.rn"}, t);
  binary_pair<H, P, [](H a, H b) { return binary<Mul, H, Ftz, Sat>(a, b); }, !Ftz && !Sat>(s, {"mul", "mul.rn"}, t);
  ternary_pair<H, P, [](H a, H b, H c) { return fused<H, Ftz, Sat, false>(a, b, c); }, !Ftz && !Sat>(s, "fma.rn", t);
}

template <class H, class P, bool Ftz>
void order_and_sign(Section& s, const std::string& type) {
  const std::string z = Ftz ? ".ftz" : "";
  binary_pair<H, P, [](H a, H b) { return ordered<H, false, false>(Ftz ? flush(a) : a, Ftz ? flush(b) : b); }>(s, {"min" + z}, type);
  binary_pair<H, P, [](H a, H b) { return ordered<H, false, true>(Ftz ? flush(a) : a, Ftz ? flush(b) : b); }>(s, {"max" + z}, type);
  binary_pair<H, P, [](H a, H b) { return ordered<H, true, false>(Ftz ? flush(a) : a, Ftz ? flush(b) : b); }>(s, {"min" + z + ".NaN"},
                                                                                                              type);
  binary_pair<H, P, [](H a, H b) { return ordered<H, true, true>(Ftz ? flush(a) : a, Ftz ? flush(b) : b); }>(s, {"max" + z + ".NaN"}, type);
  unary<H, P, [](H a) {
    const H x = Ftz ? flush(a) : a;
    return H{static_cast<u16>(is_nan(x) ? kNan16 : x.bits ^ 0x8000)};
  }>(s, "neg" + z, type);
  unary<H, P, [](H a) {
    const H x = Ftz ? flush(a) : a;
    return H{static_cast<u16>(is_nan(x) ? kNan16 : x.bits & 0x7fff)};
  }>(s, "abs" + z, type);
  ternary_pair<H, P, [](H a, H b, H c) { return fused<H, Ftz, false, true>(a, b, c); }>(s, "fma.rn" + z + ".relu", type);
}

}  // namespace

std::vector<Form> half_forms() {
  Section s("Half precision");
  arithmetic<f16, f16x2, false, false>(s, ".f16");
  arithmetic<f16, f16x2, true, false>(s, ".f16");
  arithmetic<f16, f16x2, false, true>(s, ".f16");
  arithmetic<f16, f16x2, true, true>(s, ".f16");
  arithmetic<bf16, bf16x2, false, false>(s, ".bf16");
  order_and_sign<f16, f16x2, false>(s, ".f16");
  order_and_sign<f16, f16x2, true>(s, ".f16");
  order_and_sign<bf16, bf16x2, false>(s, ".bf16");
  return s.take();
}

}  // namespace cutegen::vgpu
