// How the tensor cores of sm_90 multiply and add. All products of one instruction and the accumulator go into one sum: products are exact,
// every term is cut (toward zero) to `fraction_bits` bits below the largest exponent among the terms, what is left is added exactly, and
// the sum is cut to single precision or rounded to half. The exponent of a product is the sum of its factors' exponents, whatever the
// significands are; subnormal numbers have their format's lowest exponent. Zeros do not take part, and a zero sum is +0.
// Xie et al., "MMA-Sim" (arXiv:2511.10909), describe these rules for ten GPUs; tests/vgpu/differential/ has an H200's results.
//
// Operands are prepared ("placed") in the order in which fragments lie in registers: lane 4 row + t of a 16-row tile
// holds columns 2t and 2t + 1 of the result, in two registers ("even", "odd").
//
// `products` below is 8, 16 or 32 (16 at most with 25 fraction bits); a shorter instruction has zeros.
#pragma once

#include "vgpu/isa/types.h"

namespace cutegen::vgpu {

struct DotRule {
  int fraction_bits = 25;
  s32 min_exponent_a = -126, min_exponent_b = -126;  // of the formats: subnormals have this one
  bool half =
      false;  // c is a half, and the sum will be rounded to one: an inexact sum's last bit is set, so that this is the only rounding
  s32 min_exponent_c() const { return half ? -14 : -126; }
};

inline constexpr int kMaxProducts = 32;  // of one result and instruction

// 16 rows. value[k][4 row + t] is the same for every t.
struct RowsOfA {
  alignas(64) f32 value[kMaxProducts][64];
  alignas(64) s8 exponent[kMaxProducts][64];  // for Avx512: byte 16 (row % 4) + 4 (row / 4) + t
  bool narrow = true;                         // exponents fit: at most 2^40, at least 2^-40, or zero
};

// 8 columns. [odd][k][t] is column 2t + odd.
struct ColumnsOfB {
  alignas(64) f32 value[2][kMaxProducts][4];
  alignas(64) s8 exponent[2][kMaxProducts][4];  // for Avx512
  bool narrow = true;
};

// The exact definition, for one result. Products a[i] b[i].
f32 fused_dot_add(const f32* a, const f32* b, int products, f32 c, const DotRule& rule);

// The same for 16x8 results, on three instruction sets of the host.
//
// place_a and place_b take eight values of k as two quads, single precision bits of which those in `keep` count. A quad is a register of a
// fragment: lane 4 i + j is row (column) i, k = 4 quad + j. quads[2 q] has rows 0-7 of quad q, quads[2 q + 1] rows 8-15.
// place_halves takes 16 values of k of eight columns, two chunks of 16 bytes each, as they lie in memory: f16, or bf16.
// Accumulators are 32 lanes each: even and odd columns of rows 0-7, then of rows 8-15. c[i] and d[i] may be the same.
struct TensorCorePortable {
  static void place_a(const u32* const quads[4], u32 keep, RowsOfA& a, int k, const DotRule& rule);
  static void place_b(const u32* const quads[2], u32 keep, ColumnsOfB& b, int k, const DotRule& rule);
  static void place_halves(const char* const chunks[16], bool bf16, bool negative, ColumnsOfB& b, const DotRule& rule);
  static void multiply(const RowsOfA& a, const ColumnsOfB& b, int products, const DotRule& rule, const f32* const c[4], f32* const d[4]);
};
#if defined(__x86_64__) && !defined(__clang__)
struct TensorCoreAvx2 : TensorCorePortable {
  static void multiply(const RowsOfA& a, const ColumnsOfB& b, int products, const DotRule& rule, const f32* const c[4], f32* const d[4]);
};
struct TensorCoreAvx512 {
  static void place_a(const u32* const quads[4], u32 keep, RowsOfA& a, int k, const DotRule& rule);
  static void place_b(const u32* const quads[2], u32 keep, ColumnsOfB& b, int k, const DotRule& rule);
  static void place_halves(const char* const chunks[16], bool bf16, bool negative, ColumnsOfB& b, const DotRule& rule);
  static void multiply(const RowsOfA& a, const ColumnsOfB& b, int products, const DotRule& rule, const f32* const c[4], f32* const d[4]);
};
#else
using TensorCoreAvx2 = TensorCorePortable;
using TensorCoreAvx512 = TensorCorePortable;
#endif

}  // namespace cutegen::vgpu
