// Operands of the differential suite: the same numbers on every machine, from a name and a kind. Used by the tests and by
// scripts/gpu/differential_run.cc, so it depends on nothing.
//
// A column is one 64-bit word a row. Rows come in four classes (row % 4): 0 special values, 1 random bits, 2 moderate values (exponents
// near one another, short mantissas: ties and cancellation), 3 any of the three for each operand by itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cutegen::differential {

struct Random {  // splitmix64
  uint64_t state;
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t n) { return (next() >> 16) % n; }
};

inline uint64_t hash_bytes(const void* data, size_t bytes, uint64_t h = 0xcbf29ce484222325ull) {  // FNV-1a, then mixed
  const auto* p = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < bytes; ++i) h = (h ^ p[i]) * 0x100000001b3ull;
  Random mix{h};
  return mix.next();
}
inline uint64_t hash_text(std::string_view s) { return hash_bytes(s.data(), s.size()); }

struct FloatFormat {
  int exponent, mantissa;  // bits
  int bits() const { return 1 + exponent + mantissa; }
  int bias() const { return (1 << (exponent - 1)) - 1; }
  uint64_t make(uint64_t sign, int64_t biased, uint64_t fraction) const {
    const int64_t top = (1 << exponent) - 1;
    const auto e = static_cast<uint64_t>(biased < 0 ? 0 : biased > top ? top : biased);
    return (sign & 1) << (exponent + mantissa) | e << mantissa | (fraction & ((1ull << mantissa) - 1));
  }
};
inline FloatFormat float_format(std::string_view kind) {
  if (kind == "f64") return {11, 52};
  if (kind == "f16") return {5, 10};
  if (kind == "bf16") return {8, 7};
  if (kind == "tf32") return {8, 10};
  if (kind == "e4m3") return {4, 3};
  if (kind == "e5m2") return {5, 2};
  return {8, 23};
}

inline uint64_t special_float(Random& r, const FloatFormat& f) {
  const int64_t top = (1 << f.exponent) - 1;
  const uint64_t ones = (1ull << f.mantissa) - 1, sign = r.next() & 1, pick = r.below(23);
  switch (pick) {
    case 0: return f.make(sign, 0, 0);
    case 1: return f.make(sign, f.bias(), 0);
    case 2: return f.make(sign, f.bias() - 1, 0);
    case 3: return f.make(sign, f.bias(), ones / 2 + 1);
    case 4: return f.make(sign, top, 0);                                            // infinity
    case 5: return f.make(sign, top, r.next() | 1);                                 // a NaN
    case 6: return f.make(sign, top, ones / 2 + 1);                                 // the quiet NaN
    case 7: return f.make(sign, top - 1, ones);                                     // the largest
    case 8: return f.make(sign, 1, 0);                                              // the smallest normal
    case 9: return f.make(sign, 0, ones);                                           // the largest subnormal
    case 10: return f.make(sign, 0, 1);                                             // the smallest
    case 11: return f.make(sign, 0, r.next());                                      // a subnormal
    case 12: return f.make(sign, f.bias(), 1);                                      // 1 + ulp
    case 13: return f.make(sign, f.bias() - 1, ones);                               // 1 - ulp / 2
    case 14: return f.make(sign, f.bias() + f.mantissa, r.next());                  // integers about 2^mantissa
    case 15: return f.make(sign, f.bias() + static_cast<int64_t>(r.below(70)), 0);  // powers of two up to 2^69
    case 16: return f.make(sign, f.bias() + static_cast<int64_t>(r.below(70)), ones);
    case 17: return f.make(sign, top - 1, r.next());
    case 18: return f.make(sign, 1 + static_cast<int64_t>(r.below(3)), r.next());
    case 19: return f.make(sign, 1, r.below(4));                    // a little above the smallest normal
    case 20: return f.make(sign, f.bias(), r.below(4));             // a little above 1
    case 21: return f.make(sign, f.bias() - 1, ones - r.below(4));  // a little below 1
    default: return f.make(sign, f.bias() + static_cast<int64_t>(r.below(8)), r.next() << (f.mantissa - 1));  // halves and integers
  }
}
inline uint64_t moderate_float(Random& r, const FloatFormat& f) {
  const int64_t e = f.bias() - 4 + static_cast<int64_t>(r.below(9));
  const uint64_t shape = r.below(3);
  uint64_t fraction = r.next();
  if (shape == 1) fraction = r.next() << r.below(static_cast<uint64_t>(f.mantissa));
  if (shape == 2) fraction = static_cast<uint64_t>(0) - (1ull << r.below(static_cast<uint64_t>(f.mantissa)));
  return f.make(r.next(), e, fraction);
}
inline uint64_t special_integer(Random& r) {
  constexpr uint64_t kValues[] = {0,
                                  1,
                                  2,
                                  3,
                                  4,
                                  5,
                                  7,
                                  8,
                                  15,
                                  16,
                                  31,
                                  32,
                                  33,
                                  63,
                                  64,
                                  65,
                                  127,
                                  128,
                                  129,
                                  255,
                                  256,
                                  0x7fff,
                                  0x8000,
                                  0x8001,
                                  0xffff,
                                  0x10000,
                                  0x7fffffff,
                                  0x80000000,
                                  0x80000001,
                                  0xffffffff,
                                  0x100000000,
                                  0x7fffffffffffffff,
                                  0x8000000000000000,
                                  0x8000000000000001,
                                  0x123456789abcdef0};
  const uint64_t v = kValues[r.below(sizeof kValues / sizeof kValues[0])];
  return r.next() & 1 ? v : ~v + (r.next() & 1);
}
inline uint64_t moderate_integer(Random& r) {
  const uint64_t v = r.next() >> r.below(64);
  return r.next() & 1 ? v : ~v;
}

inline bool is_float_kind(std::string_view k) { return k == "f32" || k == "f64" || k == "f16" || k == "bf16"; }

inline uint64_t value(Random& r, std::string_view kind, uint64_t row_class) {
  if (row_class == 3) row_class = r.below(3);
  if (kind == "f16x2" || kind == "bf16x2") {
    const std::string_view half = kind.substr(0, kind.size() - 2);
    const uint64_t low = value(r, half, row_class);
    return low | value(r, half, row_class) << 16;
  }
  if (kind == "pred") return r.next() & 1;
  if (kind == "shift") return row_class == 1 ? r.below(64) : r.below(300);   // shift amounts, positions, lengths
  if (kind == "few") return r.below(4) == 0 ? r.next() : r.below(3);         // equal values are frequent
  if (kind == "lane") return r.below(4) == 0 ? r.next() & 63 : r.below(32);  // a lane, or a distance
  if (kind == "segment") return (r.below(3) == 0 ? r.next() : (32 - (1u << r.below(6)))) << 8 | (r.next() & 1 ? 31 : r.below(32));
  if (is_float_kind(kind)) {
    const FloatFormat f = float_format(kind);
    const uint64_t bits = row_class == 0 ? special_float(r, f) : row_class == 1 ? r.next() : moderate_float(r, f);
    return f.bits() == 64 ? bits : bits & ((1ull << f.bits()) - 1);
  }
  return row_class == 0 ? special_integer(r) : row_class == 1 ? r.next() : moderate_integer(r);  // "int"
}

// One register of a matrix operand: "m.f16" and so on are elements of A, "n." of B, "c." accumulators. Tiles (a warp, or a warpgroup) have
// a class each, so that one tile shows one thing:
//   0 finite random bits: the widest spread of exponents       8 random bits, all of them
//   1 exponents near one another                               9 special values
//   2 exponents 12 or so apart                                10 neighbours in a register of A cancel, but for a last bit of B
//   3 powers of two of both signs: cancellation               11 class 0 with half of the elements zero
//   4 zeros but for a few elements of any size                12 exponents 28 or so apart
//   5 subnormals and the smallest normals                     13 A is zero, B the largest: products of zero beside small accumulators
//   6 NaNs and infinities among moderate values, seldom       14 zeros of either sign, and ones
//   7 accumulators far larger or smaller than the products    15 products and accumulators about the largest number
struct MatrixElement {
  static uint64_t of(Random& r, const FloatFormat& f, uint64_t tile_class, char role) {
    const int64_t top = (1 << f.exponent) - 1, bias = f.bias();
    const bool accumulator = role == 'c';
    auto near = [&](int64_t spread) { return bias - spread + static_cast<int64_t>(r.below(static_cast<uint64_t>(2 * spread + 1))); };
    const int64_t anywhere = static_cast<int64_t>(r.below(static_cast<uint64_t>(top)));
    const uint64_t sign = r.next(), fraction = r.next();
    switch (tile_class) {
      case 0: return f.make(sign, anywhere, fraction);
      case 1: return f.make(sign, near(2), fraction);
      case 2: return f.make(sign, near(accumulator ? 12 : 6), fraction);
      case 3: return f.make(sign, near(accumulator ? 14 : 7), 0);
      case 4: return r.below(accumulator ? 2 : 8) != 0 ? 0 : f.make(sign, near(accumulator ? 24 : 12), fraction);
      case 5: return f.make(sign, static_cast<int64_t>(r.below(3)), fraction);
      case 6: return r.below(64) == 0 ? f.make(sign, top, r.next() & 1 ? 0 : fraction) : f.make(sign, near(3), fraction);
      case 7: return f.make(sign, accumulator ? near(30) : near(1), fraction);
      case 8: return f.make(sign, static_cast<int64_t>(r.below(static_cast<uint64_t>(top) + 1)), fraction);
      case 9: return r.below(4) == 0 ? special_float(r, f) : f.make(sign, near(2), fraction);
      case 10: return f.make(sign, near(4), fraction);
      case 11: return (r.next() & 1) != 0 ? f.make(sign, 0, 0) : f.make(sign, anywhere, fraction);
      case 12: return f.make(sign, near(accumulator ? 28 : 14), fraction);
      case 13: return role == 'm' ? f.make(sign, 0, 0) : role == 'n' ? f.make(sign, top - 1, ~0ull) : f.make(sign, near(40), fraction);
      case 14: return f.make(sign, r.below(4) == 0 ? bias : 0, 0);
      default: return f.make(sign, accumulator ? top - 1 : bias + top / 4 - 1 + static_cast<int64_t>(r.below(3)), fraction);
    }
  }
};
inline uint64_t integer_matrix_word(Random& r, std::string_view element, uint64_t tile_class) {
  const uint64_t v = r.next();
  if (element == "s32") {  // about 0 and about the ends of the range
    const uint64_t bases[] = {v, 0, 0x7fffff00, 0x80000000};
    return bases[tile_class % 4] + (tile_class % 4 == 0 ? 0 : v & 0xff);
  }
  const uint64_t masks[] = {~0ull, 0, 0x7f7f7f7f7f7f7f7full, ~0ull}, ones[] = {0, 0x8080808080808080ull, 0, 0x8080808080808080ull};
  return (v & masks[tile_class % 4]) | (tile_class < 8 ? ones[tile_class % 4] : 0);
}
inline uint64_t matrix_word(Random& r, std::string_view kind, uint64_t tile_class) {
  const char role = kind[0];
  const std::string_view e = kind.substr(2);
  if (e == "s8" || e == "u8" || e == "s4" || e == "u4" || e == "b1" || e == "s32") return integer_matrix_word(r, e, tile_class);
  const FloatFormat f = float_format(e == "tf32" ? "f32" : e);  // the low 13 bits of tf32 are noise
  if (f.bits() >= 32) return MatrixElement::of(r, f, tile_class, role);
  const uint64_t sign = 1ull << (f.bits() - 1);
  uint64_t word = 0, before = 0;
  for (int at = 0; at < 32; at += f.bits()) {
    uint64_t v = MatrixElement::of(r, f, tile_class, role);
    if (tile_class == 10 && (at / f.bits()) % 2 == 1 && role != 'c') v = role == 'm' ? before ^ sign : before ^ (r.below(4) == 0 ? 1 : 0);
    const bool nan = e == "e4m3" && (v & 0x7f) == 0x7f;  // e4m3 has no infinity; its top exponent holds numbers
    if (nan && tile_class != 6 && tile_class != 8 && tile_class != 9) v ^= 1;
    before = v;
    word |= v << at;
  }
  return word;
}

// Sparse selectors of mma.sp: pairs of 2-bit positions, ascending; of tf32 ("selector1") one of two.
inline uint64_t selector_word(Random& r, bool one_of_two) {
  constexpr uint64_t kPairs[] = {0x4, 0xe, 0x8, 0xc, 0x9, 0xd};
  uint64_t w = 0;
  for (int at = 0; at < 32; at += 4) w |= kPairs[r.below(one_of_two ? 2 : 6)] << at;
  return w;
}

// Rows 0..n-1 of operand `index` of the case `name`. `tile`: rows of a tile, for the matrix kinds.
inline std::vector<uint64_t> column(std::string_view name, size_t index, std::string_view kind, size_t n, size_t tile = 32) {
  std::vector<uint64_t> c(n);
  Random r{hash_text(name) + index * 0x632be59bd9b4e019ull};
  const bool matrix = kind.size() > 2 && kind[1] == '.';
  for (size_t row = 0; row < n; ++row) {
    if (kind == "all16")  // every 16-bit pattern, in both halves
      c[row] = (row & 0xffff) | ((row * 40503) & 0xffff) << 16;
    else if (kind.starts_with("selector"))
      c[row] = selector_word(r, kind == "selector1");
    else if (matrix)
      c[row] = matrix_word(r, kind, row / tile % 16);
    else
      c[row] = value(r, kind, row % 4);
  }
  return c;
}

}  // namespace cutegen::differential
