// The way from an instruction body to memory: address spaces, bounds, alignment. A body asks for its lanes' addresses to be resolved and
// then reads or writes host memory; what is out of bounds never gets that far.
#pragma once

#include <vector>

#include "vgpu/isa/numerics.h"
#include "vgpu/isa/warp.h"
#include "vgpu/mem/fault.h"
#include "vgpu/observe/observer.h"

namespace cutegen::vgpu {

class Memory;

// Windows of the generic address space. Global buffers start at 2^44.
inline constexpr u64 kSharedWindow = 0x0100'0000'0000;
inline constexpr u64 kLocalWindow = 0x0200'0000'0000;
inline constexpr u64 kParamWindow = 0x0300'0000'0000;
inline constexpr u64 kModuleBase = 0x0800'0000'0000;  // .global and .const variables
inline constexpr u32 kWindowBits = 40;
// Shared addresses start at 1 KB, as on sm_90, where the first 1024 bytes are the system's. Bits 24.. hold 1 + the CTA's rank in the
// cluster, or 0 for the own CTA.
inline constexpr u32 kSharedStart = 1024;
inline constexpr u32 kRankShift = 24;

struct Cluster;

// The memory of one CTA.
struct Cta {
  char* shared = nullptr;  // host address of shared address 0; bytes below kSharedStart are not there
  u32 shared_end = 0;      // first shared address that does not exist
  char* local = nullptr;   // local_bytes a thread, thread by thread
  u32 local_bytes = 0;
  u32 rank = 0;  // in its cluster
  Cluster* cluster = nullptr;
  std::vector<Cta*>* peers = nullptr;  // CTAs of the cluster by rank
};

// lane i is at host address delta + ea[i]
struct Resolved {
  char* delta;
  const u64* ea;
};

class Port {
 public:
  struct Region {
    u64 base = 1, end = 1;
    char* delta = nullptr;  // host minus device address
    u64 last = 0;           // lowest address of the last access: grid-stride loops leave the host's prefetchers behind
  };
  Port(const Memory& memory, size_t code_size) : memory_(memory), cache_(code_size) {}

  // Addresses of an operand pair (base, offset).
  VGPU_INLINE static void addresses(const Warp& w, const Inst& in, int operand, u64* ea) {
    const Ref base = in.op[operand];
    const auto offset = static_cast<s64>(static_cast<s32>(in.op[operand + 1]));
    if (base & kNotRef) {  // a 32-bit register
      const u32* a = w.lanes<u32>(base);
      for (int i = 0; i < kLanes; ++i) ea[i] = static_cast<u32>(a[i] + static_cast<u32>(offset));
    } else {
      const u64* a = w.lanes<u64>(base);
      for (int i = 0; i < kLanes; ++i) ea[i] = a[i] + static_cast<u64>(offset);
    }
  }

  // Host address of lane 0's element when all 32 lanes access elements one after the other, which lie where the instruction's last ones
  // lay, in bounds and aligned; nullptr when it is not as simple as that, and nothing has been announced.
  template <Space S>
  VGPU_INLINE char* row(Warp& w, const Inst& in, int operand, u32 bytes, Access access) {
    const Ref base = in.op[operand];
    const auto offset = static_cast<s64>(static_cast<s32>(in.op[operand + 1]));
    u64 first = 0;
    if (base & kNotRef) {
      const u32* a = w.lanes<u32>(base);
      u32 differs = 0;
      for (int i = 0; i < kLanes; ++i) differs |= a[i] ^ (a[0] + static_cast<u32>(i) * bytes);
      if (differs != 0) return nullptr;
      first = static_cast<u32>(a[0] + static_cast<u32>(offset));
    } else {
      const u64* a = w.lanes<u64>(base);
      u64 differs = 0;
      for (int i = 0; i < kLanes; ++i) differs |= a[i] ^ (a[0] + static_cast<u64>(i) * bytes);
      if (differs != 0) return nullptr;
      first = a[0] + static_cast<u64>(offset);
    }
    char* host = nullptr;
    if ((first & (bytes - 1)) != 0) return nullptr;
    if constexpr (S == Space::shared || S == Space::shared_cluster) {
      if (first < kSharedStart || !fits(first, kLanes * bytes, w.cta->shared_end)) return nullptr;
      host = w.cta->shared + first;
    } else {
      Region& r = cache_[in.id];
      if (first < r.base || !fits(first, kLanes * bytes, r.end)) return nullptr;
      if (access == Access::load) prefetch(r, first);
      host = r.delta + first;
    }
    if (observer) [[unlikely]]
      observer->row({w, in, S, access, first, bytes});
    return host;
  }

  // Bounds and alignment of `bytes` (a power of two up to 16) at each lane's address. Throws GuestFault.
  template <Space S>
  VGPU_INLINE Resolved resolve(Warp& w, const Inst& in, u64* ea, u32 mask, u32 bytes, Access access) {
    u64 lo = ~0ull, hi = 0, low_bits = 0;
    if (mask == ~0u) {
      for (int i = 0; i < kLanes; ++i) lo = ea[i] < lo ? ea[i] : lo, hi = ea[i] > hi ? ea[i] : hi, low_bits |= ea[i];
    } else {
      for (int i = 0; i < kLanes; ++i) {
        const bool on = (mask >> i) & 1;
        const u64 down = on ? ea[i] : ~0ull, up = on ? ea[i] : 0;
        lo = down < lo ? down : lo, hi = up > hi ? up : hi, low_bits |= up;
      }
    }
    if (observer) [[unlikely]]
      observer->access({w, in, S, access, ea, mask, bytes});
    const bool aligned = (low_bits & (bytes - 1)) == 0;
    if constexpr (S == Space::shared || S == Space::shared_cluster) {
      if (lo >= kSharedStart && fits(hi, bytes, w.cta->shared_end) && aligned) [[likely]]
        return {w.cta->shared, ea};
    } else if constexpr (S == Space::global || S == Space::generic || S == Space::constant) {
      Region& r = cache_[in.id];
      if (lo >= r.base && fits(hi, bytes, r.end) && aligned) [[likely]] {
        if (access == Access::load) prefetch(r, lo);
        return {r.delta, ea};
      }
      if constexpr (S == Space::generic)
        if (lo >= kSharedWindow + kSharedStart && fits(hi, bytes, kSharedWindow + w.cta->shared_end) && aligned)
          return {w.cta->shared - kSharedWindow, ea};
    }
    return slow(w, in, S, ea, mask, bytes, access);
  }

  // The same, out of line, for bodies that are not worth a copy of it.
  Resolved resolve_any(Warp& w, const Inst& in, Space space, u64* ea, u32 mask, u32 bytes, Access access);

  // Host address of `bytes` contiguous bytes at one address, for copies by one thread. Throws GuestFault.
  char* at(Warp& w, Space space, u64 address, u64 bytes, u32 align, Access access, u32 lane);

  [[noreturn]] void fault(FaultKind kind, std::string message, u32 lane) const {
    throw GuestFault{kind, std::move(message), lane, 0, {}, 0};
  }

  // The synchronisation object at a shared or generic address: in its own CTA's shared memory, or in global memory.
  static SyncObject object_at(const Warp& w, SyncObject::Kind kind, u64 address);

  Observer* observer = nullptr;
  struct Issued {
    u64 id;
    u32 lane;
  };
  u64 operations = 0;            // asynchronous ones announced so far: the last AsyncEvent::id
  std::vector<Issued> issued;    // those of the running instruction that complete with a group
  const char* params = nullptr;  // the kernel's packed arguments
  u32 param_bytes = 0;
  const Memory* module = nullptr;  // the program's own variables, nullptr when it has none
  u64 instructions = 0;            // executed so far by this worker
  std::string* output = nullptr;   // printf
  u32 clock = 0;

 private:
  VGPU_INLINE static bool fits(u64 last, u32 bytes, u64 end) { return last < end && end - last >= bytes; }
  // Four iterations ahead of a loop with a constant stride. A wrong guess costs nothing: prefetches do not fault.
  VGPU_INLINE static void prefetch(Region& r, u64 lo) {
    const u64 ahead = lo + 4 * (lo - r.last);
    r.last = lo;
    const auto host = reinterpret_cast<uintptr_t>(r.delta) + ahead;
    __builtin_prefetch(reinterpret_cast<const void*>(host));
    __builtin_prefetch(reinterpret_cast<const void*>(host + 64));
  }
  [[gnu::noinline]] Resolved slow(Warp& w, const Inst& in, Space space, const u64* ea, u32 mask, u32 bytes, Access access);
  char* pointer(Warp& w, Space space, u64 address, u64 bytes, Access access, u32 lane, Region* region);
  char* global_pointer(u64 address, u64 bytes, Access access, u32 lane, Region* region);
  char* shared_pointer(Warp& w, u64 address, u64 bytes, Access access, u32 lane, bool cluster);
  const Memory& memory_;
  std::vector<Region> cache_;  // by pc: the buffer that the instruction touched last, checked for its kind of access
  alignas(64) u64 pointers_[kLanes] = {};
};

}  // namespace cutegen::vgpu
