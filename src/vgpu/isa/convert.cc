// PTX ISA 9.7.9.21: cvt, between all number formats of sm_90.
#include <algorithm>

#include "vgpu/isa/builder.h"
#include "vgpu/isa/numerics.h"
#include "vgpu/isa/registry.h"

namespace cutegen::vgpu {
namespace {

template <class T>
constexpr const char* kName = nullptr;
template <>
constexpr const char* kName<u8> = ".u8";
template <>
constexpr const char* kName<u16> = ".u16";
template <>
constexpr const char* kName<u32> = ".u32";
template <>
constexpr const char* kName<u64> = ".u64";
template <>
constexpr const char* kName<s8> = ".s8";
template <>
constexpr const char* kName<s16> = ".s16";
template <>
constexpr const char* kName<s32> = ".s32";
template <>
constexpr const char* kName<s64> = ".s64";
template <>
constexpr const char* kName<f16> = ".f16";
template <>
constexpr const char* kName<bf16> = ".bf16";
template <>
constexpr const char* kName<f32> = ".f32";
template <>
constexpr const char* kName<f64> = ".f64";

// Integers.
template <class D, class S>
VGPU_INLINE D clamp_to(S a) {
  if (std::is_signed_v<S> && a < S{0}) {
    if (!std::is_signed_v<D>) return 0;
    return static_cast<s64>(a) < static_cast<s64>(std::numeric_limits<D>::min()) ? std::numeric_limits<D>::min() : static_cast<D>(a);
  }
  return static_cast<u64>(a) > static_cast<u64>(std::numeric_limits<D>::max()) ? std::numeric_limits<D>::max() : static_cast<D>(a);
}
template <class D, class S>
void integer_pair(Section& s) {
  s.lanes<[](S a) { return static_cast<D>(a); }, (sizeof(D) >= 4 && sizeof(S) >= 2)>(std::string("cvt") + kName<D> + kName<S>);
  s.lanes<[](S a) { return clamp_to<D>(a); }, false>(std::string("cvt.sat") + kName<D> + kName<S>);
}
template <class S>
void from_integer_to_integers(Section& s) {
  integer_pair<u8, S>(s);
  integer_pair<u16, S>(s);
  integer_pair<u32, S>(s);
  integer_pair<u64, S>(s);
  integer_pair<s8, S>(s);
  integer_pair<s16, S>(s);
  integer_pair<s32, S>(s);
  integer_pair<s64, S>(s);
}

// Integer to floating point.
template <Rounding R, class S>
VGPU_INLINE f32 integer_to_f32(S a) {
  const auto d = static_cast<f64>(a);
  f64 rest = 0;
  if constexpr (sizeof(S) == 8)
    rest = d >= 0x1p63 ? static_cast<f64>(static_cast<s64>(static_cast<u64>(a) - (d >= 0x1p64 ? 0 : static_cast<u64>(d))))
                       : static_cast<f64>(static_cast<s64>(static_cast<u64>(a) - static_cast<u64>(static_cast<s64>(d))));
  return round_pair<R>(d, rest);
}
template <class S>
void from_integer(Section& s) {
  from_integer_to_integers<S>(s);
  const std::string from = kName<S>;
  s.lanes<[](S a) { return static_cast<f32>(a); }, (sizeof(S) >= 4)>("cvt.rn.f32" + from, Pipe::xu);
  s.lanes<[](S a) { return integer_to_f32<Rounding::rz>(a); }, false>("cvt.rz.f32" + from, Pipe::xu);
  s.lanes<[](S a) { return integer_to_f32<Rounding::rm>(a); }, false>("cvt.rm.f32" + from, Pipe::xu);
  s.lanes<[](S a) { return integer_to_f32<Rounding::rp>(a); }, false>("cvt.rp.f32" + from, Pipe::xu);
  s.lanes<[](S a) { return static_cast<f64>(a); }, false>("cvt.rn.f64" + from, Pipe::xu);
  // Through odd rounding, so that 64-bit integers are rounded once.
  s.lanes<[](S a) {
    const f32 t = integer_to_f32<Rounding::rz>(a);
    return to_f16(static_cast<f64>(t) == static_cast<f64>(a) ? t : std::bit_cast<f32>(bits_of(t) | 1u));
  },
          false>("cvt.rn.f16" + from, Pipe::xu);
  s.lanes<[](S a) {
    const f32 t = integer_to_f32<Rounding::rz>(a);
    return to_bf16(static_cast<f64>(t) == static_cast<f64>(a) ? t : std::bit_cast<f32>(bits_of(t) | 1u));
  },
          false>("cvt.rn.bf16" + from, Pipe::xu);
}

// Floating point to integer: rounded, then clamped to the range. NaN becomes 0, or the top bit alone when either side has 64 bits.
enum class ToInt { rni, rzi, rmi, rpi };
template <ToInt R, class F>
VGPU_INLINE F integral(F x) {
  if constexpr (R == ToInt::rni)
    return std::rint(x);
  else if constexpr (R == ToInt::rzi)
    return std::trunc(x);
  else if constexpr (R == ToInt::rmi)
    return std::floor(x);
  else
    return std::ceil(x);
}
template <class D, class S>
constexpr D kNanInteger = sizeof(D) == 8 || std::is_same_v<S, f64> ? static_cast<D>(D{1} << (sizeof(D) * 8 - 1)) : D{0};
template <class D, class S, ToInt R>
VGPU_INLINE D to_integer(S a) {
  f64 x;
  if constexpr (std::is_same_v<S, f64>)
    x = integral<R>(a);
  else if constexpr (std::is_same_v<S, f32>)
    x = static_cast<f64>(integral<R>(a));
  else
    x = static_cast<f64>(integral<R>(to_f32(a)));
  constexpr auto lowest = static_cast<f64>(std::numeric_limits<D>::min());
  constexpr f64 top = std::is_signed_v<D> ? -lowest : static_cast<f64>(std::numeric_limits<D>::max() / 2 + 1) * 2.0;  // 2^bits, exact
  if (x != x) return kNanInteger<D, S>;
  if (x <= lowest) return std::numeric_limits<D>::min();
  if (x >= top) return std::numeric_limits<D>::max();
  if constexpr (sizeof(D) == 8)
    return static_cast<D>(x);
  else
    return static_cast<D>(static_cast<s64>(x));
}
template <class D, class S, ToInt R>
void to_one_integer(Section& s, const std::string& r) {
  constexpr bool hot = std::is_same_v<S, f32> && sizeof(D) >= 4 && (R == ToInt::rni || R == ToInt::rzi);
  s.lanes<[](S a) { return to_integer<D, S, R>(a); }, hot>({"cvt" + r + kName<D> + kName<S>, "cvt" + r + ".sat" + kName<D> + kName<S>},
                                                           Pipe::xu);
  if constexpr (std::is_same_v<S, f32>)
    s.lanes<[](S a) { return to_integer<D, S, R>(ftz(a)); }, false>(
        {"cvt" + r + ".ftz" + kName<D> + kName<S>, "cvt" + r + ".ftz.sat" + kName<D> + kName<S>}, Pipe::xu);
}
template <class S, ToInt R>
void to_integers(Section& s, const std::string& r) {
  to_one_integer<u8, S, R>(s, r);
  to_one_integer<u16, S, R>(s, r);
  to_one_integer<u32, S, R>(s, r);
  to_one_integer<u64, S, R>(s, r);
  to_one_integer<s8, S, R>(s, r);
  to_one_integer<s16, S, R>(s, r);
  to_one_integer<s32, S, R>(s, r);
  to_one_integer<s64, S, R>(s, r);
  if constexpr (std::is_same_v<S, f32>) {
    s.lanes<[](f32 a) { return canonical(integral<R>(a)); }>("cvt" + r + ".f32.f32", Pipe::xu);
    s.lanes<[](f32 a) { return canonical(integral<R>(ftz(a))); }, false>("cvt" + r + ".ftz.f32.f32", Pipe::xu);
    s.lanes<[](f32 a) { return saturate(integral<R>(a)); }, false>("cvt" + r + ".sat.f32.f32", Pipe::xu);
  } else if constexpr (std::is_same_v<S, f64>) {
    s.lanes<[](f64 a) { return a == a ? integral<R>(a) : std::bit_cast<f64>(bits_of(a) | 0x0008000000000000ull); }, false>(
        "cvt" + r + ".f64.f64", Pipe::xu);
  } else if constexpr (std::is_same_v<S, f16>) {
    s.lanes<[](f16 a) { return to_f16(integral<R>(to_f32(a))); }, false>("cvt" + r + ".f16.f16", Pipe::xu);
  } else {
    s.lanes<[](bf16 a) { return to_bf16(integral<R>(to_f32(a))); }, false>("cvt" + r + ".bf16.bf16", Pipe::xu);
  }
}
template <class S>
void to_integers_every_rounding(Section& s) {
  to_integers<S, ToInt::rni>(s, ".rni");
  to_integers<S, ToInt::rzi>(s, ".rzi");
  to_integers<S, ToInt::rmi>(s, ".rmi");
  to_integers<S, ToInt::rpi>(s, ".rpi");
}

// Single precision to half, with the qualifiers that clamp.
VGPU_INLINE f32 relu(f32 x) { return x != x ? std::bit_cast<f32>(kNan32) : x > 0.0f ? x : 0.0f; }
VGPU_INLINE f16 finite(f16 h) { return (h.bits & 0x7fff) == 0x7c00 ? f16{static_cast<u16>((h.bits & 0x8000) | 0x7bff)} : h; }
VGPU_INLINE bf16 finite(bf16 h) { return (h.bits & 0x7fff) == 0x7f80 ? bf16{static_cast<u16>((h.bits & 0x8000) | 0x7f7f)} : h; }
template <class H, bool Rz>
VGPU_INLINE H narrow(f32 x) {
  if constexpr (std::is_same_v<H, f16>)
    return Rz ? to_f16_rz(x) : to_f16(x);
  else
    return Rz ? to_bf16_rz(x) : to_bf16(x);
}
template <class H, class P, bool Rz>
void to_half(Section& s, const std::string& r, const std::string& h) {
  s.lanes<[](f32 a) { return narrow<H, Rz>(a); }>("cvt" + r + h + ".f32");
  s.lanes<[](f32 a) { return narrow<H, Rz>(relu(a)); }, false>("cvt" + r + ".relu" + h + ".f32");
  s.lanes<[](f32 a) { return finite(narrow<H, Rz>(a)); }, false>("cvt" + r + ".satfinite" + h + ".f32");
  s.lanes<[](f32 a, f32 b) { return pack(narrow<H, Rz>(b), narrow<H, Rz>(a)); }>("cvt" + r + h + "x2.f32");
  s.lanes<[](f32 a, f32 b) { return pack(narrow<H, Rz>(relu(b)), narrow<H, Rz>(relu(a))); }, false>("cvt" + r + ".relu" + h + "x2.f32");
  s.lanes<[](f32 a, f32 b) { return pack(finite(narrow<H, Rz>(b)), finite(narrow<H, Rz>(a))); }, false>("cvt" + r + ".satfinite" + h +
                                                                                                        "x2.f32");
}

// NaNs of double precision keep the upper bits of their payload, quieted.
VGPU_INLINE f32 single_of(f64 a, f32 rounded) {
  const u64 b = bits_of(a);
  const u32 nan = static_cast<u32>(b >> 32 & 0x80000000u) | 0x7fc00000u | (static_cast<u32>(b >> 29) & 0x3fffffu);
  return a == a ? rounded : std::bit_cast<f32>(nan);
}
VGPU_INLINE bf16 bf16_of(f64 a) {
  const f32 nan = single_of(a, 0.0f);
  return a == a ? to_bf16(odd_sum(a, -0.0)) : bf16{static_cast<u16>(bits_of(nan) >> 16)};
}
VGPU_INLINE f16 f16_of(f64 a) {
  const u64 b = bits_of(a);
  const u64 nan = (b >> 48 & 0x8000u) | 0x7e00u | (b >> 42 & 0x1ffu);
  return a == a ? to_f16(odd_sum(a, -0.0)) : f16{static_cast<u16>(nan)};
}

template <Rounding R>
void double_to_single(Section& s, const std::string& r) {
  s.lanes<[](f64 a) { return single_of(a, round_pair<R>(a, 0.0)); }>("cvt" + r + ".f32.f64", Pipe::fp64);
  s.lanes<[](f64 a) { return single_of(a, ftz(round_pair<R>(a, 0.0))); }>("cvt" + r + ".ftz.f32.f64", Pipe::fp64);
  s.lanes<[](f64 a) { return saturate(round_pair<R>(a, 0.0)); }>("cvt" + r + ".sat.f32.f64", Pipe::fp64);
}

// TF32: 10 explicit bits of mantissa in a 32-bit register. rna rounds ties away, rn to even.
constexpr u32 kTf32Nan = 0x7fffe000u;
VGPU_INLINE u32 tf32_away(f32 x) {  // infinities and NaNs are truncated
  return (bits_of(x) + ((bits_of(x) & 0x7f800000u) == 0x7f800000u ? 0 : 0x1000u)) & ~0x1fffu;
}
VGPU_INLINE u32 tf32_away_finite(f32 x) {  // the step below whatever is not finite: of NaNs too
  const u32 r = tf32_away(x);
  return (r & 0x7f800000u) == 0x7f800000u ? r - 0x2000u : r;
}
VGPU_INLINE u32 tf32_even(f32 x) {
  const u32 rounded = (bits_of(x) + 0xfffu + ((bits_of(x) >> 13) & 1u)) & ~0x1fffu;
  return x != x ? kTf32Nan : rounded;
}

// FP8 (OCP): e4m3 has no infinity and one NaN pattern, e5m2 is a short half. satfinite: overflow becomes the largest finite value.
VGPU_INLINE u8 to_e4m3(f32 x) {
  const u32 sign = (bits_of(x) >> 24) & 0x80u;
  const f32 m = std::fabs(x);
  if (x != x) return 0x7f;
  if (m >= 464.0f) return static_cast<u8>(sign | 0x7e);
  const f32 scale = m < 0x1p-6f ? 0x1p-9f : std::bit_cast<f32>((bits_of(m) & 0x7f800000u)) * 0x1p-3f;
  const f32 r = std::rint(m / scale) * scale;  // a multiple of the unit in the last place
  const u32 b = bits_of(r);
  const u32 code = r < 0x1p-6f ? static_cast<u32>(r * 0x1p9f) : (((b >> 23) - 120u) << 3) | ((b >> 20) & 7u);
  return static_cast<u8>(sign | std::min(code, 0x7eu));
}
VGPU_INLINE u8 to_e5m2(f32 x) {
  const u32 sign = (bits_of(x) >> 24) & 0x80u;
  const f32 m = std::fabs(x);
  if (x != x) return 0x7f;
  if (m >= 61440.0f) return static_cast<u8>(sign | 0x7b);
  const f32 scale = m < 0x1p-14f ? 0x1p-16f : std::bit_cast<f32>((bits_of(m) & 0x7f800000u)) * 0x1p-2f;
  const f32 r = std::rint(m / scale) * scale;
  const u32 b = bits_of(r);
  const u32 code = r < 0x1p-14f ? static_cast<u32>(r * 0x1p16f) : (((b >> 23) - 112u) << 2) | ((b >> 21) & 3u);
  return static_cast<u8>(sign | std::min(code, 0x7bu));
}
VGPU_INLINE f16 from_e4m3(u8 v) {
  const u32 e = (v >> 3) & 15u, m = v & 7u;
  if ((v & 0x7f) == 0x7f) return f16{kNan16};
  const f32 x = e == 0 ? static_cast<f32>(m) * 0x1p-9f : std::bit_cast<f32>(((e + 120u) << 23) | (m << 20));
  return to_f16((v & 0x80) != 0 ? -x : x);
}
VGPU_INLINE f16 from_e5m2(u8 v) { return (v & 0x7f) > 0x7c ? f16{kNan16} : f16{static_cast<u16>(v << 8)}; }
template <auto F, bool Relu>
VGPU_INLINE u16 pair8(f32 hi, f32 lo) {
  return static_cast<u16>((F(Relu ? relu(hi) : hi) << 8) | F(Relu ? relu(lo) : lo));
}

void fp8(Section& s) {
  s.lanes<[](f32 a, f32 b) { return pair8<[](f32 x) { return to_e4m3(x); }, false>(a, b); }, false>("cvt.rn.satfinite.e4m3x2.f32");
  s.lanes<[](f32 a, f32 b) { return pair8<[](f32 x) { return to_e5m2(x); }, false>(a, b); }, false>("cvt.rn.satfinite.e5m2x2.f32");
  s.lanes<[](f32 a, f32 b) { return pair8<[](f32 x) { return to_e4m3(x); }, true>(a, b); }, false>("cvt.rn.satfinite.relu.e4m3x2.f32");
  s.lanes<[](f32 a, f32 b) { return pair8<[](f32 x) { return to_e5m2(x); }, true>(a, b); }, false>("cvt.rn.satfinite.relu.e5m2x2.f32");
  s.lanes<[](f16x2 a) { return pair8<[](f32 x) { return to_e4m3(x); }, false>(to_f32(half_of(a, 1)), to_f32(half_of(a, 0))); }, false>(
      "cvt.rn.satfinite.e4m3x2.f16x2");
  s.lanes<[](f16x2 a) { return pair8<[](f32 x) { return to_e5m2(x); }, false>(to_f32(half_of(a, 1)), to_f32(half_of(a, 0))); }, false>(
      "cvt.rn.satfinite.e5m2x2.f16x2");
  s.lanes<[](u16 a) { return pack(from_e4m3(static_cast<u8>(a)), from_e4m3(static_cast<u8>(a >> 8))); }, false>("cvt.rn.f16x2.e4m3x2");
  s.lanes<[](u16 a) { return pack(from_e5m2(static_cast<u8>(a)), from_e5m2(static_cast<u8>(a >> 8))); }, false>("cvt.rn.f16x2.e5m2x2");
}

void between_floats(Section& s) {
  s.lanes<[](f16 a) { return canonical(to_f32(a)); }>({"cvt.f32.f16", "cvt.ftz.f32.f16"});
  s.lanes<[](f16 a) { return saturate(to_f32(a)); }>("cvt.sat.f32.f16");
  s.lanes<[](bf16 a) { return to_f32(a); }>("cvt.f32.bf16");
  s.lanes<[](bf16 a) { return ftz(canonical(to_f32(a))); }>("cvt.ftz.f32.bf16");
  s.lanes<[](f16 a) { return static_cast<f64>(to_f32(a)); }>("cvt.f64.f16", Pipe::fp64);
  s.lanes<[](bf16 a) { return static_cast<f64>(to_f32(a)); }>("cvt.f64.bf16", Pipe::fp64);
  s.lanes<[](f32 a) { return static_cast<f64>(a); }>("cvt.f64.f32", Pipe::fp64);
  s.lanes<[](f32 a) { return a == a ? static_cast<f64>(ftz(a)) : std::bit_cast<f64>(0x7fffffffe0000000ull); }>("cvt.ftz.f64.f32",
                                                                                                               Pipe::fp64);
  s.lanes<[](f64 a) { return f16_of(a); }>("cvt.rn.f16.f64", Pipe::fp64);
  s.lanes<[](f64 a) { return bf16_of(a); }>("cvt.rn.bf16.f64", Pipe::fp64);
  s.lanes<[](f16 a) { return to_bf16(to_f32(a)); }>("cvt.rn.bf16.f16");
  s.lanes<[](bf16 a) { return to_f16(to_f32(a)); }>("cvt.rn.f16.bf16");
  s.lanes<[](f32 a) { return a; }>("cvt.f32.f32");
  s.lanes<[](f32 a) { return canonical(ftz(a)); }>("cvt.ftz.f32.f32");
  s.lanes<[](f32 a) { return saturate(a); }>("cvt.sat.f32.f32");
  s.lanes<[](f32 a) { return saturate(ftz(a)); }>("cvt.ftz.sat.f32.f32");
  s.lanes<[](f64 a) { return saturate(a); }>("cvt.sat.f64.f64", Pipe::fp64);
  s.lanes<[](f16 a) { return to_f16(saturate(to_f32(a))); }>("cvt.sat.f16.f16");
  s.lanes<[](f32 a) { return canonical(ftz(a)); }>("cvt.rn.ftz.f32.f32");
  s.lanes<[](f32 a) { return to_f16(ftz(a)); }>("cvt.rn.ftz.f16.f32");
  s.lanes<[](f32 a) { return to_f16(saturate(a)); }>("cvt.rn.sat.f16.f32");
  s.lanes<[](f32 a) { return tf32_away(a); }>("cvt.rna.tf32.f32");
  s.lanes<[](f32 a) { return tf32_away_finite(a); }>("cvt.rna.satfinite.tf32.f32");
  s.lanes<[](f32 a) { return tf32_even(a); }>("cvt.rn.tf32.f32");
  s.lanes<[](f32 a) { return tf32_even(relu(a)); }>("cvt.rn.relu.tf32.f32");
  s.lanes<[](f32 a) { return a == a ? bits_of(a) & ~0x1fffu : kTf32Nan; }>("cvt.rz.tf32.f32");
}

}  // namespace

std::vector<Form> convert_forms() {
  Section s("Conversion");
  from_integer<u8>(s);
  from_integer<u16>(s);
  from_integer<u32>(s);
  from_integer<u64>(s);
  from_integer<s8>(s);
  from_integer<s16>(s);
  from_integer<s32>(s);
  from_integer<s64>(s);
  to_integers_every_rounding<f32>(s);
  to_integers_every_rounding<f64>(s);
  to_integers_every_rounding<f16>(s);
  to_integers_every_rounding<bf16>(s);
  to_half<f16, f16x2, false>(s, ".rn", ".f16");
  to_half<f16, f16x2, true>(s, ".rz", ".f16");
  to_half<bf16, bf16x2, false>(s, ".rn", ".bf16");
  to_half<bf16, bf16x2, true>(s, ".rz", ".bf16");
  double_to_single<Rounding::rn>(s, ".rn");
  double_to_single<Rounding::rz>(s, ".rz");
  double_to_single<Rounding::rm>(s, ".rm");
  double_to_single<Rounding::rp>(s, ".rp");
  between_floats(s);
  fp8(s);
  return s.take();
}

}  // namespace cutegen::vgpu
