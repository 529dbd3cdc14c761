// What an instruction body sees of the machine: registers, addresses, memory. Nothing here checks races or counts.
#pragma once

#include "vgpu/isa/form.h"
#include "vgpu/isa/types.h"

namespace cutegen::vgpu {

struct Cta;  // exec/cta.h
class Port;  // mem/port.h: the way to memory

struct Warp {
  char* base[2] = {nullptr, nullptr};  // registers of this warp; constants, shared and read-only
  Cta* cta = nullptr;
  Port* port = nullptr;
  u32 valid = 0;   // lanes that exist
  u32 exited = 0;  // lanes that have ended
  u32 carry = 0;   // CC.CF, one bit a lane
  u32 index = 0;   // within its CTA
  u32 pc = 0;
  u32 fenced = 0;  // lanes that have executed a fence

  u32 live() const { return valid & ~exited; }

  template <class S>
  [[gnu::always_inline]] S* lanes(Ref ref) const {
    return reinterpret_cast<S*>(base[ref >> 31] + (ref & (kNotRef - 1)));
  }
  [[gnu::always_inline]] u32 predicate(Ref ref) const {
    const u32 bits = *lanes<u32>(ref);
    return ref & kNotRef ? ~bits : bits;
  }
  [[gnu::always_inline]] void set_predicate(Ref ref, u32 bits, u32 mask) const {
    if (ref == kAbsent) return;
    u32* p = lanes<u32>(ref);
    *p = (*p & ~mask) | (bits & mask);
  }
};

// Writes `r` to the lanes in `mask`.
template <class S>
[[gnu::always_inline]] inline void write_lanes(S* d, const S* r, u32 mask) {
  if (mask == ~0u) {
    std::memcpy(d, r, sizeof(S) * kLanes);
  } else {
    for (int i = 0; i < kLanes; ++i) d[i] = (mask >> i) & 1 ? r[i] : d[i];
  }
}

// One byte (0 or 1) a lane to one bit a lane.
[[gnu::always_inline]] inline u32 pack_bits(const u8* bytes) {
  u32 bits = 0;
  for (int i = 0; i < 4; ++i) {
    u64 chunk = 0;
    std::memcpy(&chunk, bytes + 8 * i, 8);
    bits |= static_cast<u32>((chunk * 0x0102040810204080ull) >> 56) << (8 * i);
  }
  return bits;
}

}  // namespace cutegen::vgpu
