// Events of the machine to clocks; accesses are compared in compare.cc.
#include "vgpu/observe/order/ordering.h"

#include "vgpu/isa/mbarrier_word.h"

namespace cutegen::vgpu {
namespace {

// Operations of one kind by one warp are a stream. Those of cp.async end in order for each lane.
constexpr int kWgmma = 0;
int kind_of(std::string_view opcode) {
  if (opcode.starts_with("wgmma")) return kWgmma;
  if (opcode.starts_with("cp.async.bulk") || opcode.starts_with("cp.reduce")) return 1;
  if (opcode.starts_with("cp.async")) return 2;
  return 3;
}

}  // namespace

Ordering::Ordering(const CheckContext& c, std::vector<PairCheck> checks)
    : Check(c), memory_(c.memory), module_(c.module), traits_(traits_of(c.image)), checks_(std::move(checks)), actors_(1) {
  for (const InstTraits& t : traits_) every_instruction = every_instruction || t.fence || t.proxy_fence || t.init_fence;
}

Ordering::~Ordering() {
  for (const auto& [key, seen] : seen_) log_.more(*std::get<0>(key), std::get<1>(key), static_cast<s32>(std::get<2>(key)), seen.count - 1);
}

Ordering::CtaOrder& Ordering::order(const Cta* cta) {
  if (cta != last_cta_) last_cta_ = cta, last_ = ctas_.at(cta).get();
  return *last_;
}

void Ordering::cta_begin(const Cta& cta) {
  const auto& state = static_cast<const CtaState&>(cta);
  auto fresh = std::make_unique<CtaOrder>();
  for (const WarpState& w : state.warps) {
    fresh->warps.emplace_back(static_cast<u32>(actors_.size()), ~0u);
    actors_.push_back({state.id, w.index});
  }
  ctas_.insert_or_assign(&cta, std::move(fresh));
  last_cta_ = nullptr;
}

void Ordering::cta_end(const Cta& cta) {
  for (const WarpOrder& w : order(&cta).warps)
    streams_.erase(streams_.lower_bound({w.actor(), 0}), streams_.lower_bound({w.actor() + 1, 0}));
  ctas_.erase(&cta);
  std::erase_if(addresses_, [&](const auto& a) { return a.first.second == &cta; });
  std::erase_if(groups_, [&](const auto& g) { return g.first.first == &cta; });
  std::erase_if(operations_, [&](const auto& o) { return o.second.warp->cta == &cta; });
  last_cta_ = nullptr;
  if (global_.full()) global_.forget();
}

void Ordering::instruction(const Warp& w, const Inst& in, u32 mask) {
  const InstTraits& t = traits_[in.id];
  if (mask == 0) return;
  if (t.fence || t.init_fence) order(w).fence(mask, t.fence && t.scope == Scope::cta);  // the latter orders more here than it says
  if (t.proxy_fence) order(w).proxy_fence(mask);
  if (t.proxy_fence || t.init_fence) fence_initialisations(w, mask);
}

// Of mbarriers, by the lanes that made them or after them.
void Ordering::fence_initialisations(const Warp& w, u32 mask) {
  const WarpOrder& own = order(w);
  for (auto& [address, i] : order(w.cta).initialised) {
    for (u32 m = mask; m != 0 && !i.fenced; m &= m - 1) {
      const auto lane = static_cast<u32>(std::countr_zero(m));
      const ClockRef& known = own.group(lane).known;
      i.fenced = (i.info.actor == own.actor() && i.lane == lane) || (known != nullptr && i.info.time <= known->time(i.info.actor, i.lane));
    }
  }
}

void Ordering::gather(const Warp& w, u32 mask, Object& object) {
  if (object.closed) object.gathering.clear(), object.closed = false;
  order(w).publish(mask, object.gathering);
}

void Ordering::learn(const Warp& w, u32 mask, Object& object) {
  if (!object.closed) {
    object.known = std::make_shared<Clock>(object.gathering.known);
    object.fenced = object.gathering.fenced.empty() ? nullptr : std::make_shared<Clock>(object.gathering.fenced);
    object.closed = true;
  }
  order(w).learn(mask, object.known, object.fenced);
}

// Arrivals belong to a phase; the parity in memory tells when it has ended.
void Ordering::settle(Object& o, const Cta& cta, u64 address) {
  u64 word = 0;
  std::memcpy(&word, cta.shared + address, 8);
  const u32 parity = Mbarrier(word).parity();
  if (parity == o.parity) return;
  o.parity = parity;
  o.known = joined(o.known, std::make_shared<Clock>(o.gathering.known));
  o.fenced = joined(o.fenced, std::make_shared<Clock>(o.gathering.fenced));
  o.gathering.clear();
}

void Ordering::release(const Warp& w, u32 mask, const SyncObject& s) {
  switch (s.kind) {
    case SyncObject::Kind::named_barrier: return gather(w, mask, order(s.cta).barriers[s.id]);
    case SyncObject::Kind::cluster_barrier:
      if (traits_[w.pc].cluster_arrive_relaxed) {
        bool cta_only = false;  // lanes that executed a fence before still release what came before it
        order(w).publish_marks(mask, order(s.cta).cluster_barriers[s.id].gathering, cta_only);
      } else {
        gather(w, mask, order(s.cta).cluster_barriers[s.id]);
        fence_initialisations(w, mask);
      }
      if (s.id > 2) order(s.cta).cluster_barriers.erase(s.id - 2);
      return;
    case SyncObject::Kind::warp:
      warp_joint_.clear();
      if (traits_[w.pc].warp_barrier) order(w).publish(mask, warp_joint_);
      return;
    case SyncObject::Kind::mbarrier: {
      Object& o = order(s.cta).mbarriers[s.id];
      order(w).publish(mask, o.gathering);
      return settle(o, *s.cta, s.id);
    }
    case SyncObject::Kind::async_group:
    case SyncObject::Kind::address: return;  // accesses tell
  }
}

void Ordering::acquire(const Warp& w, u32 mask, const SyncObject& s) {
  switch (s.kind) {
    case SyncObject::Kind::named_barrier: return learn(w, mask, order(s.cta).barriers[s.id]);
    case SyncObject::Kind::cluster_barrier: return learn(w, mask, order(s.cta).cluster_barriers[s.id]);
    case SyncObject::Kind::warp:
      if (traits_[w.pc].warp_barrier)
        order(w).learn(mask, std::make_shared<Clock>(warp_joint_.known),
                       warp_joint_.fenced.empty() ? nullptr : std::make_shared<Clock>(warp_joint_.fenced));
      return;
    case SyncObject::Kind::mbarrier: {
      Object& o = order(s.cta).mbarriers[s.id];
      settle(o, *s.cta, s.id);
      return order(w).learn(mask, o.known, o.fenced);
    }
    case SyncObject::Kind::async_group:
      if (const auto g = groups_.find({s.cta, s.id}); g != groups_.end()) {
        learn(w, mask, g->second);
        groups_.erase(g);
      }
      return;
    case SyncObject::Kind::address: return;
  }
}

// Order through memory: a store or atomic after a fence (or with .release) publishes; a load or atomic before a fence (or with .acquire)
// learns. What a fence or access of CTA scope publishes counts within its CTA only.
void Ordering::synchronise(const MemoryEvent& e, const InstTraits& t, u32 lane) {
  const u64 address = e.addresses[lane];
  const u32 bit = 1u << lane;
  WarpOrder& w = order(e.warp);
  const bool loads = e.access != Access::store, stores = e.access != Access::load, cta_only = t.scope == Scope::cta;
  if (loads && !addresses_.empty()) {
    for (const Cta* scope : {static_cast<const Cta*>(nullptr), static_cast<const Cta*>(e.warp.cta)}) {
      if (scope == nullptr && cta_only) continue;
      const auto found = addresses_.find({address, scope});
      if (found == addresses_.end()) continue;
      const Object& o = found->second;
      t.acquires ? w.learn(bit, o.known, o.fenced) : w.learn_later(bit, o.known, o.fenced);
    }
  }
  if (!stores) return;
  Joint published;
  bool narrow = cta_only;
  if (t.releases)
    w.publish(bit, published);
  else if (!w.publish_marks(bit, published, narrow))
    return;
  narrow = narrow || cta_only;
  const auto known = std::make_shared<Clock>(std::move(published.known)), fenced = std::make_shared<Clock>(std::move(published.fenced));
  for (const Cta* scope : {static_cast<const Cta*>(nullptr), static_cast<const Cta*>(e.warp.cta)}) {
    if (scope == nullptr && narrow) continue;
    Object& o = addresses_[{address, scope}];
    const bool adds = e.access == Access::atomic;
    o.known = adds ? joined(o.known, known) : known;
    o.fenced = adds ? joined(o.fenced, fenced) : fenced;
  }
}

Ordering::Stream& Ordering::stream(const Warp& w, u32 pc) {
  const int kind = kind_of(image_.pcs[pc].opcode);
  Stream& s = streams_[{order(w).actor(), kind}];
  if (s.actor != 0) return s;
  // wgmma is one operation of four warps: who waits for its own part has waited for all.
  const u32 leader = kind == kWgmma ? w.index / 4 * 4 : w.index;
  Stream& first = streams_[{order(w.cta).warps[leader].actor(), kind}];
  if (first.actor == 0) {
    first.actor = static_cast<u32>(actors_.size());
    actors_.push_back({static_cast<const CtaState&>(*w.cta).id, leader});
  }
  s.actor = first.actor;
  return s;
}

void Ordering::async_begin(const AsyncEvent& e) {
  Stream& s = stream(e.warp, e.inst.id);
  WarpOrder& w = order(e.warp);
  const LaneGroup& g = w.group(e.lane);
  Operation op;
  op.warp = &e.warp;
  op.issuer = w.actor(), op.lane = e.lane, op.actor = s.actor, op.pc = e.inst.id, op.async_proxy = e.async_proxy;
  op.slot = e.async_proxy ? s.count % kLanes : e.lane;
  op.time = e.async_proxy ? s.count++ / kLanes + 1 : ++s.by_lane[e.lane];
  op.known = g.known, op.fenced = g.fenced;
  operations_.insert_or_assign(e.id, std::move(op));
}

void Ordering::async_range(u64 id, const AsyncRange& r) {
  const auto found = operations_.find(id);
  if (found == operations_.end()) return;
  const Operation& op = found->second;
  Where where;
  if (r.space == Space::global) {
    if (!locate(*op.warp, Space::global, r.address, r.bytes, where)) return;
  } else {
    if (r.cta == nullptr) return;
    where = {&order(r.cta).shared, r.cta, nullptr, r.address & ((1u << kRankShift) - 1)};
  }
  AccessInfo info{op.actor, op.time, op.pc, r.access == Access::atomic, true, op.async_proxy, r.access != Access::load};
  Agent agent{*op.warp, info};
  agent.info = where.shadow->intern(info);
  agent.lane = op.slot, agent.own_actor = op.issuer, agent.own_lane = op.lane, agent.reporter = op.lane;
  agent.known = op.known.get(), agent.fenced = op.fenced.get();
  touch(agent, where, r.bytes, r.access == Access::load, r.access != Access::load);
}

void Ordering::async_end(u64 id, const SyncObject& s) {
  const auto found = operations_.find(id);
  if (found == operations_.end()) return;
  const Operation& op = found->second;
  if (s.kind == SyncObject::Kind::mbarrier) {
    Object& o = order(s.cta).mbarriers[s.id];
    o.gathering.known.raise(op.actor, 1u << op.slot, op.time);
    settle(o, *s.cta, s.id);
    const auto init = order(s.cta).initialised.find(s.id);
    if (op.async_proxy && init != order(s.cta).initialised.end() && !init->second.fenced) {
      const AccessInfo info{op.actor, op.time, op.pc, true, true, true, true};
      Agent agent{*op.warp, info};
      agent.lane = op.slot, agent.own_actor = op.issuer, agent.own_lane = agent.reporter = op.lane;
      report(agent, {&order(s.cta).shared, s.cta, nullptr, s.id}, init->second.info, init->second.lane, true, true, true);
    }
  } else {
    Object& o = groups_[{s.cta, s.id}];
    o.gathering.known.raise(op.actor, 1u << op.slot, op.time);
    o.closed = false;
  }
  operations_.erase(found);
}

}  // namespace cutegen::vgpu
