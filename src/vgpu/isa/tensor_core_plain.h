// The fused sum as plain loops over lanes, which the compiler vectorises for the instruction set at hand, and what is common to all.
#pragma once

#include <algorithm>

#include "vgpu/isa/numerics.h"
#include "vgpu/isa/tensor_core.h"

namespace cutegen::vgpu {

inline constexpr s32 kNoExponent = -1000, kSpecialExponent = 4000;  // of zeros; of infinities and NaNs
// Fast paths need scales 2^(fraction_bits - exponent) and products that single precision holds.
inline constexpr s32 kLeastExponent = -100, kGreatestExponent = 120;

VGPU_INLINE s32 exponent_of(f32 x, s32 least) {
  const u32 magnitude = std::bit_cast<u32>(x) & 0x7fffffffu;
  const s32 e = std::max(static_cast<s32>(magnitude >> 23) - 127, least);
  const s32 special = magnitude >= 0x7f800000u ? kSpecialExponent : e;
  return magnitude == 0 ? kNoExponent : special;
}

// An integer to single precision, toward zero; with the last bit set when inexact, if `odd`.
VGPU_INLINE f32 cut(s32 sum, bool odd) {
  const auto exact = static_cast<f64>(sum);
  const auto nearest = static_cast<f32>(exact);
  const f64 back = static_cast<f64>(nearest);
  u32 bits = std::bit_cast<u32>(nearest) - (std::fabs(back) > std::fabs(exact) ? 1u : 0u);
  bits |= odd && back != exact ? 1u : 0u;
  return std::bit_cast<f32>(bits);
}

// 16 lanes: four rows by the four columns of one parity. False when they need the exact definition.
VGPU_INLINE bool multiply_lanes(const f32 (*a)[64], const f32 (*b)[4], int products, const DotRule& rule, const f32* c, f32* d) {
  constexpr int kW = 16;
  s32 e[kW];
  for (int l = 0; l < kW; ++l) e[l] = 2 * kNoExponent;
  for (int k = 0; k < products; ++k) {
    s32 eb[kW];
    for (int l = 0; l < kW; ++l) eb[l] = exponent_of(b[k][l % 4], rule.min_exponent_b);
    for (int l = 0; l < kW; ++l) e[l] = std::max(e[l], exponent_of(a[k][l], rule.min_exponent_a) + eb[l]);
  }
  u32 bad = 0;
  f32 scale[kW], inverse[kW];
  s32 sum[kW];
  for (int l = 0; l < kW; ++l) {
    const s32 products_only = e[l], all = std::max(products_only, exponent_of(c[l], rule.min_exponent_c()));
    bad |= static_cast<u32>(all > kGreatestExponent);
    bad |= static_cast<u32>(all < kLeastExponent && all > kNoExponent / 2);
    const s32 clamped = std::max(all, kLeastExponent);
    scale[l] = std::bit_cast<f32>(static_cast<u32>(127 + rule.fraction_bits - clamped) << 23);
    inverse[l] = std::bit_cast<f32>(static_cast<u32>(127 - rule.fraction_bits + clamped) << 23);
    sum[l] = 0;
  }
  if (bad != 0) return false;
  for (int k = 0; k < products; ++k) {
    f32 bb[kW];
    for (int l = 0; l < kW; ++l) bb[l] = b[k][l % 4];
    for (int l = 0; l < kW; ++l) sum[l] += static_cast<s32>(a[k][l] * bb[l] * scale[l]);
  }
  u32 overflow = 0;
  for (int l = 0; l < kW; ++l) {
    const auto term = static_cast<s32>(c[l] * scale[l]);
    const auto total = static_cast<s32>(static_cast<u32>(sum[l]) + static_cast<u32>(term));
    overflow |= static_cast<u32>((total ^ sum[l]) & (total ^ term)) >> 31;
    sum[l] = total;
  }
  if (overflow != 0) return false;
  for (int l = 0; l < kW; ++l) d[l] = cut(sum[l], rule.half) * inverse[l];
  return true;
}

// Sixteen rows by the columns of the parities in `wanted` (bit 0 even, bit 1 odd); what a fast path cannot do goes to the definition, lane
// by lane.
VGPU_INLINE void multiply_plain(const RowsOfA& a, const ColumnsOfB& b, int products, const DotRule& rule, const f32* const c[4],
                                f32* const d[4], int wanted = 3) {
  for (int i = 0; i < 4; ++i)
    for (int half = 0; half < 2 && ((wanted >> (i % 2)) & 1) != 0; ++half) {
      const int first = 32 * (i / 2) + 16 * half;
      const f32(*rows)[64] = reinterpret_cast<const f32(*)[64]>(&a.value[0][first]);
      if (multiply_lanes(rows, b.value[i % 2], products, rule, c[i] + 16 * half, d[i] + 16 * half)) [[likely]]
        continue;
      for (int l = 0; l < 16; ++l) {
        f32 x[kMaxProducts], y[kMaxProducts];
        for (int k = 0; k < products; ++k) x[k] = rows[k][l], y[k] = b.value[i % 2][k][l % 4];
        d[i][16 * half + l] = fused_dot_add(x, y, products, c[i][16 * half + l], rule);
      }
    }
}

}  // namespace cutegen::vgpu
