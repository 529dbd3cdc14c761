// PTX ISA 9.7.1: integer arithmetic.
#include <algorithm>

#include "vgpu/isa/builder.h"
#include "vgpu/isa/numerics.h"
#include "vgpu/isa/registry.h"

namespace cutegen::vgpu {
namespace {

template <class T>
constexpr const char* kName = nullptr;
template <>
constexpr const char* kName<u16> = "u16";
template <>
constexpr const char* kName<u32> = "u32";
template <>
constexpr const char* kName<u64> = "u64";
template <>
constexpr const char* kName<s16> = "s16";
template <>
constexpr const char* kName<s32> = "s32";
template <>
constexpr const char* kName<s64> = "s64";

template <class T>
struct Twice;
template <>
struct Twice<u16> {
  using type = u32;
};
template <>
struct Twice<s16> {
  using type = s32;
};
template <>
struct Twice<u32> {
  using type = u64;
};
template <>
struct Twice<s32> {
  using type = s64;
};
__extension__ typedef unsigned __int128 u128_t;
__extension__ typedef __int128 s128_t;
template <>
struct Twice<u64> {
  using type = u128_t;
};
template <>
struct Twice<s64> {
  using type = s128_t;
};
template <class T>
using twice_t = typename Twice<T>::type;

template <class T>
VGPU_INLINE twice_t<T> wide_product(T a, T b) {
  return static_cast<twice_t<T>>(static_cast<twice_t<T>>(a) * static_cast<twice_t<T>>(b));
}
template <class T>
VGPU_INLINE T high_half(T a, T b) {
  return static_cast<T>(wide_product(a, b) >> (sizeof(T) * 8));
}
template <class T>
VGPU_INLINE T wrap_add(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
}
template <class T>
VGPU_INLINE T wrap_mul(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(static_cast<u64>(static_cast<U>(a)) * static_cast<u64>(static_cast<U>(b))));
}
template <class T>
VGPU_INLINE T wrap_neg(T a) {
  return static_cast<T>(std::make_unsigned_t<T>(0) - static_cast<std::make_unsigned_t<T>>(a));
}
// Division by zero yields all ones, and so does its remainder (the hardware's; the manual leaves it open).
template <class T>
VGPU_INLINE T divide(T a, T b) {
  if (b == 0) return static_cast<T>(-1);
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return wrap_neg(a);
  return static_cast<T>(a / b);
}
template <class T>
VGPU_INLINE T remainder(T a, T b) {
  if (b == 0) return static_cast<T>(-1);
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
  return static_cast<T>(a % b);
}

template <class T>
void all_widths(Section& s) {
  const std::string t = std::string(".") + kName<T>;
  s.lanes<[](T a, T b) { return wrap_add<T>(a, b); }>("add" + t);
  s.lanes<[](T a, T b) { return wrap_add<T>(a, wrap_neg<T>(b)); }>("sub" + t);
  s.lanes<[](T a, T b) { return wrap_mul<T>(a, b); }>("mul.lo" + t, Pipe::fma);
  s.lanes<[](T a, T b) { return high_half<T>(a, b); }>("mul.hi" + t, Pipe::fma);
  s.lanes<[](T a, T b, T c) { return wrap_add<T>(wrap_mul<T>(a, b), c); }>("mad.lo" + t, Pipe::fma);
  s.lanes<[](T a, T b, T c) { return wrap_add<T>(high_half<T>(a, b), c); }>("mad.hi" + t, Pipe::fma);
  s.lanes<[](T a, T b) { return divide<T>(a, b); }>("div" + t, Pipe::xu);
  s.lanes<[](T a, T b) { return remainder<T>(a, b); }>("rem" + t, Pipe::xu);
  s.lanes<[](T a, T b) { return a < b ? a : b; }>("min" + t);
  s.lanes<[](T a, T b) { return (a > b) ? a : b; }>("max" + t);
  s.lanes<[](T a, T b, T c) { return wrap_add<T>(c, a < b ? wrap_add<T>(b, wrap_neg<T>(a)) : wrap_add<T>(a, wrap_neg<T>(b))); }>("sad" + t);
  if constexpr (std::is_signed_v<T>) {
    s.lanes<[](T a) { return wrap_neg<T>(a); }>("neg" + t);
    s.lanes<[](T a) { return a < 0 ? wrap_neg<T>(a) : a; }>("abs" + t);
  }
  if constexpr (sizeof(T) < 8) {
    using W = twice_t<T>;
    s.lanes<[](T a, T b) { return wide_product<T>(a, b); }>("mul.wide" + t, Pipe::fma);
    s.lanes<[](T a, T b, W c) { return wrap_add<W>(wide_product<T>(a, b), c); }>("mad.wide" + t, Pipe::fma);
  }
}

// Positions and lengths: the low 8 bits count, but of 64-bit fields all (measured; the manual says 0..255 for both).
template <class T>
VGPU_INLINE u32 field_number(u32 v) {
  return sizeof(T) == 8 ? std::min(v, 0x10000u) : v & 0xffu;
}
// bfe: `length` bits from `position`; beyond the top bit come copies of the sign bit of the field (signed) or zeros.
template <class T>
VGPU_INLINE T extract(T a, u32 position, u32 length) {
  using U = std::make_unsigned_t<T>;
  constexpr u32 width = sizeof(T) * 8;
  const u32 pos = field_number<T>(position), len = field_number<T>(length);
  const U value = static_cast<U>(a);
  const u32 top = std::min(pos + len - 1, width - 1);
  const bool sign = std::is_signed_v<T> && len != 0 && ((value >> top) & 1) != 0;
  const U field = pos < width ? static_cast<U>(value >> pos) : U{0};
  const U keep = len >= width ? static_cast<U>(~U{0}) : static_cast<U>((U{1} << len) - 1);
  const u32 inside = pos < width ? width - pos : 0;  // bits of the field that exist
  const U fill_from = inside >= width ? U{0} : static_cast<U>(~U{0} << inside);
  if (len == 0) return 0;
  U r = field & keep;
  if (sign) r = static_cast<U>(r | (fill_from & keep) | ~keep);
  return static_cast<T>(r);
}
template <class T>
VGPU_INLINE T insert(T a, T b, u32 position, u32 length) {
  constexpr u32 width = sizeof(T) * 8;
  const u32 pos = field_number<T>(position), len = field_number<T>(length);
  const T keep = len >= width ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << len) - 1);
  const T mask = pos < width ? static_cast<T>(keep << pos) : T{0};
  const T moved = pos < width ? static_cast<T>(a << pos) : T{0};
  return static_cast<T>((moved & mask) | (b & ~mask));
}
template <class T>
VGPU_INLINE u32 find_leading(T a) {
  using U = std::make_unsigned_t<T>;
  const U v = static_cast<U>(std::is_signed_v<T> && a < 0 ? ~a : a);
  return v == 0 ? ~0u : static_cast<u32>(sizeof(T) * 8 - 1) - static_cast<u32>(std::countl_zero(v));
}
VGPU_INLINE u64 reverse(u64 v) {
  v = ((v >> 1) & 0x5555555555555555ull) | ((v & 0x5555555555555555ull) << 1);
  v = ((v >> 2) & 0x3333333333333333ull) | ((v & 0x3333333333333333ull) << 2);
  v = ((v >> 4) & 0x0f0f0f0f0f0f0f0full) | ((v & 0x0f0f0f0f0f0f0f0full) << 4);
  return __builtin_bswap64(v);
}

template <class T>
void bit_fields(Section& s, const std::string& t) {
  using S = std::make_signed_t<T>;
  s.lanes<[](T a) { return static_cast<u32>(std::popcount(a)); }>("popc.b" + t, Pipe::xu);
  s.lanes<[](T a) { return static_cast<u32>(std::countl_zero(a)); }>("clz.b" + t, Pipe::xu);
  s.lanes<[](T a) { return static_cast<T>(reverse(a) >> (64 - sizeof(T) * 8)); }>("brev.b" + t, Pipe::xu);
  s.lanes<[](T a, u32 pos, u32 len) { return extract<T>(a, pos, len); }>("bfe.u" + t);
  s.lanes<[](S a, u32 pos, u32 len) { return extract<S>(a, pos, len); }>("bfe.s" + t);
  s.lanes<[](T a, T b, u32 pos, u32 len) { return insert<T>(a, b, pos, len); }>("bfi.b" + t);
  s.lanes<[](T a) { return find_leading<T>(a); }>("bfind.u" + t, Pipe::xu);
  s.lanes<[](S a) { return find_leading<S>(a); }>("bfind.s" + t, Pipe::xu);
  s.lanes<[](T a) {
    const u32 f = find_leading<T>(a);
    return f == ~0u ? f : static_cast<u32>(sizeof(T) * 8 - 1) - f;
  }>("bfind.shiftamt.u" + t, Pipe::xu);
  s.lanes<[](S a) {
    const u32 f = find_leading<S>(a);
    return f == ~0u ? f : static_cast<u32>(sizeof(T) * 8 - 1) - f;
  }>("bfind.shiftamt.s" + t, Pipe::xu);
}

VGPU_INLINE s32 byte_of(u32 v, int i, bool is_signed) {
  const auto b = static_cast<u8>(v >> (8 * i));
  return is_signed ? static_cast<s8>(b) : static_cast<s32>(b);
}
template <bool SA, bool SB>
VGPU_INLINE u32 dot4(u32 a, u32 b, u32 c) {
  for (int i = 0; i < 4; ++i) c += static_cast<u32>(byte_of(a, i, SA) * byte_of(b, i, SB));
  return c;
}
template <bool Signed>
VGPU_INLINE u32 product24(u32 a, u32 b, bool high) {
  const s64 x = Signed ? static_cast<s32>(a << 8) >> 8 : static_cast<s64>(a & 0xffffffu);
  const s64 y = Signed ? static_cast<s32>(b << 8) >> 8 : static_cast<s64>(b & 0xffffffu);
  return static_cast<u32>((x * y) >> (high ? 16 : 0));
}

}  // namespace

std::vector<Form> integer_forms() {
  Section s("Integer arithmetic");
  all_widths<u16>(s);
  all_widths<u32>(s);
  all_widths<u64>(s);
  all_widths<s16>(s);
  all_widths<s32>(s);
  all_widths<s64>(s);
  s.lanes<[](s32 a, s32 b) { return static_cast<s32>(std::clamp<s64>(static_cast<s64>(a) + b, INT32_MIN, INT32_MAX)); }>("add.sat.s32");
  s.lanes<[](s32 a, s32 b) { return static_cast<s32>(std::clamp<s64>(static_cast<s64>(a) - b, INT32_MIN, INT32_MAX)); }>("sub.sat.s32");
  bit_fields<u32>(s, "32");
  bit_fields<u64>(s, "64");
  s.lanes<[](u32 a, u32 b, u32 c) { return dot4<false, false>(a, b, c); }>("dp4a.u32.u32", Pipe::fma);
  s.lanes<[](u32 a, u32 b, u32 c) { return dot4<true, true>(a, b, c); }>("dp4a.s32.s32", Pipe::fma);
  s.lanes<[](u32 a, u32 b, u32 c) { return dot4<true, false>(a, b, c); }>("dp4a.s32.u32", Pipe::fma);
  s.lanes<[](u32 a, u32 b, u32 c) { return dot4<false, true>(a, b, c); }>("dp4a.u32.s32", Pipe::fma);
  s.lanes<[](u32 a, u32 b) { return product24<false>(a, b, false); }>("mul24.lo.u32", Pipe::fma);
  s.lanes<[](u32 a, u32 b) { return product24<true>(a, b, false); }>("mul24.lo.s32", Pipe::fma);
  s.lanes<[](u32 a, u32 b) { return product24<false>(a, b, true); }>("mul24.hi.u32", Pipe::fma);
  s.lanes<[](u32 a, u32 b) { return product24<true>(a, b, true); }>("mul24.hi.s32", Pipe::fma);
  return s.take();
}

}  // namespace cutegen::vgpu
