// The integer, logic and conversion part of the reference.
#pragma once

#include "vgpu/isa/reference.h"

namespace cutegen::vgpu::reference {

inline std::optional<wide> integer_result(const Name& n, wide a, wide b, wide c, int width) {
  const std::string& op = n.base();
  // Modulo 2^128: the bits that are kept do not depend on what wraps.
  auto times = [](wide x, wide y) { return static_cast<wide>(static_cast<uwide>(x) * static_cast<uwide>(y)); };
  auto plus = [](wide x, wide y) { return static_cast<wide>(static_cast<uwide>(x) + static_cast<uwide>(y)); };
  if (op == "add") return n.has("sat") ? std::clamp<wide>(a + b, INT32_MIN, INT32_MAX) : a + b;
  if (op == "sub") return n.has("sat") ? std::clamp<wide>(a - b, INT32_MIN, INT32_MAX) : a - b;
  if (op == "mul") return n.has("hi") ? times(a, b) >> width : times(a, b);
  if (op == "mad") return plus(n.has("hi") ? times(a, b) >> width : times(a, b), c);
  if (op == "div") return b == 0 ? wide{-1} : a / b;
  if (op == "rem") return b == 0 ? wide{-1} : a % b;  // of division by zero: recorded on an H200
  if (op == "min") return std::min(a, b);
  if (op == "max") return std::max(a, b);
  if (op == "neg") return -a;
  if (op == "abs") return a < 0 ? -a : a;
  if (op == "sad") return c + (a < b ? b - a : a - b);
  return std::nullopt;
}

inline std::optional<u64> bit_operation(const Name& n, const u64* v, int width) {
  const std::string& op = n.base();
  const u64 a = low(v[0], width), b = low(v[1], width);
  if (op == "and") return a & b;
  if (op == "or") return a | b;
  if (op == "xor") return a ^ b;
  if (op == "not") return low(~a, width);
  if (op == "cnot") return a == 0;
  const u64 count = low(v[1], 32);
  if (op == "shl") return count >= static_cast<u64>(width) ? 0 : low(a << count, width);
  if (op == "shr") return low(static_cast<u64>(integer(a, n.type()) >> std::min<u64>(count, static_cast<u64>(width))), width);
  auto bit = [&](u64 word, int i) -> u64 { return i < width ? (word >> i) & 1 : 0; };
  u64 r = 0;
  if (op == "popc") {
    for (int i = 0; i < width; ++i) r += bit(a, i);
    return r;
  }
  if (op == "clz") {
    while (r < static_cast<u64>(width) && bit(a, width - 1 - static_cast<int>(r)) == 0) ++r;
    return r;
  }
  if (op == "brev") {
    for (int i = 0; i < width; ++i) r |= bit(a, i) << (width - 1 - i);
    return r;
  }
  if (op == "bfind") {
    const u64 sign = n.type()[0] == 's' ? bit(a, width - 1) : 0;
    for (int i = width - 1; i >= 0; --i)
      if (bit(a, i) != sign) return static_cast<u64>(n.has("shiftamt") ? width - 1 - i : i);
    return 0xffffffff;
  }
  // 64-bit fields take all of their position and length: recorded on an H200.
  auto number = [&](u64 x) { return static_cast<int>(width == 64 ? std::min<u64>(low(x, 32), 1000) : x & 0xff); };
  if (op == "bfe") {  // bit by bit, as the manual's pseudocode
    const int pos = number(v[1]), len = number(v[2]);
    const u64 sign = n.type()[0] == 'u' || len == 0 ? 0 : bit(a, std::min(pos + len - 1, width - 1));
    for (int i = 0; i < width; ++i) r |= (i < len && pos + i < width ? bit(a, pos + i) : sign) << i;
    return r;
  }
  if (op == "bfi") {
    const int pos = number(v[2]), len = number(v[3]);
    r = b;
    for (int i = 0; i < len && pos + i < width; ++i) r = (r & ~(1ull << (pos + i))) | bit(a, i) << (pos + i);
    return r;
  }
  return std::nullopt;
}

inline std::optional<u64> permutation(const Name& n, const u64* v) {
  const std::string& op = n.base();
  const auto a = static_cast<u32>(v[0]), b = static_cast<u32>(v[1]), c = static_cast<u32>(v[2]);
  if (op == "shf") {
    const u32 s = n.has("wrap") ? c % 32 : std::min(c, 32u);
    const uwide both = (static_cast<uwide>(b) << 32) | a;
    return low(static_cast<u64>(n.has("l") ? (both << s) >> 32 : both >> s), 32);
  }
  if (op == "lop3") {
    u64 r = 0;
    for (int i = 0; i < 32; ++i) r |= ((v[3] >> ((((a >> i) & 1) << 2) | (((b >> i) & 1) << 1) | ((c >> i) & 1))) & 1) << i;
    return r;
  }
  if (op != "prmt") return std::nullopt;
  u8 bytes[8];
  std::memcpy(bytes, &a, 4);
  std::memcpy(bytes + 4, &b, 4);
  const int k = static_cast<int>(c & 3);
  u64 r = 0;
  for (int i = 0; i < 4; ++i) {  // byte i of the result, from the manual's table
    int from = 0;
    bool sign = false;
    const std::string& mode = n.type();
    if (mode == "f4e")
      from = k + i;
    else if (mode == "b4e")
      from = (k - i + 8) % 8;
    else if (mode == "rc8")
      from = k;
    else if (mode == "ecl")
      from = std::max(k, i);
    else if (mode == "ecr")
      from = std::min(k, i);
    else if (mode == "rc16")
      from = 2 * (k % 2) + i % 2;
    else
      from = static_cast<int>((c >> (4 * i)) & 7), sign = ((c >> (4 * i)) & 8) != 0;
    r |= static_cast<u64>(sign ? (bytes[from] & 0x80 ? 0xff : 0) : bytes[from]) << (8 * i);
  }
  return r;
}

inline std::optional<u64> small_products(const Name& n, const u64* v) {
  if (n.base() == "dp4a") {
    wide sum = static_cast<wide>(v[2]);
    for (int i = 0; i < 4; ++i)
      sum += integer(v[0] >> (8 * i), n.type_before().substr(0, 1) + "8") * integer(v[1] >> (8 * i), n.type().substr(0, 1) + "8");
    return low(static_cast<u64>(sum), 32);
  }
  const std::string t24 = n.type().substr(0, 1) + "24";
  const wide p = integer(v[0], t24) * integer(v[1], t24);
  return low(static_cast<u64>(n.has("hi") ? p >> 16 : p), 32);
}

inline std::optional<u64> integers(const Name& n, const u64* v) {
  const std::string& t = n.type();
  if (n.base() == "dp4a" || n.base() == "mul24") return small_products(n, v);
  if (const auto p = permutation(n, v)) return p;
  const int width = bits_in(t);
  if (const auto r = bit_operation(n, v, width)) return r;
  const bool doubles = n.has("wide");
  const std::string twice = t.substr(0, 1) + std::to_string(2 * width);
  const auto r = integer_result(n, integer(v[0], t), integer(v[1], t), integer(v[2], doubles ? twice : t), width);
  return r ? std::optional(low(static_cast<u64>(*r), doubles ? 2 * width : width)) : std::nullopt;
}

inline std::optional<u64> predicates(const Name& n, const u64* v) {
  if (n.base() == "and") return v[0] & v[1];
  if (n.base() == "or") return v[0] | v[1];
  if (n.base() == "xor") return v[0] ^ v[1];
  if (n.base() == "not") return v[0] ^ 1;
  return n.base() == "mov" ? std::optional(v[0]) : std::nullopt;
}

// cvt.
inline u64 to_integer(const Name& n, long double x, const std::string& d, const std::string& s, bool clamp) {
  const int width = bits_in(d);
  if (std::isnan(x)) return width == 64 || s == "f64" ? 1ull << (width - 1) : 0;
  if (n.has("rni"))
    x = std::nearbyint(x);
  else if (n.has("rzi"))
    x = std::trunc(x);
  else if (n.has("rmi"))
    x = std::floor(x);
  else if (n.has("rpi"))
    x = std::ceil(x);
  if (clamp) {
    const long double top = std::ldexp(1.0L, d[0] == 's' ? width - 1 : width), bottom = d[0] == 's' ? -top : 0;
    if (x >= top) return d[0] == 's' ? (1ull << (width - 1)) - 1 : low(~0ull, width);
    if (x <= bottom) return d[0] == 's' ? 1ull << (width - 1) : 0;
  }
  return low(x < 0 ? ~static_cast<u64>(-x) + 1 : static_cast<u64>(x), width);
}
inline u64 small_with_limits(const Name& n, long double x, const std::string& t) {
  if (n.has("relu") && !std::isnan(x) && x <= 0) x = 0;
  if (n.has("sat")) x = std::isnan(x) || x <= 0 ? 0 : std::min(x, 1.0L);
  const u64 r = to_small(x, t), top = t == "f16" ? 0x7c00 : 0x7f80;
  return n.has("satfinite") && (r & 0x7fff) == top ? r - 1 : r;
}
inline u64 to_tf32(const Name& n, u64 v) {
  const float x = as<float>(static_cast<u32>(v));
  if (std::isnan(x) || std::isinf(x)) {  // recorded on an H200
    const u64 kept = n.has("rna") ? v & ~0x1fffull : std::isnan(x) ? 0x7fffe000 : v;
    return n.has("satfinite") ? kept - 0x2000 : n.has("relu") && std::isinf(x) && x < 0 ? 0 : kept;
  }
  if (n.has("relu") && x <= 0) return 0;
  const u64 below = v & ~0x1fffull, rest = v & 0x1fff;
  const bool up = !n.has("rz") && (rest > 0x1000 || (rest == 0x1000 && (n.has("rna") || (v & 0x2000) != 0)));
  const u64 r = below + (up ? 0x2000 : 0);
  return n.has("satfinite") && (r & 0x7fffffff) == 0x7f800000 ? r - 0x2000 : r;
}
inline std::optional<u64> conversion(const Name& n, const u64* v) {
  const std::string &d = n.type_before(), &s = n.type();
  if (d.starts_with("e4m3") || d.starts_with("e5m2") || s.starts_with("e4m3") || s.starts_with("e5m2")) return std::nullopt;
  if (d == "tf32") return to_tf32(n, low(v[0], 32));
  const RoundingMode mode(n);
  const u64 source = n.has("ftz") && s == "f32" ? flush32(low(v[0], 32)) : v[0];
  if (d.ends_with("x2"))
    return small_with_limits(n, value(v[1], s), d.substr(0, d.size() - 2)) |
           small_with_limits(n, value(source, s), d.substr(0, d.size() - 2)) << 16;
  long double x = value(source, s);
  if (!is_float(d)) return to_integer(n, x, d, s, is_float(s) || n.has("sat"));
  if (n.has("rni") || n.has("rzi") || n.has("rmi") || n.has("rpi"))
    x = n.has("rni") ? std::nearbyint(x) : n.has("rzi") ? std::trunc(x) : n.has("rmi") ? std::floor(x) : std::ceil(x);
  if (d == "f16" || d == "bf16") return small_with_limits(n, x, d);
  if (d == "f64")
    return bits(n.has("sat") ? (std::isnan(x) || x <= 0 ? 0.0 : std::min(static_cast<double>(x), 1.0)) : static_cast<double>(x));
  volatile float r = static_cast<float>(x);
  return finish32(n, r);
}

inline std::optional<u64> evaluate(const std::string& name, const u64* v, int result) {
  const Name n(name);
  const std::string& t = n.type();
  if (n.base() == "setp" || n.base() == "set" || n.base() == "selp" || n.base() == "slct") return comparison(n, v, result);
  if (n.base() == "cvt") return conversion(n, v);
  if (t == "pred") return predicates(n, v);
  if (n.base() == "mov") return low(v[0], bits_in(t));
  if (n.base() == "prmt" || n.base() == "dp4a") return integers(n, v);
  if (n.has("approx") || n.has("full")) return std::nullopt;
  if (t == "f32") return float32(n, v);
  if (t == "f64") return float64(n, v);
  if (t == "f16" || t == "bf16") return half(n, t, v);
  if (t == "f16x2" || t == "bf16x2") {
    u64 packed = 0;
    for (int h = 0; h < 2; ++h) {
      const u64 in[3] = {low(v[0] >> (16 * h), 16), low(v[1] >> (16 * h), 16), low(v[2] >> (16 * h), 16)};
      const auto r = half(n, t.substr(0, t.size() - 2), in);
      if (!r) return std::nullopt;
      packed |= *r << (16 * h);
    }
    return packed;
  }
  if (n.has("cc") || n.base() == "addc" || n.base() == "subc" || n.base() == "madc") return std::nullopt;
  if (bits_in(t) == 0) return std::nullopt;
  return integers(n, v);
}

}  // namespace cutegen::vgpu::reference
