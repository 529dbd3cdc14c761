// Reads of memory that nothing has written: buffers whose contents are undefined (Memory::mark_undefined), shared and local memory.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "vgpu/mem/written.h"
#include "vgpu/observe/check.h"
#include "vgpu/observe/checks/list.h"
#include "vgpu/observe/traits.h"

namespace cutegen::vgpu {
namespace {

constexpr CheckRecord kRecord{
    "uninitialised-memory",
    FaultKind::uninitialised,
    Checks::checked,
    "reads of global, shared or local memory before anything was written there",
    "a new allocation, shared memory and the stack hold whatever was there before: the result changes from run to run",
    "write the bytes first (zero the workspace, fill the tile's border), or do not read them",
};

// Written bytes of one CTA.
struct CtaBytes {
  CtaBytes(u64 shared_bytes, u64 local_bytes) : shared(shared_bytes), local(local_bytes) {}
  WrittenBytes shared, local;  // by shared address; by thread, then offset
};

// Whether all lanes touch consecutive elements.
bool contiguous(const MemoryEvent& e) {
  if (e.mask != ~0u) return false;
  u64 differs = 0;
  for (int i = 0; i < kLanes; ++i) differs |= e.addresses[i] ^ (e.addresses[0] + static_cast<u64>(i) * e.bytes);
  return differs == 0;
}

class Uninitialised : public Check {
 public:
  explicit Uninitialised(const CheckContext& c) : Check(c), memory_(c.memory), traits_(traits_of(c.image)) {
    for (const PcInfo& pc : c.image.pcs) every_instruction = every_instruction || pc.form->name.starts_with("vgpu.");
  }

  void cta_begin(const Cta& cta) override {
    const u64 threads = static_cast<const CtaState&>(cta).warps.size() * kLanes;
    ctas_.try_emplace(&cta, std::make_unique<CtaBytes>(cta.shared_end, threads * cta.local_bytes));
    last_cta_ = nullptr;
  }
  void cta_end(const Cta& cta) override {
    ctas_.erase(&cta);
    last_cta_ = nullptr;
  }

  // Calls copy their parameters within local memory, and printf writes its result there.
  void instruction(const Warp& w, const Inst& in, u32 mask) override {
    const std::string& name = image_.pcs[in.id].form->name;
    if (!name.starts_with("vgpu.")) return;
    if (name == "vgpu.join" || name == "vgpu.__assertfail" || in.count < 3) return;
    const u64 at = name == "vgpu.copy_local" ? in.op[0] : in.op[2], bytes = name == "vgpu.copy_local" ? in.op[2] : 4;
    if (at == kAbsent) return;
    for (u32 m = mask; m != 0; m &= m - 1) state(w.cta).local.set(local_base(w, static_cast<u32>(std::countr_zero(m))) + at, bytes);
  }

  void access(const MemoryEvent& e) override {
    switch (e.space) {
      case Space::global: return global(e);
      case Space::shared:
      case Space::shared_cluster: return shared(e, 0);
      case Space::local: return local(e, 0);
      case Space::generic: {
        const u64 window = e.addresses[std::countr_zero(e.mask)] >> kWindowBits << kWindowBits;
        if (window == kSharedWindow) return shared(e, kSharedWindow);
        if (window == kLocalWindow) return local(e, kLocalWindow);
        if (window != kParamWindow) global(e);
        return;
      }
      case Space::constant:
      case Space::param: return;
    }
  }

  void async_begin(const AsyncEvent& e) override { pending_.insert_or_assign(e.id, Pending{&e.warp, e.inst.id, e.lane}); }
  void async_range(u64 id, const AsyncRange& r) override {
    const auto p = pending_.find(id);
    if (p == pending_.end()) return;
    const Pending& op = p->second;
    if (r.space == Space::global)
      global_range(*op.warp, op.pc, op.lane, r.access, r.address, r.bytes);
    else if (r.cta != nullptr)
      shared_range(*op.warp, op.pc, op.lane, r.access, state(r.cta), *r.cta, r.address & 0xffffff, r.bytes, r.bytes);
  }
  void async_end(u64 id, const SyncObject&) override { pending_.erase(id); }

 private:
  struct Pending {
    const Warp* warp;
    u32 pc, lane;
  };

  CtaBytes& state(const Cta* cta) {
    if (cta != last_cta_) last_cta_ = cta, last_ = ctas_.at(cta).get();
    return *last_;
  }
  static u64 local_base(const Warp& w, u32 lane) { return (u64{w.index} * kLanes + lane) * w.cta->local_bytes; }

  void global(const MemoryEvent& e) {
    if (contiguous(e)) return global_range(e.warp, e.inst.id, 0, e.access, e.addresses[0], u64{e.bytes} * kLanes, e.bytes);
    for (u32 m = e.mask; m != 0; m &= m - 1) {
      const auto lane = static_cast<u32>(std::countr_zero(m));
      global_range(e.warp, e.inst.id, lane, e.access, e.addresses[lane], e.bytes);
    }
  }
  // `stride`: bytes of one lane when the range is a whole warp's.
  void global_range(const Warp& w, u32 pc, u32 lane, Access access, u64 address, u64 bytes, u32 stride = 0) {
    if (address < base_ || address + bytes > end_) {
      const Memory::Buffer* b = memory_.find(address);
      if (b == nullptr || b->freed || address + bytes > b->base + b->bytes) return;  // a fault, or a variable of the module
      base_ = b->base, end_ = b->base + b->bytes, written_ = b->written.get(), buffer_ = b;
    }
    if (written_ == nullptr) return;
    const u64 offset = address - base_;
    if (access != Access::store) {
      if (const u64 missing = written_->first_missing(offset, bytes); missing < offset + bytes) {
        if (stride != 0) lane = static_cast<u32>((missing - offset) / stride);
        log_.add(w, pc,
                 {&kRecord,
                  fmt::format("read of {} bytes at {:#x}: byte {} of '{}' ({} bytes) has never been written", stride != 0 ? stride : bytes,
                              base_ + missing, missing, buffer_->name, buffer_->bytes),
                  lane, base_ + missing, buffer_->name});
        written_->set(offset, bytes);  // once is enough
      }
    }
    if (access != Access::load) written_->set(offset, bytes);
  }

  void shared(const MemoryEvent& e, u64 window) {
    const InstTraits& t = traits_[e.inst.id];
    const Access access = t.mbarrier ? Access::store : e.access;  // another check looks after mbarriers
    const bool together = contiguous(e);                          // one range instead of 32
    const u32 first = e.mask & (~e.mask + 1), bytes = together ? e.bytes * kLanes : e.bytes;
    for (u32 m = together ? first : e.mask; m != 0; m &= m - 1) {
      const auto lane = static_cast<u32>(std::countr_zero(m));
      const u64 a = e.addresses[lane] - window, rank = a >> kRankShift, offset = a & ((1u << kRankShift) - 1);
      const Cta* cta = e.warp.cta;
      if (rank != 0) {
        if (rank - 1 >= cta->peers->size()) return;
        cta = (*cta->peers)[rank - 1];
      }
      shared_range(e.warp, e.inst.id, lane, access, state(cta), *cta, offset, bytes, e.bytes);
    }
  }
  // `stride`: bytes of one lane; `bytes` may be those of several that follow `lane`.
  void shared_range(const Warp& w, u32 pc, u32 lane, Access access, CtaBytes& state, const Cta& cta, u64 offset, u64 bytes, u64 stride) {
    if (offset < kSharedStart || offset + bytes > cta.shared_end) return;
    if (access != Access::store) {
      if (const u64 missing = state.shared.first_missing(offset, bytes); missing < offset + bytes) {
        lane += static_cast<u32>((missing - offset) / stride);
        log_.add(w, pc,
                 {&kRecord,
                  fmt::format("read of {} bytes at shared address {:#x}: byte {} of shared memory has never been written", stride,
                              offset + (missing - offset) / stride * stride, missing - kSharedStart),
                  lane, missing, "shared"});
        state.shared.set(offset, bytes);
      }
    }
    if (access != Access::load) state.shared.set(offset, bytes);
  }

  // Structures are copied with their padding, so a read must miss every byte.
  void local(const MemoryEvent& e, u64 window) {
    CtaBytes& bytes = state(e.warp.cta);
    for (u32 m = e.mask; m != 0; m &= m - 1) {
      const auto lane = static_cast<u32>(std::countr_zero(m));
      const u64 offset = e.addresses[lane] - window, at = local_base(e.warp, lane) + offset;
      if (offset + e.bytes > e.warp.cta->local_bytes) return;
      if (e.access != Access::store && unwritten(bytes.local, at, e.bytes)) {
        log_.add(e.warp, e.inst.id,
                 {&kRecord,
                  fmt::format("read of {} bytes at {:#x} of the thread's local memory, which have never been written", e.bytes, offset),
                  lane, offset, "local"});
        bytes.local.set(at, e.bytes);
      }
      if (e.access != Access::load) bytes.local.set(at, e.bytes);
    }
  }
  static bool unwritten(const WrittenBytes& w, u64 at, u32 bytes) {
    for (u32 i = 0; i < bytes; ++i)
      if (w.first_missing(at + i, 1) != at + i) return false;
    return true;
  }

  const Memory& memory_;
  std::vector<InstTraits> traits_;
  std::unordered_map<const Cta*, std::unique_ptr<CtaBytes>> ctas_;
  const Cta* last_cta_ = nullptr;
  CtaBytes* last_ = nullptr;
  std::unordered_map<u64, Pending> pending_;
  u64 base_ = 1, end_ = 1;  // of the buffer found last
  WrittenBytes* written_ = nullptr;
  const Memory::Buffer* buffer_ = nullptr;
};

std::unique_ptr<Observer> make(const CheckContext& c) {
  const bool own_memory = c.grid.shared_end > kSharedStart || c.image.info.local_bytes != 0;
  if (!own_memory && !c.memory.has_undefined()) return nullptr;
  return std::make_unique<Uninitialised>(c);
}

}  // namespace

CheckEntry uninitialised_check() { return {{&kRecord}, make}; }

}  // namespace cutegen::vgpu
