// A slow, independent statement of what instructions compute: from the opcode's name, with 128-bit integers, the host's rounding modes and
// x87 long double (64 bits of mantissa, so that every source format and every half-precision sum is exact). Shares no code with
// src/vgpu/isa/.
#pragma once

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "vgpu/isa/types.h"

namespace cutegen::vgpu::reference {

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 uwide;

struct Name {
  std::vector<std::string> parts;
  explicit Name(const std::string& s) {
    for (size_t at = 0; at <= s.size();) {
      const size_t dot = std::min(s.find('.', at), s.size());
      parts.push_back(s.substr(at, dot - at));
      at = dot + 1;
    }
  }
  bool has(const char* p) const { return std::find(parts.begin(), parts.end(), p) != parts.end(); }
  const std::string& base() const { return parts[0]; }
  const std::string& type() const { return parts.back(); }
  const std::string& type_before() const { return parts[parts.size() - 2]; }
};

inline int bits_in(const std::string& t) {
  const size_t digit = t.find_first_of("0123456789");
  return digit == std::string::npos ? 0 : t == "f16x2" || t == "bf16x2" || t == "tf32" ? 32 : std::stoi(t.substr(digit));
}
inline bool is_float(const std::string& t) { return t[0] == 'f' || t.starts_with("bf"); }
inline u64 low(u64 v, int bits) { return bits >= 64 ? v : v & ((1ull << bits) - 1); }
inline wide integer(u64 v, const std::string& t) {
  const int n = bits_in(t);
  v = low(v, n);
  return t[0] == 's' && (v >> (n - 1)) & 1 ? static_cast<wide>(v) - (static_cast<wide>(1) << n) : static_cast<wide>(v);
}

template <class F, class B>
F as(B b) {
  F f;
  std::memcpy(&f, &b, sizeof f);
  return f;
}
inline u64 bits(float f) { return as<u32>(f); }
inline u64 bits(double f) { return as<u64>(f); }

// Fields of a small float: mantissa bits, bias.
inline long double small_float(u64 v, int mantissa, int bias, int width) {
  const bool negative = (v >> (width - 1)) & 1;
  const auto m = static_cast<long double>(low(v, mantissa));
  const int e = static_cast<int>(low(v >> mantissa, width - 1 - mantissa)), top = (1 << (width - 1 - mantissa)) - 1;
  long double r = 0;
  if (e == top)
    r = m == 0 ? INFINITY : NAN;
  else if (e == 0)
    r = std::ldexp(m, 1 - bias - mantissa);
  else
    r = std::ldexp(m + std::ldexp(1.0L, mantissa), e - bias - mantissa);
  return negative ? -r : r;
}
inline long double value(u64 v, const std::string& t) {
  if (t == "f64") return as<double>(v);
  if (t == "f32") return as<float>(static_cast<u32>(v));
  if (t == "f16") return small_float(low(v, 16), 10, 15, 16);
  if (t == "bf16") return small_float(low(v, 16), 7, 127, 16);
  const wide i = integer(v, t);
  return i < 0 ? -static_cast<long double>(static_cast<u64>(-i)) : static_cast<long double>(static_cast<u64>(i));
}

// An exact value to f16 or bf16, in the host's present rounding mode; the unit in the last place is scaled to 1 first.
inline u64 to_small(long double x, const std::string& t) {
  const int mantissa = t == "f16" ? 10 : 7, bias = t == "f16" ? 15 : 127, top = t == "f16" ? 31 : 255;
  const u64 sign = std::signbit(x) ? 0x8000 : 0;
  if (std::isnan(x)) return 0x7fff;
  if (std::isinf(x)) return sign | static_cast<u64>(top) << mantissa;
  if (x == 0) return sign;
  int e = 0;
  std::frexp(x, &e);
  e = std::max(e - 1, 1 - bias);
  const long double units = std::fabs(std::nearbyint(std::ldexp(x, mantissa - e)));
  u64 r = static_cast<u64>(units) + (static_cast<u64>(e + bias - 1) << mantissa);  // a carry moves into the exponent
  if (r >= static_cast<u64>(top) << mantissa)
    r = std::fegetround() == FE_TOWARDZERO ? (static_cast<u64>(top) << mantissa) - 1 : static_cast<u64>(top) << mantissa;
  return sign | r;
}

struct RoundingMode {
  explicit RoundingMode(const Name& n) {
    std::fesetround(n.has("rz") ? FE_TOWARDZERO : n.has("rm") ? FE_DOWNWARD : n.has("rp") ? FE_UPWARD : FE_TONEAREST);
  }
  ~RoundingMode() { std::fesetround(FE_TONEAREST); }
};

inline u64 flush32(u64 b) { return (b & 0x7f800000) == 0 ? b & 0x80000000 : b; }
inline u64 canonical32(u64 b) { return (b & 0x7fffffff) > 0x7f800000 ? 0x7fffffff : b; }

inline u64 finish32(const Name& n, float r) {
  u64 b = bits(r);
  if (n.has("sat")) b = std::isnan(r) || r <= 0 ? 0 : r >= 1 ? 0x3f800000 : b;
  if (n.has("ftz")) b = flush32(b);
  return canonical32(b);
}

template <class F>
std::optional<F> arithmetic(const Name& n, F x, F y, F z) {
  volatile F a = x, b = y, c = z, r = 0;
  const RoundingMode mode(n);
  const std::string& op = n.base();
  if (op == "add")
    r = a + b;
  else if (op == "sub")
    r = a - b;
  else if (op == "mul")
    r = a * b;
  else if (op == "fma" || op == "mad")
    r = std::fma(a, b, c);
  else if (op == "div" && !n.has("approx") && !n.has("full"))
    r = a / b;
  else if (op == "rcp" && !n.has("approx"))
    r = F{1} / a;
  else if (op == "sqrt" && !n.has("approx"))
    r = std::sqrt(a);
  else
    return std::nullopt;
  return F{r};
}

template <class F>
std::optional<F> order_or_sign(const Name& n, F a, F b) {
  const std::string& op = n.base();
  if (op == "neg") return -a;
  if (op == "abs") return std::fabs(a);
  if (op == "copysign") return std::copysign(b, a);
  if (op != "min" && op != "max") return std::nullopt;
  const bool negative = std::signbit(a) != std::signbit(b), abs = n.has("abs");
  if (abs) a = std::fabs(a), b = std::fabs(b);
  F r = std::isnan(a) ? b : a;
  if (n.has("NaN") && (std::isnan(a) || std::isnan(b)))
    r = static_cast<F>(NAN);
  else if (!std::isnan(a) && !std::isnan(b)) {
    const bool a_less = a < b || (a == b && std::signbit(a) && !std::signbit(b));
    r = a_less == (op == "min") ? a : b;
  }
  return abs ? std::copysign(r, negative ? F{-1} : F{1}) : r;
}

inline std::optional<u64> float32(const Name& n, const u64* v) {
  u64 in[3] = {v[0], v[1], v[2]};
  if (n.has("ftz"))
    for (u64& x : in) x = flush32(low(x, 32));
  const float a = as<float>(static_cast<u32>(in[0])), b = as<float>(static_cast<u32>(in[1])), c = as<float>(static_cast<u32>(in[2]));
  if (n.base() == "testp") {
    const int k = std::fpclassify(a);
    return n.has("finite")       ? k != FP_INFINITE && k != FP_NAN
           : n.has("infinite")   ? k == FP_INFINITE
           : n.has("number")     ? k != FP_NAN
           : n.has("notanumber") ? k == FP_NAN
           : n.has("normal")     ? k == FP_NORMAL || k == FP_ZERO  // of zero: recorded on an H200
                                 : k == FP_SUBNORMAL;
  }
  if (n.base() == "copysign") return (low(in[1], 31)) | (in[0] & 0x80000000);
  std::optional<float> r = arithmetic(n, a, b, c);
  if (r && n.has("ftz") && std::fabs(*r) == 0x1p-126f && n.base() != "add" && n.base() != "sub") {
    // A result of 2^-126 may come from below; 2^64 times as large it shows where it lies when rounded to 24 bits.
    const std::optional<float> large = arithmetic(n, n.base() == "rcp" ? a * 0x1p-64f : a * 0x1p64f, b, c * 0x1p64f);
    if (std::fabs(*large) < 0x1p-62f) r = std::copysign(0.0f, *r);
  }
  if (!r) r = order_or_sign(n, a, b);
  if (!r) return std::nullopt;
  return finish32(n, *r);
}

inline std::optional<u64> float64(const Name& n, const u64* v) {
  const double a = as<double>(v[0]), b = as<double>(v[1]), c = as<double>(v[2]);
  if (n.base() == "testp")
    return n.has("finite") ? std::isfinite(a) : n.has("infinite") ? std::isinf(a) : n.has("number") ? !std::isnan(a) : std::isnan(a);
  if (n.has("approx")) return std::nullopt;
  std::optional<double> r = arithmetic(n, a, b, c);
  if (!r) r = order_or_sign(n, a, b);
  return r ? std::optional(bits(*r)) : std::nullopt;
}

// f16 and bf16: exact in long double, rounded once. .ftz: what is below the smallest normal number after rounding to 11 bits with an
// unbounded exponent is a zero.
inline bool below_normal(const std::string& op, long double a, long double b, long double c) {
  const long double exact = op == "mul" ? a * b : op == "fma" ? a * b + c : 1;
  return std::fabs(exact) < std::ldexp(1.0L, -14) * (1 - std::ldexp(1.0L, -12));
}
inline std::optional<u64> half(const Name& n, const std::string& t, const u64* v) {
  const u64 top = t == "f16" ? 0x7c00 : 0x7f80;
  u64 in[3];
  for (int i = 0; i < 3; ++i) in[i] = n.has("ftz") && (v[i] & top) == 0 ? v[i] & 0x8000 : low(v[i], 16);
  if ((n.base() == "neg" || n.base() == "abs") && (in[0] & 0x7fff) > top) return 0x7fff;
  if (n.base() == "neg") return in[0] ^ 0x8000;
  if (n.base() == "abs") return in[0] & 0x7fff;
  const long double a = value(in[0], t), b = value(in[1], t), c = value(in[2], t);
  const std::string& op = n.base();
  u64 r;
  if (op == "add")
    r = to_small(a + b, t);
  else if (op == "sub")
    r = to_small(a - b, t);
  else if (op == "mul")
    r = to_small(a * b, t);
  else if (op == "fma")
    r = to_small(a * b + c, t);
  else if (const auto m = order_or_sign(n, a, b); m)
    r = to_small(*m, t);
  else
    return std::nullopt;
  const bool nan = (r & 0x7fff) > top, negative = (r & 0x8000) != 0;
  if (n.has("ftz") && ((r & top) == 0 || below_normal(op, a, b, c))) r &= 0x8000;
  if (n.has("sat")) r = nan || negative ? 0 : std::min<u64>(r, t == "f16" ? 0x3c00 : 0x3f80);
  if (n.has("relu")) r = nan ? 0x7fff : negative ? 0 : r;
  return r;
}

inline bool compared(const std::string& cmp, long double a, long double b) {
  const bool nan = std::isnan(a) || std::isnan(b);
  if (cmp == "num") return !nan;
  if (cmp == "nan") return nan;
  if (cmp == "eq") return a == b;
  if (cmp == "ne") return !nan && a != b;
  if (cmp == "lt" || cmp == "lo") return a < b;
  if (cmp == "le" || cmp == "ls") return a <= b;
  if (cmp == "gt" || cmp == "hi") return a > b;
  if (cmp == "ge" || cmp == "hs") return a >= b;
  return nan || compared(cmp.substr(0, 2) == "ne" ? "ne" : cmp.substr(0, 2), a, b);
}
inline long double comparand(const Name& n, u64 v, const std::string& t) {
  return value(n.has("ftz") && t == "f32" ? flush32(low(v, 32)) : v, t);
}
inline u64 combined(const Name& n, u64 r, u64 c) { return n.has("and") ? r & c : n.has("or") ? r | c : n.has("xor") ? r ^ c : r; }

inline std::optional<u64> comparison(const Name& n, const u64* v, int result) {
  const std::string &t = n.type(), &cmp = n.parts[1];
  if (n.base() == "setp") {
    if (t.ends_with("x2")) {
      const std::string h = t.substr(0, t.size() - 2);
      return combined(n, compared(cmp, value(low(v[0] >> (16 * result), 16), h), value(low(v[1] >> (16 * result), 16), h)), v[2]);
    }
    return combined(n, compared(cmp, comparand(n, v[0], t), comparand(n, v[1], t)) != (result == 1), v[2]);
  }
  if (n.base() == "set") {
    const std::string& d = n.type_before();
    auto yes = [&](const std::string& type) -> u64 {
      return type == "f32" ? 0x3f800000 : type.starts_with("f16") ? 0x3c00 : type.starts_with("bf16") ? 0x3f80 : 0xffffffff;
    };
    if (!t.ends_with("x2")) return compared(cmp, comparand(n, v[0], t), comparand(n, v[1], t)) ? yes(d) : 0;
    const std::string h = t.substr(0, t.size() - 2);
    u64 r = 0;
    for (int i = 0; i < 2; ++i)
      if (compared(cmp, value(low(v[0] >> (16 * i), 16), h), value(low(v[1] >> (16 * i), 16), h))) r |= low(yes(d), 16) << (16 * i);
    return r;
  }
  if (n.base() == "selp") return low(v[2] != 0 ? v[0] : v[1], bits_in(t));
  if (n.base() == "slct")
    return low((t == "f32" ? as<float>(static_cast<u32>(v[2])) >= 0 : integer(v[2], "s32") >= 0) ? v[0] : v[1], bits_in(n.type_before()));
  return std::nullopt;
}

}  // namespace cutegen::vgpu::reference
