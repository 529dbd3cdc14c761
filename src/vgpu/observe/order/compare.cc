// Accesses against the last ones to the same bytes.
#include <fmt/format.h>

#include <algorithm>

#include "vgpu/observe/order/ordering.h"

namespace cutegen::vgpu {
namespace {

constexpr size_t kMaxReaders = 64;  // of one word; a counter of the whole grid has more, and the oldest are forgotten
constexpr u32 kOffsetMask = (1u << kRankShift) - 1;

std::string text(const Dim3& d) { return fmt::format("({},{},{})", d.x, d.y, d.z); }

}  // namespace

// False for what cannot race: constants, parameters, local memory, buffers that nothing may write; and for what will fault.
bool Ordering::locate(const Warp& w, Space space, u64 address, u64 bytes, Where& where) {
  if (space == Space::generic) {
    const u64 window = address >> kWindowBits << kWindowBits;
    if (window == kLocalWindow || window == kParamWindow) return false;
    space = window == kSharedWindow ? Space::shared_cluster : Space::global;
    if (window == kSharedWindow) address -= kSharedWindow;
  }
  if (space == Space::shared || space == Space::shared_cluster) {
    const u64 rank = address >> kRankShift, offset = address & kOffsetMask;
    const Cta* cta = w.cta;
    if (rank != 0) {
      if (rank - 1 >= cta->peers->size()) return false;
      cta = (*cta->peers)[rank - 1];
    }
    if (offset < kSharedStart || offset + bytes > cta->shared_end) return false;
    where = {&order(cta).shared, cta, nullptr, offset};
    return true;
  }
  if (space != Space::global) return false;
  const Memory::Buffer* b = last_buffer_;
  if (b == nullptr || address < b->base || address + bytes > b->base + b->bytes) {
    b = memory_.find(address);
    if (b == nullptr && module_ != nullptr) b = module_->find(address);
    if (b == nullptr || b->freed || address + bytes > b->base + b->bytes) return false;
    last_buffer_ = b;
  }
  if (!b->writable) return false;
  where = {&global_, nullptr, b, address};
  return true;
}

void Ordering::access(const MemoryEvent& e) {
  const InstTraits& t = traits_[e.inst.id];
  if (t.asynchronous || t.read_only || e.space == Space::local || e.space == Space::constant || e.space == Space::param) return;
  WarpOrder& w = order(e.warp);
  AccessInfo info{w.actor(), w.now(), e.inst.id, t.strong || (t.mbarrier && !t.mbarrier_init), false, false, e.access != Access::load};
  const Shadow* interned = nullptr;
  Agent agent{e.warp, info};
  agent.own_actor = w.actor(), agent.event = &e;
  const bool reads = e.access == Access::load, writes = !reads;
  for (u32 m = e.mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<u32>(std::countr_zero(m));
    Where where;
    if (!locate(e.warp, e.space, e.addresses[lane], e.bytes, where)) continue;
    if (interned != where.shadow) interned = where.shadow, agent.info = where.shadow->intern(info);
    const LaneGroup& g = w.group(lane);
    agent.lane = agent.own_lane = agent.reporter = lane;
    agent.known = g.known.get(), agent.fenced = g.fenced.get();
    touch(agent, where, e.bytes, reads, writes);
    if (t.mbarrier_init && where.cta != nullptr) {
      order(where.cta).mbarriers.erase(where.address);
      order(where.cta).initialised[where.address] = {info, lane, false};
    }
    if (t.strong) {
      synchronise(e, t, lane);
      info.time = w.now();  // a release moves time on
      interned = nullptr;
    }
  }
}

void Ordering::touch(const Agent& agent, const Where& where, u64 bytes, bool reads, bool writes) {
  if (where.shadow->full()) where.shadow->forget();
  where.shadow->each(where.address, bytes, [&](Cell& cell) {
    if (writes)
      write(agent, where, cell);
    else if (reads)
      read(agent, where, cell);
  });
}

bool Ordering::happened_before(const Agent& a, const AccessInfo& info, u32 lane) const {
  if (info.actor == a.own_actor && lane == a.own_lane) return true;
  if (info.actor == a.access.actor && lane == a.lane && info.time == a.access.time) return true;  // the same operation
  return a.known != nullptr && info.time <= a.known->time(info.actor, lane);
}

void Ordering::compare_with_readers(const Agent& agent, const Where& where, const Cell& cell, bool only_writes, bool later_writes) {
  const auto one = [&](u32 info, u32 lane) {
    const bool writes = where.shadow->info(info).writes;
    if (writes || !only_writes) compare(agent, where, access_ref(info, lane), writes, later_writes);
  };
  if ((cell.read & kList) != 0) {
    for (const Readers::Reader& r : where.shadow->list(cell.read).readers)
      for (u32 m = r.lanes; m != 0; m &= m - 1) one(r.info, static_cast<u32>(std::countr_zero(m)));
  } else if (cell.read != 0) {
    one(info_of(cell.read), lane_of(cell.read));
  }
}

void Ordering::read(const Agent& agent, const Where& where, Cell& cell) {
  if (cell.write != 0) compare(agent, where, cell.write, true, false);
  if (cell.read != 0 && !agent.access.strong) compare_with_readers(agent, where, cell, true, false);
  remember(agent, where, cell);
}

// Adds to the reads and synchronising accesses since the last ordinary write; those that happened before are covered by the new one.
void Ordering::remember(const Agent& agent, const Where& where, Cell& cell) {
  const AccessRef self = access_ref(agent.info, agent.lane);
  Shadow& shadow = *where.shadow;
  if (cell.read == self) return;
  const auto superseded = [&](u32 index, u32 lane) {
    const AccessInfo& info = shadow.info(index);
    return info.strong == agent.access.strong && info.writes <= agent.access.writes && happened_before(agent, info, lane);
  };
  if (cell.read == 0 || ((cell.read & kList) == 0 && superseded(info_of(cell.read), lane_of(cell.read)))) {
    cell.read = self;
    return;
  }
  if ((cell.read & kList) == 0) {
    const AccessRef first = cell.read;
    cell.read = shadow.new_list();
    shadow.list(cell.read).readers.push_back({info_of(first), 1u << lane_of(first)});
  }
  std::vector<Readers::Reader>& readers = shadow.list(cell.read).readers;
  for (Readers::Reader& r : readers)
    if (r.info == agent.info) {
      r.lanes |= 1u << agent.lane;
      return;
    }
  std::erase_if(readers, [&](const Readers::Reader& r) {
    for (u32 m = r.lanes; m != 0; m &= m - 1)
      if (!superseded(r.info, static_cast<u32>(std::countr_zero(m)))) return false;
    return true;
  });
  if (readers.size() >= kMaxReaders) readers.erase(readers.begin());
  readers.push_back({agent.info, 1u << agent.lane});
}

// A synchronising write does not race with its like, so it leaves the last ordinary write in place.
void Ordering::write(const Agent& agent, const Where& where, Cell& cell) {
  if (cell.write != 0) compare(agent, where, cell.write, true, true);
  if (cell.read != 0) compare_with_readers(agent, where, cell, false, true);
  if (agent.access.strong) return remember(agent, where, cell);
  if ((cell.read & kList) != 0) where.shadow->free_list(cell.read);
  cell.write = access_ref(agent.info, agent.lane);
  cell.read = 0;
}

void Ordering::compare(const Agent& agent, const Where& where, AccessRef ref, bool earlier_writes, bool later_writes) {
  const AccessInfo& earlier = where.shadow->info(info_of(ref));
  const u32 lane = lane_of(ref);
  if (happened_before(agent, earlier, lane)) {
    // Only the generic proxy's own writes need a fence before the asynchronous proxy looks at them.
    if (!agent.access.async_proxy || earlier.asynchronous || !earlier_writes || traits_[earlier.pc].mbarrier) return;
    if (agent.fenced != nullptr && earlier.time <= agent.fenced->time(earlier.actor, lane)) return;
    return report(agent, where, earlier, lane, earlier_writes, later_writes, true);
  }
  if (earlier.strong && agent.access.strong) return;
  if (shared_by_warpgroup(agent, earlier, lane)) return;
  if (earlier_writes && later_writes && writes_the_same(agent, where, earlier, lane)) return;
  report(agent, where, earlier, lane, earlier_writes, later_writes, false);
}

// wgmma starts when all four warps have come to it, so tiles that they fill with cp.async, each waiting for its own copies, need no other
// barrier (CuTe's wgmma_sm90 has none). The machine runs the warps one by one, so the clocks do not show it.
bool Ordering::shared_by_warpgroup(const Agent& agent, const AccessInfo& earlier, u32 lane) const {
  const auto is_product = [&](u32 pc) { return image_.pcs[pc].opcode.starts_with("wgmma"); };
  const auto is_copy = [&](const AccessInfo& a) { return a.asynchronous && !a.async_proxy; };
  const bool mixed = (is_product(earlier.pc) && is_copy(agent.access)) || (is_copy(earlier) && is_product(agent.access.pc));
  if (!mixed) return false;
  const Actor &a = actors_[earlier.actor], &b = actors_[agent.own_actor];
  const bool same_lane = a.warp == b.warp && lane == agent.own_lane && is_copy(earlier);
  return a.cta.x == b.cta.x && a.cta.y == b.cta.y && a.cta.z == b.cta.z && a.warp / 4 == b.warp / 4 && !same_lane;
}

// Two threads may both store the value that is there: that is untidy, but nobody can tell.
bool Ordering::writes_the_same(const Agent& agent, const Where& where, const AccessInfo& earlier, u32 earlier_lane) const {
  const MemoryEvent* e = agent.event;
  if (e == nullptr || earlier.asynchronous || e->access != Access::store || !image_.pcs[e->inst.id].opcode.starts_with("st.")) return false;
  const u32 elements = e->inst.count - 2u, size = e->bytes / elements;
  const auto value = [&](u32 lane, char* to) {
    for (u32 i = 0; i < elements; ++i) {
      const Ref r = e->inst.op[2 + i];
      if (size > 4)
        std::memcpy(to + i * size, e->warp.lanes<u64>(r) + lane, size);
      else
        std::memcpy(to + i * size, e->warp.lanes<u32>(r) + lane, size);
    }
  };
  char mine[16], other[16];
  value(agent.lane, mine);
  const bool same_instruction = earlier.actor == agent.access.actor && earlier.pc == agent.access.pc && earlier.time == agent.access.time &&
                                ((e->mask >> earlier_lane) & 1) != 0 && e->addresses[earlier_lane] == e->addresses[agent.lane];
  if (same_instruction) {
    value(earlier_lane, other);
    return std::memcmp(mine, other, e->bytes) == 0;
  }
  const char* there = where.cta != nullptr ? where.cta->shared + where.address : where.buffer->host + (where.address - where.buffer->base);
  return std::memcmp(mine, there, e->bytes) == 0;
}

PairSide Ordering::side(const AccessInfo& info, u32 lane, bool writes) const {
  const Actor& actor = actors_[info.actor];
  PairSide s;
  s.info = info;
  s.writes = writes;
  s.opcode = image_.pcs[info.pc].opcode;
  s.who = info.asynchronous ? fmt::format("warp {} of CTA {}", actor.warp, text(actor.cta))
                            : fmt::format("thread {} of CTA {}", text(thread_of(grid_.block, actor.warp, lane)), text(actor.cta));
  s.source = source_of(image_, info.pc);
  return s;
}

void Ordering::report(const Agent& agent, const Where& where, const AccessInfo& earlier, u32 lane, bool earlier_writes, bool later_writes,
                      bool ordered) {
  Pair p;
  p.ordered = ordered;
  p.earlier.info = earlier, p.earlier.writes = earlier_writes, p.earlier.opcode = image_.pcs[earlier.pc].opcode;
  p.later.info = agent.access, p.later.writes = later_writes, p.later.opcode = image_.pcs[agent.access.pc].opcode;
  const auto check = std::find_if(checks_.begin(), checks_.end(), [&](const PairCheck& c) { return c.claims(p); });
  if (check == checks_.end()) return;
  Seen& seen = seen_[{check->record, agent.access.pc, earlier.pc}];
  if (seen.count++ != 0) return;
  const Actor &a = actors_[earlier.actor], &b = actors_[agent.access.actor];
  const bool same_cta = a.cta.x == b.cta.x && a.cta.y == b.cta.y && a.cta.z == b.cta.z;
  p.reach = !same_cta            ? Pair::Reach::grid
            : a.warp != b.warp   ? Pair::Reach::cta
            : lane != agent.lane ? Pair::Reach::warp
                                 : Pair::Reach::lane;
  p.earlier = side(earlier, lane, earlier_writes);
  p.later = side(agent.access, agent.lane, later_writes);
  const u64 bytes = agent.event != nullptr ? agent.event->bytes : 4;
  if (where.cta != nullptr)
    p.place =
        fmt::format("{} bytes at shared address {:#x} (byte {} of shared memory)", bytes, where.address, where.address - kSharedStart);
  else
    p.place =
        fmt::format("{} bytes at {:#x} (byte {} of '{}')", bytes, where.address, where.address - where.buffer->base, where.buffer->name);
  log_.add(agent.warp, agent.access.pc,
           {check->record, check->describe(p), agent.reporter, where.address, where.cta != nullptr ? "shared" : where.buffer->name, 0,
            static_cast<s32>(earlier.pc)});
}

}  // namespace cutegen::vgpu
