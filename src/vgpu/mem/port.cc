#include "vgpu/mem/port.h"

#include <fmt/format.h>

#include "vgpu/vgpu.h"

namespace cutegen::vgpu {
namespace {

constexpr const char* kAccessNames[] = {"read", "write", "atomic"};

[[noreturn]] void throw_fault(FaultKind kind, Access access, u64 bytes, u64 address, u32 lane, const std::string& what,
                              std::string buffer = {}, s64 distance = 0) {
  throw GuestFault{kind,
                   fmt::format("{} of {} bytes at {:#x} {}", kAccessNames[static_cast<int>(access)], bytes, address, what),
                   lane,
                   address,
                   std::move(buffer),
                   distance};
}

[[noreturn]] void outside_global(const Memory& memory, Access access, u64 bytes, u64 address, u32 lane) {
  const Memory::Buffer* b = memory.nearest(address);
  if (b == nullptr || address < (1ull << kWindowBits))
    throw_fault(FaultKind::out_of_bounds, access, bytes, address, lane, address < 4096 ? "is near the null pointer" : "is in no buffer");
  if (b->freed)
    throw_fault(FaultKind::use_after_free, access, bytes, address, lane, fmt::format("is in '{}', which has been freed", b->name), b->name);
  const auto distance = address < b->base ? -static_cast<s64>(b->base - address) : static_cast<s64>(address + bytes - b->base - b->bytes);
  std::string where;
  if (distance < 0)
    where = fmt::format("is {} bytes before the start of '{}' ({} bytes)", -distance, b->name, b->bytes);
  else if (address < b->base + b->bytes)
    where = fmt::format("reaches {} bytes past the end of '{}' ({} bytes)", distance, b->name, b->bytes);
  else
    where = fmt::format("is {} bytes past the end of '{}' ({} bytes)", address - b->base - b->bytes, b->name, b->bytes);
  throw_fault(FaultKind::out_of_bounds, access, bytes, address, lane, where, b->name, distance);
}

}  // namespace

const char* to_string(Space space) {
  constexpr const char* kNames[] = {"generic", "global", "shared", "shared::cluster", "local", "const", "param"};
  return kNames[static_cast<int>(space)];
}

char* Port::global_pointer(u64 address, u64 bytes, Access access, u32 lane, Region* region) {
  const bool in_module = module != nullptr && address >> (kWindowBits + 3) == kModuleBase >> (kWindowBits + 3);
  const Memory& owner = in_module ? *module : memory_;
  const Memory::Buffer* b = owner.find(address);
  if (b == nullptr || b->freed || address + bytes > b->base + b->bytes) outside_global(owner, access, bytes, address, lane);
  if (access != Access::load && !b->writable)
    throw_fault(FaultKind::read_only, access, bytes, address, lane, fmt::format("is in '{}', which is read-only", b->name), b->name);
  if (region != nullptr) *region = {b->base, b->base + b->bytes, b->host - b->base};
  return b->host + (address - b->base);
}

char* Port::shared_pointer(Warp& w, u64 address, u64 bytes, Access access, u32 lane, bool cluster) {
  const u64 rank = address >> kRankShift, offset = address & ((1u << kRankShift) - 1);
  const Cta* cta = w.cta;
  if (rank != 0) {
    if (!cluster)
      throw_fault(FaultKind::out_of_bounds, access, bytes, address, lane,
                  "is another CTA's shared memory, which .shared::cta cannot reach");
    if (rank - 1 >= cta->peers->size()) throw_fault(FaultKind::out_of_bounds, access, bytes, address, lane, "is in no CTA of the cluster");
    cta = (*cta->peers)[rank - 1];
  }
  if (offset < kSharedStart || offset + bytes > cta->shared_end) {
    const auto distance = static_cast<s64>(offset + bytes) - static_cast<s64>(cta->shared_end);
    throw_fault(FaultKind::out_of_bounds, access, bytes, address, lane,
                fmt::format("is outside shared memory ({} bytes from {:#x}; {} bytes past its end)", cta->shared_end - kSharedStart,
                            kSharedStart, distance),
                "shared", distance);
  }
  return cta->shared + offset;
}

char* Port::pointer(Warp& w, Space space, u64 address, u64 bytes, Access access, u32 lane, Region* region) {
  const u64 window = address >> kWindowBits << kWindowBits;
  switch (space) {
    case Space::generic:
      if (window == kSharedWindow) return shared_pointer(w, address - kSharedWindow, bytes, access, lane, true);
      if (window == kLocalWindow) return pointer(w, Space::local, address - kLocalWindow, bytes, access, lane, nullptr);
      if (window == kParamWindow) return pointer(w, Space::param, address - kParamWindow, bytes, access, lane, nullptr);
      return global_pointer(address, bytes, access, lane, region);
    case Space::global:
    case Space::constant: return global_pointer(address, bytes, access, lane, region);
    case Space::shared: return shared_pointer(w, address, bytes, access, lane, false);
    case Space::shared_cluster: return shared_pointer(w, address, bytes, access, lane, true);
    case Space::local:
      if (address + bytes > w.cta->local_bytes)
        throw_fault(FaultKind::out_of_bounds, access, bytes, address, lane,
                    fmt::format("is outside the thread's local memory ({} bytes)", w.cta->local_bytes), "local",
                    static_cast<s64>(address + bytes - w.cta->local_bytes));
      return w.cta->local + u64{w.index * kLanes + lane} * w.cta->local_bytes + address;
    case Space::param:
      if (address + bytes > param_bytes || access != Access::load)
        throw_fault(access == Access::load ? FaultKind::out_of_bounds : FaultKind::read_only, access, bytes, address, lane,
                    fmt::format("of the kernel's parameters ({} bytes)", param_bytes), "parameters");
      return const_cast<char*>(params) + address;  // read-only by the check above
  }
  return nullptr;
}

SyncObject Port::object_at(const Warp& w, SyncObject::Kind kind, u64 address) {
  if (address >> kWindowBits << kWindowBits == kSharedWindow) address -= kSharedWindow;
  if (address >> kWindowBits != 0) return {kind, nullptr, address};
  const u64 rank = address >> kRankShift;
  const Cta* cta = rank == 0 || rank > w.cta->peers->size() ? w.cta : (*w.cta->peers)[rank - 1];
  return {kind, cta, address & ((1u << kRankShift) - 1)};
}

Resolved Port::resolve_any(Warp& w, const Inst& in, Space space, u64* ea, u32 mask, u32 bytes, Access access) {
  switch (space) {
    case Space::generic: return resolve<Space::generic>(w, in, ea, mask, bytes, access);
    case Space::global:
    case Space::constant: return resolve<Space::global>(w, in, ea, mask, bytes, access);
    case Space::shared: return resolve<Space::shared>(w, in, ea, mask, bytes, access);
    case Space::shared_cluster: return resolve<Space::shared_cluster>(w, in, ea, mask, bytes, access);
    case Space::local: return resolve<Space::local>(w, in, ea, mask, bytes, access);
    case Space::param: return resolve<Space::param>(w, in, ea, mask, bytes, access);
  }
  return {nullptr, ea};
}

char* Port::at(Warp& w, Space space, u64 address, u64 bytes, u32 align, Access access, u32 lane) {
  if ((address & (align - 1)) != 0)
    throw_fault(FaultKind::misaligned, access, bytes, address, lane,
                fmt::format("in {} memory is not aligned to {}", to_string(space), align));
  return pointer(w, space, address, bytes, access, lane, nullptr);
}

Resolved Port::slow(Warp& w, const Inst& in, Space space, const u64* ea, u32 mask, u32 bytes, Access access) {
  Region region, first;
  bool one_region = true, seen = false;
  for (u32 lane = 0; lane < kLanes; ++lane) {
    if (((mask >> lane) & 1) == 0) continue;
    Region r;
    pointers_[lane] = reinterpret_cast<u64>(pointer(w, space, ea[lane], bytes, access, lane, &r));
    if ((ea[lane] & (bytes - 1)) != 0)
      throw_fault(FaultKind::misaligned, access, bytes, ea[lane], lane,
                  fmt::format("in {} memory is not aligned to {}", to_string(space), bytes));
    if (!seen) first = r, seen = true;
    one_region = one_region && r.end != 1 && r.base == first.base;
    region = r;
  }
  if (one_region && seen) {
    cache_[in.id] = region;
    return {region.delta, ea};
  }
  return {nullptr, pointers_};
}

}  // namespace cutegen::vgpu
