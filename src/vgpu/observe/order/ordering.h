// Happens-before between all threads and asynchronous operations of a launch: vector clocks, and the last accesses to every word. It finds
// pairs of accesses that nothing orders; the checks in observe/checks/ say what such a pair is called.
#pragma once

#include <array>
#include <map>
#include <unordered_map>

#include "vgpu/observe/check.h"
#include "vgpu/observe/order/pair.h"
#include "vgpu/observe/order/shadow.h"
#include "vgpu/observe/order/warp_order.h"
#include "vgpu/observe/traits.h"

namespace cutegen::vgpu {

class Ordering : public Check {
 public:
  Ordering(const CheckContext& context, std::vector<PairCheck> checks);
  ~Ordering() override;
  void instruction(const Warp& w, const Inst& in, u32 mask) override;
  void access(const MemoryEvent& e) override;
  void cta_begin(const Cta& cta) override;
  void cta_end(const Cta& cta) override;
  void release(const Warp& w, u32 mask, const SyncObject& object) override;
  void acquire(const Warp& w, u32 mask, const SyncObject& object) override;
  void async_begin(const AsyncEvent& e) override;
  void async_range(u64 id, const AsyncRange& range) override;
  void async_end(u64 id, const SyncObject& object) override;

 private:
  struct Object {  // a barrier or a group of asynchronous operations
    Joint gathering;
    ClockRef known, fenced;  // of the last phase that has ended
    bool closed = false;
    u32 parity = 0;  // mbarrier: of the phase that `gathering` is about
  };
  struct Initialisation {
    AccessInfo info;
    u32 lane = 0;
    bool fenced = false;
  };
  struct CtaOrder {
    std::vector<WarpOrder> warps;
    Shadow shared;
    std::array<Object, 16> barriers;
    std::unordered_map<u64, Object> mbarriers;            // by shared address
    std::unordered_map<u64, Initialisation> initialised;  // mbarriers, by shared address
    std::unordered_map<u64, Object> cluster_barriers;     // by phase; in the CTA of rank 0
  };
  struct Actor {
    Dim3 cta;
    u32 warp = 0;
  };
  struct Operation {
    const Warp* warp = nullptr;
    u32 issuer = 0, lane = 0;  // actor and lane that started it
    u32 actor = 0, slot = 0, time = 0, pc = 0;
    bool async_proxy = false;
    ClockRef known, fenced;
  };
  struct Stream {  // operations of one kind of one warp
    u32 actor = 0, count = 0;
    std::array<u32, kLanes> by_lane = {};
  };
  // Who makes an access, and what it knows.
  struct Agent {
    const Warp& warp;
    const AccessInfo& access;
    u32 info = 0, lane = 0;           // of the shadow at hand; lane: of `access.actor`
    u32 own_actor = 0, own_lane = 0;  // whose program order it continues
    const Clock* known = nullptr;
    const Clock* fenced = nullptr;
    const MemoryEvent* event = nullptr;  // nullptr: an asynchronous operation
    u32 reporter = 0;                    // lane of `warp` that a finding names
  };
  struct Where {
    Shadow* shadow = nullptr;
    const Cta* cta = nullptr;                // of shared memory
    const Memory::Buffer* buffer = nullptr;  // of global memory
    u64 address = 0;                         // in the shadow
  };

  CtaOrder& order(const Cta* cta);
  WarpOrder& order(const Warp& w) { return order(w.cta).warps[w.index]; }
  bool locate(const Warp& w, Space space, u64 address, u64 bytes, Where& where);
  void touch(const Agent& agent, const Where& where, u64 bytes, bool reads, bool writes);
  void read(const Agent& agent, const Where& where, Cell& cell);
  void write(const Agent& agent, const Where& where, Cell& cell);
  void compare_with_readers(const Agent& agent, const Where& where, const Cell& cell, bool only_writes, bool later_writes);
  void remember(const Agent& agent, const Where& where, Cell& cell);
  bool happened_before(const Agent& agent, const AccessInfo& info, u32 lane) const;
  void compare(const Agent& agent, const Where& where, AccessRef earlier, bool earlier_writes, bool later_writes);
  bool shared_by_warpgroup(const Agent& agent, const AccessInfo& earlier, u32 lane) const;
  bool writes_the_same(const Agent& agent, const Where& where, const AccessInfo& earlier, u32 earlier_lane) const;
  void report(const Agent& agent, const Where& where, const AccessInfo& earlier, u32 lane, bool earlier_writes, bool later_writes,
              bool ordered);
  PairSide side(const AccessInfo& info, u32 lane, bool writes) const;

  void synchronise(const MemoryEvent& e, const InstTraits& t, u32 lane);
  void gather(const Warp& w, u32 mask, Object& object);
  void learn(const Warp& w, u32 mask, Object& object);
  void fence_initialisations(const Warp& w, u32 mask);
  void settle(Object& object, const Cta& cta, u64 address);
  Stream& stream(const Warp& w, u32 pc);

  const Memory& memory_;
  const Memory* module_;
  std::vector<InstTraits> traits_;
  std::vector<PairCheck> checks_;
  std::unordered_map<const Cta*, std::unique_ptr<CtaOrder>> ctas_;
  const Cta* last_cta_ = nullptr;
  CtaOrder* last_ = nullptr;
  std::vector<Actor> actors_;  // by number; 0 is nobody
  Shadow global_;
  const Memory::Buffer* last_buffer_ = nullptr;
  std::map<std::pair<u64, const Cta*>, Object> addresses_;  // synchronisation through memory; CTA: what only that CTA may rely on
  std::map<std::pair<u32, int>, Stream> streams_;           // by issuing warp and kind
  std::unordered_map<u64, Operation> operations_;           // started, not ended
  std::map<std::pair<const Cta*, u64>, Object> groups_;     // of asynchronous operations, until they are waited for
  Joint warp_joint_;
  struct Seen {
    u64 count = 0;
  };
  std::map<std::tuple<const CheckRecord*, u32, u32>, Seen> seen_;  // check, later pc, earlier pc
};

}  // namespace cutegen::vgpu
