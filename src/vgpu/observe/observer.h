// Events of the machine. Counters, checks and traces are observers; instruction bodies know none of them, and without one nothing is paid.
#pragma once

#include "vgpu/isa/types.h"

namespace cutegen::vgpu {

struct Cta;
struct Warp;
struct Inst;

enum class Space : uint8_t { generic, global, shared, shared_cluster, local, constant, param };
const char* to_string(Space space);
enum class Access : uint8_t { load, store, atomic };

struct MemoryEvent {
  const Warp& warp;
  const Inst& inst;
  Space space;
  Access access;
  const u64* addresses;  // [32], guest addresses; only those in mask count
  u32 mask;
  u32 bytes;  // a lane
};

// All 32 lanes access elements one after the other.
struct RowEvent {
  const Warp& warp;
  const Inst& inst;
  Space space;  // global, generic (then a global address) or shared
  Access access;
  u64 address;  // of lane 0
  u32 bytes;    // a lane
};

// Something that threads synchronise through.
//
// Addresses (atomics, and loads and stores that are volatile, relaxed or stronger): every such load, and every atomic that returns a value,
// acquires its address. A store or atomic with .release or .acq_rel releases it; without, it does so once its thread has executed any
// membar or fence. That is weaker than PTX ISA 8.9 where it must be simple: a fence is not spent by the write that follows it, and an
// acquire needs no fence. So nothing that the model orders is missing, and some orders that it does not promise are believed.
// Groups (async_group): one object a lane (wgmma: a warp), kind and number; acquired by the lane that waits for the group.
struct SyncObject {
  enum class Kind : uint8_t { named_barrier, cluster_barrier, warp, mbarrier, async_group, address };
  Kind kind = Kind::warp;
  const Cta* cta = nullptr;  // whose barrier, warp or mbarrier; nullptr for an address in global memory
  u64 id = 0;                // barrier number; its phase; warp index; shared address of the mbarrier in `cta`; the group; address
};

// Contiguous bytes that an asynchronous operation reads or writes. A strided box is announced row by row.
struct AsyncRange {
  Access access = Access::load;
  Space space = Space::global;  // global or shared
  const Cta* cta = nullptr;     // of a shared range
  u64 address = 0;              // shared: without the CTA's rank
  u64 bytes = 0;
};

// An asynchronous operation: cp.async, a bulk or tensor copy, st.async, red.async, wgmma (its shared operands). It is announced when it
// takes effect, which is when it is issued unless LaunchOptions::late_async or random_schedule say otherwise; a multicast copy is one
// operation a CTA. cp.async also has its two access events (Inst::kind == Kind::async), as its requests go through the load-store unit.
struct AsyncEvent {
  u64 id = 0;  // of this operation within the launch's worker; async_range and async_end name it again
  const Warp& warp;
  const Inst& inst;
  u32 lane = 0;
  bool async_proxy = true;  // false: cp.async, which works in the generic proxy
};

class Observer {
 public:
  virtual ~Observer() = default;
  bool every_instruction = true;  // false: `instruction` need not be called
  bool asynchronous = true;       // false: the operands of wgmma need not be announced
  bool runs = false;              // true: wants executed() and predicated(), which cost far less
  // `count` instructions from `first` on, executed one after the other by the lanes in `mask`; some of those that have a guard by fewer:
  // predicated() has told which lanes were off. Not called for what came before a fault.
  virtual void executed(const Warp&, const Inst* /*first*/, u32 /*count*/, u32 /*mask*/) {}
  virtual void predicated(const Warp&, const Inst&, u32 /*off*/) {}
  virtual void instruction(const Warp& warp, const Inst& inst, u32 mask) = 0;  // before it executes; mask may be 0 when predicated off
  virtual void access(const MemoryEvent& event) = 0;                           // before it is checked
  // An access that is a row of elements comes here; who does not care which it is gets it as an access.
  virtual void row(const RowEvent& r) {
    u64 addresses[kLanes];
    for (u32 i = 0; i < kLanes; ++i) addresses[i] = r.address + u64{i} * r.bytes;
    access({r.warp, r.inst, r.space, r.access, addresses, ~0u, r.bytes});
  }
  virtual void branch(const Warp& warp, const Inst& inst, bool divergent) = 0;
  virtual void bulk(u64 bytes) = 0;  // an asynchronous copy

  virtual void cta_begin(const Cta&) {}
  virtual void cta_end(const Cta&) {}
  // What these lanes did before a release happens before what others do after an acquire of the same object that follows it.
  virtual void release(const Warp&, u32 /*mask*/, const SyncObject&) {}
  virtual void acquire(const Warp&, u32 /*mask*/, const SyncObject&) {}
  virtual void async_begin(const AsyncEvent&) {}
  virtual void async_range(u64 /*id*/, const AsyncRange&) {}  // after async_begin, before async_end
  // Its effects are released to the object: an mbarrier at once, a group when it is committed; cp.async to an mbarrier by
  // cp.async.mbarrier.arrive. An operation whose group is never committed has no end.
  virtual void async_end(u64 /*id*/, const SyncObject& /*completes_on*/) {}
};

}  // namespace cutegen::vgpu
