// Elements of the tensor cores' operands: how their bits become single precision, exactly.
#pragma once

#include "vgpu/isa/numerics.h"

namespace cutegen::vgpu {

struct ElementTf32 {  // 10 bits of mantissa; the low 13 bits are ignored
  static constexpr const char* name = "tf32";
  static constexpr int bytes = 4, min_exponent = -126;
  VGPU_INLINE static f32 get(u32 v) { return std::bit_cast<f32>(v & ~0x1fffu); }
};
struct ElementF16 {
  static constexpr const char* name = "f16";
  static constexpr int bytes = 2, min_exponent = -14;
  VGPU_INLINE static f32 get(u32 v) { return to_f32(f16{static_cast<u16>(v)}); }
};
struct ElementBf16 {
  static constexpr const char* name = "bf16";
  static constexpr int bytes = 2, min_exponent = -126;
  VGPU_INLINE static f32 get(u32 v) { return to_f32(bf16{static_cast<u16>(v)}); }
};
struct ElementE4m3 {  // 1.4.3, bias 7, no infinities: an f16 with its exponent 8 too small
  static constexpr const char* name = "e4m3";
  static constexpr int bytes = 1, min_exponent = -6;
  VGPU_INLINE static f32 get(u32 v) {
    const f32 x = to_f32(f16{static_cast<u16>((v & 0x80u) << 8 | (v & 0x7fu) << 7)}) * 256.0f;
    return (v & 0x7f) == 0x7f ? std::bit_cast<f32>(kNan32) : x;
  }
};
struct ElementE5m2 {
  static constexpr const char* name = "e5m2";
  static constexpr int bytes = 1, min_exponent = -14;
  VGPU_INLINE static f32 get(u32 v) { return to_f32(f16{static_cast<u16>(v << 8)}); }
};

// A sum that tensor_core.h left for a second rounding. One that rounds to zero is +0, whatever its sign was.
VGPU_INLINE f16 sum_to_f16(f32 x) {
  const f16 h = to_f16(x);
  return f16{static_cast<u16>((h.bits & 0x7fffu) == 0 ? 0 : h.bits)};
}

// Element i of a 32-bit register, lowest first.
template <class E>
VGPU_INLINE f32 element(u32 reg, int i) {
  if constexpr (E::bytes == 4)
    return E::get(reg);
  else
    return E::get((reg >> (8 * E::bytes * i)) & ((1u << (8 * E::bytes)) - 1));
}

}  // namespace cutegen::vgpu
