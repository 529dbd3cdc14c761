#include "vgpu/isa/tensor_core.h"

#include "vgpu/isa/builder.h"
#include "vgpu/isa/elements.h"
#include "vgpu/isa/tensor_core_plain.h"

namespace cutegen::vgpu {
namespace {

// Toward zero, or to odd. Too large is infinity.
f32 cut_double(f64 x, bool odd) {
  const auto nearest = static_cast<f32>(x);
  const f64 back = static_cast<f64>(nearest);
  if (back == x) return nearest;
  if (std::fabs(x) >= 0x1p128) return nearest;
  const u32 bits = std::bit_cast<u32>(nearest) - (std::fabs(back) > std::fabs(x) ? 1u : 0u);
  const f32 result = std::bit_cast<f32>(bits | (odd ? 1u : 0u));
  return result == 0.0f ? 0.0f : result;
}

}  // namespace

f32 fused_dot_add(const f32* a, const f32* b, int products, f32 c, const DotRule& rule) {
  f64 unrounded = static_cast<f64>(c);  // only to find infinities and NaNs: no finite sum gets out of double's range
  s32 greatest = c == 0.0f ? -126 : exponent_of(c, rule.min_exponent_c());
  for (int k = 0; k < products; ++k) {
    unrounded += static_cast<f64>(a[k]) * static_cast<f64>(b[k]);
    greatest = std::max(greatest, exponent_of(a[k], rule.min_exponent_a) + exponent_of(b[k], rule.min_exponent_b));
  }
  if (unrounded != unrounded) return std::bit_cast<f32>(kNan32);
  if (std::isinf(unrounded)) return static_cast<f32>(unrounded);
  auto term = [&](f64 x) { return static_cast<s64>(std::ldexp(x, rule.fraction_bits - greatest)); };
  s64 sum = term(static_cast<f64>(c));
  for (int k = 0; k < products; ++k) sum += term(static_cast<f64>(a[k]) * static_cast<f64>(b[k]));
  return cut_double(std::ldexp(static_cast<f64>(sum), greatest - rule.fraction_bits), rule.half);
}

void TensorCorePortable::place_a(const u32* const quads[4], u32 keep, RowsOfA& a, int k, const DotRule&) {
  for (int j = 0; j < 8; ++j)
    for (int row = 0; row < 16; ++row)
      for (int t = 0; t < 4; ++t) a.value[k + j][4 * row + t] = std::bit_cast<f32>(quads[j / 4 * 2 + row / 8][row % 8 * 4 + j % 4] & keep);
}
void TensorCorePortable::place_b(const u32* const quads[2], u32 keep, ColumnsOfB& b, int k, const DotRule&) {
  for (int j = 0; j < 8; ++j)
    for (int n = 0; n < 8; ++n) b.value[n % 2][k + j][n / 2] = std::bit_cast<f32>(quads[j / 4][4 * n + j % 4] & keep);
}
void TensorCorePortable::place_halves(const char* const chunks[16], bool bf16, bool negative, ColumnsOfB& b, const DotRule&) {
  for (int n = 0; n < 8; ++n)
    for (int k = 0; k < 16; ++k) {
      u16 v = 0;
      std::memcpy(&v, chunks[2 * n + k / 8] + k % 8 * 2, 2);
      const f32 x = bf16 ? ElementBf16::get(v) : ElementF16::get(v);
      b.value[n % 2][k][n / 2] = negative ? -x : x;
    }
}
void TensorCorePortable::multiply(const RowsOfA& a, const ColumnsOfB& b, int products, const DotRule& rule, const f32* const c[4],
                                  f32* const d[4]) {
  multiply_plain(a, b, products, rule, c, d);
}
#if defined(__x86_64__) && !defined(__clang__)
VGPU_AVX2 void TensorCoreAvx2::multiply(const RowsOfA& a, const ColumnsOfB& b, int products, const DotRule& rule, const f32* const c[4],
                                        f32* const d[4]) {
  multiply_plain(a, b, products, rule, c, d);
}
#endif

}  // namespace cutegen::vgpu
