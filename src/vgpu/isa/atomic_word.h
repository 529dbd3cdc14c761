// Read, modify, write of one element of guest memory, atomic for all host threads.
#pragma once

#include "vgpu/isa/numerics.h"

namespace cutegen::vgpu {

// `update` maps the old value to the new one. Returns the old one.
template <class E, class F>
VGPU_INLINE E swap_in(char* p, F update) {
  using Bits = std::conditional_t<sizeof(E) == 2, u16, std::conditional_t<sizeof(E) == 4, u32, u64>>;
  auto* word = reinterpret_cast<Bits*>(p);
  Bits old = __atomic_load_n(word, __ATOMIC_ACQUIRE);
  for (;;) {
    const E next = update(std::bit_cast<E>(old));
    if (__atomic_compare_exchange_n(word, &old, std::bit_cast<Bits>(next), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      return std::bit_cast<E>(old);
  }
}

// Half precision sums are exact in single precision before they are rounded once.
VGPU_INLINE f16 add_half(f16 a, f16 b) { return to_f16(to_f32(a) + to_f32(b)); }
VGPU_INLINE bf16 add_half(bf16 a, bf16 b) { return to_bf16(to_f32(a) + to_f32(b)); }
// The lesser or greater; a NaN loses against a number, -0 is less than +0.
template <class H, bool Greater>
VGPU_INLINE H pick_half(H a, H b) {
  const f32 x = to_f32(a), y = to_f32(b);
  if (x != x) return y != y ? H{0x7fff} : b;
  if (y != y) return a;
  if (x == y) return ((a.bits & 0x8000) != 0) != Greater ? a : b;
  return (x < y) != Greater ? a : b;
}

}  // namespace cutegen::vgpu
