// Every form of mma.sync against its definition, over several kinds of operands. Fragments are those of PTX ISA 9.7.14.5, the floating
// point sums those of fused_sum.h.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "vgpu/isa/fused_sum.h"
#include "vgpu/isa/reference.h"
#include "vgpu/isa/registry.h"
#include "vgpu/support.h"

namespace cutegen::vgpu {
namespace {

struct Shape {
  u32 m = 0, n = 8, k = 0;
  std::string a, b, c;
  bool saturate = false, exclusive = false;
  explicit Shape(const std::string& form) {
    const reference::Name name(form);
    const std::string& s = name.parts[1];
    m = static_cast<u32>(std::stoi(s.substr(1))), k = static_cast<u32>(std::stoi(s.substr(s.find('k') + 1)));
    saturate = name.has("satfinite"), exclusive = name.has("xor");
    const size_t types = saturate ? 5 : 4;
    a = name.parts[types + 1], b = name.parts[types + 2], c = name.parts[types + 3];
  }
};
u32 width(const std::string& type) {
  if (type == "f64") return 64;
  if (type == "tf32" || type == "f32" || type == "s32") return 32;
  if (type == "e4m3" || type == "e5m2" || type == "s8" || type == "u8") return 8;
  return type == "b1" ? 1 : type == "s4" || type == "u4" ? 4 : 16;
}
bool is_integer(const std::string& type) { return type == "b1" || ((type[0] == 's' || type[0] == 'u') && type.size() <= 3); }

struct Tile {
  std::vector<u64> a, b, c;  // [m][k], [n][k], [m][n]
};

// Registers of one lane, 64 bits a slot.
void pack(const Shape& s, const Tile& tile, std::vector<u64>& in, u32& na, u32& nb, u32& nc, u32 sparsity) {
  const u32 wa = width(s.a), per = wa >= 32 ? 1 : 32 / wa, tall = s.m / 8, per_c = s.c == "f16" ? 2 : 1;
  na = s.m * s.k / sparsity / 32 / per, nb = s.n * s.k / 32 / per, nc = s.m * s.n / 32 / per_c;
  in.assign(32 * 16, 0);
  for (u32 l = 0; l < 32; ++l) {
    u64* lane = in.data() + 16 * l;
    for (u32 r = 0; r < na; ++r)
      for (u32 e = 0; e < per; ++e)
        lane[r] |= tile.a[(l / 4 + 8 * (r % tall)) * s.k / sparsity + (l % 4) * per + e + 4 * per * (r / tall)] << (e * wa % 64);
    for (u32 r = 0; r < nb; ++r)
      for (u32 e = 0; e < per; ++e) lane[na + r] |= tile.b[(l / 4) * s.k + (l % 4) * per + e + 4 * per * r] << (e * wa % 64);
    for (u32 i = 0; i < nc * per_c; ++i)
      lane[na + nb + i / per_c] |= tile.c[(l / 4 + 8 * (i / 2)) * s.n + 2 * (l % 4) + i % 2] << (i % per_c * 16);
  }
}

std::string with_sync(std::string form) { return form.insert(form.find(".m", 3), ".sync.aligned"); }

// `metadata`: a word a lane for sparse forms, whose A has half as many columns.
std::vector<u64> run(const std::string& form, const Shape& s, const Tile& tile, const std::vector<u64>& metadata = {}) {
  std::vector<u64> in, out(32 * 16);
  u32 na = 0, nb = 0, nc = 0;
  pack(s, tile, in, na, nb, nc, metadata.empty() ? 1 : 2);
  for (u32 l = 0; l < metadata.size(); ++l) in[16 * l + 15] = metadata[l];
  const bool wide = width(s.a) == 64;
  const std::string u = wide ? "u64" : "u32";
  auto list = [](u32 first, u32 count) {
    std::string t = "{";
    for (u32 i = 0; i < count; ++i) t += (i != 0 ? ", %r" : "%r") + std::to_string(first + i);
    return t + "}";
  };
  std::string text =
      ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry t(.param .u64 pin, .param .u64 pout) {\n.reg .b64 %in, %out, %o; "
      ".reg .b32 %t; .reg .b" +
      std::string(wide ? "64" : "32") +
      " %r<40>;\nmov.u32 %t, %tid.x; ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout]; mul.wide.u32 %o, %t, 128; add.u64 %in, %in, %o; "
      "add.u64 %out, %out, %o;\n";
  for (u32 i = 0; i < na + nb + nc; ++i) text += "ld.global." + u + " %r" + std::to_string(i) + ", [%in+" + std::to_string(8 * i) + "];\n";
  if (!metadata.empty()) text += "ld.global.u32 %r19, [%in+120];\n";
  text += with_sync(form) + " " + list(20, nc) + ", " + list(0, na) + ", " + list(na, nb) + ", " + list(na + nb, nc) +
          (metadata.empty() ? ";\n" : ", %r19, 0x0;\n");
  for (u32 i = 0; i < nc; ++i) text += "st.global." + u + " [%out+" + std::to_string(8 * i) + "], %r" + std::to_string(20 + i) + ";\n";
  auto program = load_ptx(text + "ret;\n}\n", "mma.ptx");
  EXPECT_TRUE(program.ok()) << program.error().message;
  if (!program.ok()) return {};
  Memory memory;
  LaunchConfig config;
  config.kernel = "t", config.block = {32};
  config.arguments = pack_arguments(map(memory, "in", in), map(memory, "out", out));
  const LaunchResult r = launch(**program, memory, config);
  EXPECT_TRUE(r.ok()) << r.fault->message;
  const u32 per_c = s.c == "f16" ? 2 : 1;
  std::vector<u64> d(s.m * s.n);
  for (u32 l = 0; l < 32; ++l)
    for (u32 i = 0; i < nc * per_c; ++i) {
      const u64 reg = out[16 * l + i / per_c];
      d[(l / 4 + 8 * (i / 2)) * s.n + 2 * (l % 4) + i % 2] = per_c == 2 ? (reg >> (16 * (i % 2))) & 0xffff : reg;
    }
  return d;
}

s64 integer(u64 bits, const std::string& type) {
  const u32 w = width(type);
  return type[0] == 's' ? static_cast<s64>(bits << (64 - w)) >> (64 - w) : static_cast<s64>(bits);
}

// FP8 is two sums of halves, over the even and the odd pairs of k, and an addition.
u64 fp8(const Shape& s, const std::vector<u64>& a, const std::vector<u64>& b, u64 c) {
  u64 sum = 0;
  for (u32 odd = 0; odd < 2; ++odd) {
    std::vector<u64> x, y;
    auto half = [](u64 bits, const std::string& type) -> u64 {
      const reference::Decoded d = reference::decode(bits, reference::FloatFormat::of(type));
      if (d.nan || d.infinite) return (d.negative ? 0x8000u : 0u) | (d.nan ? 0x7fffu : 0x7c00u);
      const double value = std::ldexp(static_cast<double>(d.significand), d.exponent - d.fraction_bits);
      return reference::to_small(d.negative ? -value : value, "f16");
    };
    for (u32 k = 0; k < s.k; ++k)
      if (k / 2 % 2 == odd) x.push_back(half(a[k], s.a)), y.push_back(half(b[k], s.b));
    const auto f = reference::FloatFormat::of("f16");
    sum = reference::fused_sum(x, f, y, f, sum, s.c);
  }
  if (s.c == "f16") {
    auto value = [](u64 h) {
      const reference::Decoded d = reference::decode(h, reference::FloatFormat::of("f16"));
      if (d.nan) return std::numeric_limits<double>::quiet_NaN();
      const double v = d.infinite ? INFINITY : std::ldexp(static_cast<double>(d.significand), d.exponent - d.fraction_bits);
      return d.negative ? -v : v;
    };
    return reference::to_small(value(c) + value(sum), "f16");
  }
  const float r = std::bit_cast<float>(static_cast<u32>(c)) + std::bit_cast<float>(static_cast<u32>(sum));
  return r == r ? std::bit_cast<u32>(r) : 0x7fffffff;
}

u64 expected(const Shape& s, const std::vector<u64>& a, const std::vector<u64>& b, u64 c) {
  if (s.a == "f64") {
    double sum = std::bit_cast<double>(c);
    for (u32 k = 0; k < s.k; ++k) sum = std::fma(std::bit_cast<double>(a[k]), std::bit_cast<double>(b[k]), sum);
    return std::bit_cast<u64>(sum);
  }
  if (is_integer(s.a)) {
    s64 sum = integer(c, "s32");
    for (u32 k = 0; k < s.k; ++k)
      sum += s.a == "b1" ? static_cast<s64>(s.exclusive ? a[k] ^ b[k] : a[k] & b[k]) : integer(a[k], s.a) * integer(b[k], s.b);
    if (s.saturate) sum = std::clamp<s64>(sum, INT32_MIN, INT32_MAX);
    return static_cast<u32>(sum);
  }
  if (width(s.a) == 8) return fp8(s, a, b, c);
  return reference::fused_sum(a, reference::FloatFormat::of(s.a), b, reference::FloatFormat::of(s.b), c, s.c);
}

// Random bits of a floating point type. Kinds: 0 exponents near 1; 1 all finite numbers; 2 with infinities and NaNs now and then; 3 mostly
// zeros, subnormals and the largest; 4 all exponents high, so that sums are large.
u64 draw_float(std::mt19937_64& g, const std::string& type, int kind) {
  const auto f = type == "f64" ? reference::FloatFormat{11, 52, 64} : reference::FloatFormat::of(type);
  const u64 top = (1ull << f.exponent_bits) - 1, fraction = g() & ((1ull << f.fraction_bits) - 1), sign = g() & 1;
  const u64 bias = top / 2;
  u64 e = 0;
  switch (kind) {
    case 0: e = bias - std::min<u64>(bias, 6) + g() % 12; break;
    case 1: e = g() % top; break;
    case 2: e = g() % 100 == 0 ? top : bias - 2 + g() % 4; break;
    case 3: e = g() % 4 == 0 ? top - 1 : g() % 2; break;
    default: e = top - 1 - g() % 3; break;
  }
  e = std::min(e, top);
  u64 bits = sign << (f.exponent_bits + f.fraction_bits) | e << f.fraction_bits | (kind == 3 && g() % 2 == 0 ? 0 : fraction);
  if (f.width == 32 && f.fraction_bits == 10) bits = bits << 13 | (g() & 0x1fff);
  return bits;
}
u64 draw(std::mt19937_64& g, const std::string& type, int kind) {
  if (type == "s32") return kind == 0 ? g() & 0xff : kind == 1 ? g() & 0xffffffff : (kind == 2 ? 0x7fffff00 : 0x80000000) + (g() & 0xff);
  const u64 mask = width(type) == 64 ? ~0ull : (1ull << width(type)) - 1;
  return is_integer(type) ? g() & mask : draw_float(g, type, kind);
}

void check(const std::string& form) {
  SCOPED_TRACE(form);
  const Shape s(form);
  std::mt19937_64 g(form.size());
  for (int kind = 0; kind < 5; ++kind) {
    Tile tile{std::vector<u64>(s.m * s.k), std::vector<u64>(s.n * s.k), std::vector<u64>(s.m * s.n)};
    for (u64& x : tile.a) x = draw(g, s.a, kind);
    for (u64& x : tile.b) x = draw(g, s.b, kind);
    for (u64& x : tile.c) x = draw(g, s.c, kind);
    const std::vector<u64> d = run(form, s, tile);
    ASSERT_EQ(d.size(), s.m * s.n);
    for (u32 m = 0; m < s.m; ++m)
      for (u32 n = 0; n < s.n; ++n) {
        const std::vector<u64> a(tile.a.begin() + m * s.k, tile.a.begin() + (m + 1) * s.k),
            b(tile.b.begin() + n * s.k, tile.b.begin() + (n + 1) * s.k);
        const u64 want = expected(s, a, b, tile.c[m * s.n + n]), got = d[m * s.n + n];
        const bool both_nan = s.a == "f64" && std::isnan(std::bit_cast<double>(want)) && std::isnan(std::bit_cast<double>(got));
        ASSERT_TRUE(want == got || both_nan) << std::hex << got << ", expected " << want << std::dec << " at " << m << "," << n
                                             << ", operands of kind " << kind;
      }
  }
}

// Sparse: chunk c of a row (four places of k, of which two are kept; tf32: two and one; nibbles: by pairs) has the four bits
// `nibbles[row][c]`. Lanes 4 (row % 8) + c / 4 hold them, for row g below those for row g + 8; where a row has 16 chunks, lanes 0 and 2 of
// the four have row g and 1 and 3 row g + 8, eight chunks each.
std::vector<u64> metadata_words(const std::vector<std::vector<u32>>& nibbles) {
  std::vector<u64> words(32);
  for (u32 row = 0; row < 16; ++row)
    for (u32 c = 0; c < nibbles[row].size(); ++c) {
      const bool many = nibbles[row].size() == 16;
      const u32 lane = 4 * (row % 8) + (many ? c / 8 * 2 + row / 8 : c / 4), shift = many ? 4 * (c % 8) : 16 * (row / 8) + 4 * (c % 4);
      words[lane] |= u64{nibbles[row][c]} << shift;
    }
  return words;
}

void check_sparse(const std::string& form) {
  SCOPED_TRACE(form);
  const Shape s("mma" + form.substr(form.find(".m", 3)));
  std::mt19937_64 g(form.size());
  const u32 group = width(s.a) == 4 ? 2 : 1, places = s.a == "tf32" ? 2 : 4, kept = places / 2, chunks = s.k / group / places;
  for (int kind = 0; kind < 5; ++kind) {
    Tile tile{std::vector<u64>(s.m * s.k / 2), std::vector<u64>(s.n * s.k), std::vector<u64>(s.m * s.n)};
    for (u64& x : tile.a) x = draw(g, s.a, kind);
    for (u64& x : tile.b) x = draw(g, s.b, kind);
    for (u64& x : tile.c) x = draw(g, s.c, kind);
    constexpr u32 kPairs[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe}, kOne[] = {0x4, 0xe};
    std::vector<std::vector<u32>> nibbles(16, std::vector<u32>(chunks));
    for (auto& row : nibbles)
      for (u32& n : row) n = places == 2 ? kOne[g() % 2] : kPairs[g() % 6];
    const std::vector<u64> d = run(form, s, tile, metadata_words(nibbles));
    ASSERT_EQ(d.size(), s.m * s.n);
    for (u32 m = 0; m < s.m; ++m)
      for (u32 n = 0; n < s.n; ++n) {
        std::vector<u64> a, b;
        for (u32 i = 0; i < s.k / 2; ++i) {
          const u32 unit = i / group, chunk = unit / kept, index = (nibbles[m][chunk] >> (2 * (unit % kept))) & 3;
          const u32 k = (chunk * places + (places == 2 ? index / 2 : index)) * group + i % group;
          a.push_back(tile.a[m * s.k / 2 + i]), b.push_back(tile.b[n * s.k + k]);
        }
        Shape selected = s;
        selected.k = s.k / 2;
        ASSERT_EQ(d[m * s.n + n], expected(selected, a, b, tile.c[m * s.n + n])) << m << "," << n << ", operands of kind " << kind;
      }
  }
}

TEST(Mma, EveryFormIsItsDefinition) {
  int tested = 0;
  for (const Form& f : all_forms())
    if (f.name.starts_with("mma.m")) check(f.name), ++tested;
  EXPECT_GE(tested, 70);
}

TEST(Mma, EverySparseFormIsItsDefinition) {
  int tested = 0;
  for (const Form& f : all_forms())
    if (f.name.starts_with("mma.sp")) check_sparse(f.name), ++tested;
  EXPECT_GE(tested, 80);
}

}  // namespace
}  // namespace cutegen::vgpu
