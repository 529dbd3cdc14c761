// The vectorised sums against their own definition, which mma_test.cc compares with an independent one: every host instruction set,
// exponents near and far, sparse operands, infinities, sums that overflow 32 bits.
#include "vgpu/isa/tensor_core.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace cutegen::vgpu {
namespace {

struct Random {  // std::mt19937's numbers are wider than 32 bits here
  std::mt19937 engine;
  explicit Random(u32 seed) : engine(seed) {}
  u32 operator()() { return static_cast<u32>(engine()); }
};

struct Operands {
  f32 a[16][kMaxProducts], b[8][kMaxProducts], c[4][kLanes];
};

struct Draw {
  u32 bits;             // of significand that are kept
  int lowest, highest;  // exponents
  double zeros = 0, special = 0;
  bool largest = false;  // significands all ones
};

Operands draw(const Draw& d, int products, Random& g) {
  Operands o{};
  auto chance = [&](double p) { return static_cast<double>(g() % 10000) < p * 10000; };
  auto number = [&] {
    if (chance(d.zeros)) return g() % 2 == 0 ? 0.0f : -0.0f;
    if (chance(d.special)) return g() % 3 == 0 ? NAN : g() % 2 == 0 ? INFINITY : -INFINITY;
    const u32 fraction = d.largest ? 0x7fffff : g() & 0x7fffff;
    const auto e = static_cast<u32>(127 + d.lowest + static_cast<int>(g() % static_cast<u32>(d.highest - d.lowest + 1)));
    return std::bit_cast<f32>((d.largest ? 0 : (g() & 1) << 31) | e << 23 | (fraction & ~((1u << (23 - d.bits)) - 1)));
  };
  for (auto& row : o.a)
    for (int k = 0; k < products; ++k) row[k] = number();
  for (auto& column : o.b)
    for (int k = 0; k < products; ++k) column[k] = number();
  for (auto& lanes : o.c)
    for (f32& x : lanes) x = number() * (g() % 4 == 0 ? 64.0f : 1.0f);
  return o;
}

template <class Core>
void check(const Draw& d, const DotRule& rule, int products, const char* name) {
  SCOPED_TRACE(std::string(name) + ", " + std::to_string(products) + " products, exponents " + std::to_string(d.lowest) + " to " +
               std::to_string(d.highest));
  Random g(static_cast<u32>(products + d.highest));
  Operands o = draw(d, products, g);
  RowsOfA a;
  ColumnsOfB b;
  for (int k = 0; k < products; k += 8) {
    alignas(64) u32 rows[4][kLanes], columns[2][kLanes];
    for (int q = 0; q < 2; ++q)
      for (int l = 0; l < kLanes; ++l) {
        const int at = k + 4 * q + l % 4;
        rows[2 * q][l] = std::bit_cast<u32>(o.a[l / 4][at]), rows[2 * q + 1][l] = std::bit_cast<u32>(o.a[8 + l / 4][at]);
        columns[q][l] = std::bit_cast<u32>(o.b[l / 4][at]);
      }
    const u32* const pa[4] = {rows[0], rows[1], rows[2], rows[3]};
    const u32* const pb[2] = {columns[0], columns[1]};
    Core::place_a(pa, ~0u, a, k, rule);
    Core::place_b(pb, ~0u, b, k, rule);
  }
  alignas(64) f32 sums[4][kLanes];
  std::memcpy(sums, o.c, sizeof sums);
  const f32* const in[4] = {sums[0], sums[1], sums[2], sums[3]};
  f32* const out[4] = {sums[0], sums[1], sums[2], sums[3]};
  Core::multiply(a, b, products, rule, in, out);
  for (int i = 0; i < 4; ++i)
    for (int l = 0; l < kLanes; ++l) {
      const f32 want = fused_dot_add(o.a[l / 4 + 8 * (i / 2)], o.b[2 * (l % 4) + i % 2], products, o.c[i][l], rule);
      ASSERT_EQ(std::bit_cast<u32>(sums[i][l]), std::bit_cast<u32>(want)) << "register " << i << ", lane " << l;
    }
}

template <class Core>
void check_all(const char* name) {
  for (int products : {8, 16, 32})
    for (const Draw& d : {Draw{10, -2, 2}, Draw{10, -13, 13, 0.1}, Draw{7, -30, 30, 0.5}, Draw{7, -60, 60, 0.7}, Draw{7, -126, 63, 0.9},
                          Draw{7, 60, 63, 0.2}, Draw{10, -3, 3, 0.1, 0.02}, Draw{10, 3, 3, 0, 0, true}, Draw{3, -6, 8, 0.98}}) {
      if (products <= 16) check<Core>(d, {25, -126, -126, false}, products, name);
      if (products <= 16 && d.bits <= 10 && d.lowest >= -13 && d.highest <= 13) check<Core>(d, {25, -14, -14, true}, products, name);
      if (d.bits <= 3) check<Core>(d, {13, -6, -14, false}, products, name);
    }
}

TEST(TensorCore, PortableSumsAreTheDefinition) { check_all<TensorCorePortable>("portable"); }
TEST(TensorCore, Avx2SumsAreTheDefinition) {
#if defined(__x86_64__) && !defined(__clang__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) GTEST_SKIP() << "no AVX2 here";
#endif
  check_all<TensorCoreAvx2>("avx2");
}
TEST(TensorCore, Avx512SumsAreTheDefinition) {
#if defined(__x86_64__) && !defined(__clang__)
  if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
    GTEST_SKIP() << "no AVX-512 here";
#endif
  check_all<TensorCoreAvx512>("avx512");
}

// Halves as they lie in memory, with and without a changed sign, are placed as their values are.
template <class Core>
void check_halves() {
  Random g(5);
  u16 memory[8][16];
  for (const bool bf16 : {false, true})
    for (const bool negative : {false, true}) {
      for (auto& column : memory)
        for (u16& h : column) h = static_cast<u16>((bf16 ? 0x3f00 : 0x3800) + g() % 0x400 + (g() % 2 << 15));
      const char* chunks[16];
      for (int i = 0; i < 16; ++i) chunks[i] = reinterpret_cast<const char*>(&memory[i / 2][i % 2 * 8]);
      ColumnsOfB b;
      Core::place_halves(chunks, bf16, negative, b, {25, bf16 ? -126 : -14, bf16 ? -126 : -14, false});
      for (int n = 0; n < 8; ++n)
        for (int k = 0; k < 16; ++k) {
          const int h = memory[n][k], e = bf16 ? (h >> 7 & 0xff) - 127 : (h >> 10 & 0x1f) - 15, bits = bf16 ? 7 : 10;
          const double want = std::ldexp((1 << bits) + (h & ((1 << bits) - 1)), e - bits) * (h >> 15 != 0 ? -1 : 1) * (negative ? -1 : 1);
          ASSERT_EQ(b.value[n % 2][k][n / 2], want) << n << "," << k;
        }
    }
}
TEST(TensorCore, HalvesAreTheirValues) {
  check_halves<TensorCorePortable>();
#if defined(__x86_64__) && !defined(__clang__)
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) check_halves<TensorCoreAvx512>();
#endif
}

}  // namespace
}  // namespace cutegen::vgpu
