#include "vgpu/exec/interpreter.h"

#include <fmt/format.h>

#include <algorithm>

#include "vgpu/exec/kinds.h"

namespace cutegen::vgpu {
namespace {

constexpr u32 kPatience = 16;   // polls of memory before a warp is suspected of waiting for nothing
constexpr u32 kWorking = 4096;  // instructions after a poll that show that a warp has something to do

}  // namespace

int Interpreter::ready_fragment() const {
  for (auto i = static_cast<int>(warp_.fragments.size()) - 1; i >= 0; --i)
    if (warp_.fragments[static_cast<size_t>(i)].wait == Fragment::Wait::none) return i;
  return -1;
}

bool Interpreter::run(u32 slice) {
  warp_.port = &port_;
  bool ran = false;
  const u32 full = slice;
  while (slice > 0) {
    const int ready = ready_fragment();
    if (ready < 0) break;
    ran = true;
    const Observer* o = port_.observer;
    const auto at = static_cast<size_t>(ready);
    const Next next = o != nullptr && o->every_instruction ? run_fragment<Watch::everything>(at, slice)
                      : o != nullptr && o->runs            ? run_fragment<Watch::runs>(at, slice)
                                                           : run_fragment<Watch::nothing>(at, slice);
    if (next == Next::end_slice) {
      warp_.since_poll = 0;
      port_.instructions += full - slice;
      return true;
    }
    // A fragment that used up its slice goes to the bottom, so that the others get their turn.
    if (slice == 0 && warp_.fragments.size() > 1) std::rotate(warp_.fragments.begin(), warp_.fragments.end() - 1, warp_.fragments.end());
  }
  port_.instructions += full - slice;
  warp_.since_poll += full - slice;
  if (warp_.since_poll > kWorking) warp_.spinning = false;
  return ran;
}

// Whether a warp that polls memory is in the very state in which it polled before (its loop may poll a few times): then it goes round until
// somebody else does something.
bool Interpreter::sees_no_change() {
  if (++warp_.polls < kPatience) return false;
  u64 hash = 0xcbf29ce484222325ull;
  auto mix = [&](u64 word) { hash = (hash ^ word) * 0x100000001b3ull; };
  for (const Fragment& f : warp_.fragments) mix(f.pc), mix(f.mask);
  const auto* words = reinterpret_cast<const u64*>(warp_.base[0]);
  for (u32 i = 0; i < unit_.grid_.image->register_bytes / 8; ++i) mix(words[i]);
  const bool seen = std::find(warp_.fingerprints.begin(), warp_.fingerprints.end(), hash) != warp_.fingerprints.end();
  warp_.fingerprints[warp_.polls % warp_.fingerprints.size()] = hash;
  return seen;
}

template <Interpreter::Watch W>
Interpreter::Next Interpreter::run_fragment(size_t index, u32& slice) {
  u32 mask = warp_.fragments[index].mask;
  const Inst* in = code_ + warp_.fragments[index].pc;
  [[maybe_unused]] const Inst* first = in;  // of those that have not been announced
  auto announce = [&](const Inst* end) {
    if constexpr (W != Watch::nothing)
      if (port_.observer->runs && end != first) port_.observer->executed(warp_, first, static_cast<u32>(end - first), mask);
  };
  while (slice > 0) {
    --slice;
    const u32 m = mask & (*reinterpret_cast<const u32*>(warp_.base[0] + in->guard) ^ in->guard_flip);
    if constexpr (W == Watch::everything) port_.observer->instruction(warp_, *in, m);
    if constexpr (W != Watch::nothing)
      if (m != mask) port_.observer->predicated(warp_, *in, mask & ~m);
    if (in->kind == Kind::plain && !in->collective) [[likely]] {
      warp_.pc = in->id;
      if (m != 0) [[likely]]
        in->body(warp_, *in, m);
      ++in;
      continue;
    }
    warp_.pc = in->id;
    announce(in + 1);
    if (in->kind == Kind::bra && (m == mask || m == 0)) {  // all lanes go the same way
      if (port_.observer != nullptr) port_.observer->branch(warp_, *in, false);
      in = m != 0 ? code_ + in->target : in + 1;
      first = in;
      continue;
    }
    warp_.fragments[index].pc = in->id;
    const Next next = control(index, *in, m);
    if (next != Next::go_on) return next;
    in = code_ + warp_.fragments[index].pc;
    first = in;
    mask = warp_.fragments[index].mask;
  }
  announce(in);
  warp_.fragments[index].pc = in->id;
  return Next::switch_fragment;
}

Interpreter::Next Interpreter::control(size_t index, const Inst& in, u32 mask) {
  Fragment& f = warp_.fragments[index];
  switch (in.kind) {
    case Kind::plain:
      if (mask != 0 && in.collective) return collective(index, in, mask);
      ++f.pc;
      return Next::go_on;
    case Kind::bra: return branch(f, in, mask), Next::go_on;
    case Kind::join: return join(index);
    case Kind::exit: return mask == 0 ? (++f.pc, Next::go_on) : end_lanes(index, mask);
    case Kind::ret: return mask == 0 ? (++f.pc, Next::go_on) : return_lanes(index, mask);
    case Kind::call:
      f.join = new_join(static_cast<s32>(f.pc) + 1, f.mask, f.join, true);
      f.pc = static_cast<u32>(in.target);
      return Next::go_on;
    case Kind::trap:
      if (mask != 0) port_.fault(FaultKind::trap, "trap", static_cast<u32>(std::countr_zero(mask)));
      ++f.pc;
      return Next::go_on;
    case Kind::barrier: return mask == 0 ? (++f.pc, Next::go_on) : barrier(index, in, mask);
    case Kind::cluster_arrive:
    case Kind::cluster_wait: return mask == 0 ? (++f.pc, Next::go_on) : cluster_barrier(index, in, mask);
    case Kind::ordered:
      if (mask != 0) ordered(in, mask);
      ++f.pc;
      return Next::go_on;
    case Kind::async:
      if (mask != 0 && in.completion == Completion::matrix_group && meets_warpgroup(in)) return wait_for_warpgroup(index, mask);
      if (mask != 0) unit_.async_.run(warp_, port_, in, mask);
      ++f.pc;
      return Next::go_on;
    case Kind::yield:
      if (mask != 0) ordered(in, mask);
      ++f.pc;
      if (mask != 0) warp_.spinning = sees_no_change();
      return mask != 0 ? Next::end_slice : Next::go_on;
    case Kind::poll:
      if (mask != 0) {
        unit_.async_.polled(warp_, port_, in, mask);
        in.body(warp_, in, mask);
      }
      ++f.pc;
      warp_.spinning = mask != 0 && (warp_.predicate(in.op[0]) & mask) != mask;
      return warp_.spinning ? Next::end_slice : Next::go_on;
    case Kind::brx:
    case Kind::warp_sync: break;
  }
  port_.fault(FaultKind::illegal_instruction, "internal: instruction kind", 0);
}

s32 Interpreter::new_join(s32 pc, u32 expected, s32 parent, bool is_return) {
  for (size_t i = 0; i < warp_.joins.size(); ++i) {
    if (warp_.joins[i].used) continue;
    warp_.joins[i] = {pc, expected, 0, parent, is_return, true};
    return static_cast<s32>(i);
  }
  warp_.joins.push_back({pc, expected, 0, parent, is_return, true});
  return static_cast<s32>(warp_.joins.size()) - 1;
}

void Interpreter::branch(Fragment& f, const Inst& in, u32 taken) {
  if (port_.observer != nullptr) port_.observer->branch(warp_, in, taken != 0 && taken != f.mask);
  if (taken == f.mask) {
    f.pc = static_cast<u32>(in.target);
  } else if (taken == 0) {
    ++f.pc;
  } else {
    if (in.reconverge >= 0) {
      const bool same = f.join >= 0 && warp_.joins[static_cast<size_t>(f.join)].pc == in.reconverge &&
                        !warp_.joins[static_cast<size_t>(f.join)].is_return;
      if (!same) f.join = new_join(in.reconverge, f.mask, f.join, false);
    }
    // The taken side runs when the other has got to the join. Both will run into the join at `reconverge`.
    Fragment other = f;
    other.mask = taken;
    other.pc = static_cast<u32>(in.target);
    f.mask &= ~taken;
    ++f.pc;
    const auto above = warp_.fragments.begin() + (&f - warp_.fragments.data()) + 1;
    warp_.fragments.insert(above, other);
  }
}

// Arrives at every join that is right here; goes on when the last one is complete.
Interpreter::Next Interpreter::join(size_t index) {
  Fragment& f = warp_.fragments[index];
  while (f.join >= 0) {
    Join& j = warp_.joins[static_cast<size_t>(f.join)];
    if (j.is_return || j.pc != static_cast<s32>(f.pc)) break;
    j.arrived |= f.mask;
    if (j.arrived != j.expected) {
      warp_.fragments.erase(warp_.fragments.begin() + static_cast<std::ptrdiff_t>(index));
      return Next::switch_fragment;
    }
    f.mask = j.arrived;
    f.join = j.parent;
    j.used = false;
  }
  ++f.pc;
  return Next::go_on;
}

void Interpreter::release_if_complete(s32 join) {
  Join& j = warp_.joins[static_cast<size_t>(join)];
  if (!j.used || j.arrived != j.expected) return;
  j.used = false;
  if (j.expected == 0) return;
  Fragment f;
  f.pc = static_cast<u32>(j.pc);
  f.mask = j.arrived;
  f.join = j.parent;
  warp_.fragments.push_back(f);
}

// Takes lanes out of the joins from `from` up to, not including, `until`.
void Interpreter::leave_joins(s32 from, s32 until, u32 lanes) {
  for (s32 i = from; i >= 0 && i != until;) {
    Join& j = warp_.joins[static_cast<size_t>(i)];
    const s32 parent = j.parent;
    j.expected &= ~lanes;
    release_if_complete(i);
    i = parent;
  }
}

Interpreter::Next Interpreter::end_lanes(size_t index, u32 lanes) {
  const s32 join = warp_.fragments[index].join;
  warp_.exited |= lanes;
  warp_.fragments[index].mask &= ~lanes;
  const bool gone = warp_.fragments[index].mask == 0;
  if (gone)
    warp_.fragments.erase(warp_.fragments.begin() + static_cast<std::ptrdiff_t>(index));
  else
    ++warp_.fragments[index].pc;
  leave_joins(join, -1, lanes);
  for (Fragment& f : warp_.fragments)  // those who wait for the lanes that ended may try again
    if (f.wait == Fragment::Wait::members) f.wait = Fragment::Wait::none;
  if (warp_.live() == 0) release_warpgroup();
  check_barriers();
  return Next::switch_fragment;
}

Interpreter::Next Interpreter::return_lanes(size_t index, u32 lanes) {
  const s32 join = warp_.fragments[index].join;
  s32 target = join;
  while (target >= 0 && !warp_.joins[static_cast<size_t>(target)].is_return) target = warp_.joins[static_cast<size_t>(target)].parent;
  warp_.fragments[index].mask &= ~lanes;
  if (warp_.fragments[index].mask == 0)
    warp_.fragments.erase(warp_.fragments.begin() + static_cast<std::ptrdiff_t>(index));
  else
    ++warp_.fragments[index].pc;
  leave_joins(join, target, lanes);
  warp_.joins[static_cast<size_t>(target)].arrived |= lanes;
  release_if_complete(target);
  return Next::switch_fragment;
}

void Interpreter::run_collective(const Inst& in, u32 mask) {
  const SyncObject object{SyncObject::Kind::warp, &cta_, warp_.index};
  if (port_.observer != nullptr) port_.observer->release(warp_, mask, object);
  in.body(warp_, in, mask);
  if (port_.observer != nullptr) port_.observer->acquire(warp_, mask, object);
}

// Lanes that are here with another member mask than the first lane's: each mask is a group of its own.
void Interpreter::run_other_groups(const Inst& in, u32 lanes, u32 here) {
  const u32* members = warp_.lanes<u32>(in.op[in.mask_op]);
  while (lanes != 0) {
    const auto lane = static_cast<u32>(std::countr_zero(lanes));
    if (((members[lane] >> lane) & 1) == 0)
      port_.fault(FaultKind::barrier_divergence,
                  fmt::format("lane {} takes part in a collective whose member mask {:#010x} does not name it", lane, members[lane]), lane);
    if ((members[lane] & warp_.live() & ~here) != 0)
      port_.fault(FaultKind::barrier_divergence,
                  fmt::format("lane {} waits for lanes {:#010x} of its member mask, which are elsewhere, beside lanes with another mask",
                              lane, members[lane] & warp_.live() & ~here),
                  lane);
    run_collective(in, lanes & members[lane]);
    lanes &= ~members[lane];
  }
}

// A strong access to memory: tells the observer what it orders.
void Interpreter::ordered(const Inst& in, u32 mask) {
  Observer* o = in.order == 0 ? nullptr : port_.observer;
  if (o == nullptr) return in.body(warp_, in, mask);
  alignas(64) u64 ea[kLanes];
  Port::addresses(warp_, in, in.address_op, ea);
  auto each_address = [&](u32 lanes, auto f) {  // lanes of one address together
    while (lanes != 0) {
      const u64 address = ea[std::countr_zero(lanes)];
      u32 same = 0;
      for (u32 m = lanes; m != 0; m &= m - 1)
        if (ea[std::countr_zero(m)] == address) same |= m & (~m + 1);
      f(same, Port::object_at(warp_, SyncObject::Kind::address, address));
      lanes &= ~same;
    }
  };
  const u32 releasing = (in.order & kReleases) != 0 ? mask : (in.order & kReleasesFenced) != 0 ? mask & warp_.fenced : 0;
  each_address(releasing, [&](u32 lanes, const SyncObject& object) { o->release(warp_, lanes, object); });
  in.body(warp_, in, mask);
  if ((in.order & kAcquires) != 0) each_address(mask, [&](u32 lanes, const SyncObject& object) { o->acquire(warp_, lanes, object); });
}

// An instruction for the lanes named in its member mask: runs when all of them that still live are here, in one fragment or in several.
Interpreter::Next Interpreter::collective(size_t index, const Inst& in, u32 mask) {
  const u32 lane = static_cast<u32>(std::countr_zero(mask));
  const u32 members = warp_.lanes<u32>(in.op[in.mask_op])[lane];
  const u32 needed = members & warp_.live();
  Fragment& f = warp_.fragments[index];
  if ((needed & ~mask) == 0) [[likely]] {
    if (const u32 m = mask & members; m != 0) run_collective(in, m);
    if ((mask & ~members) != 0) run_other_groups(in, mask & ~members, mask);
    ++f.pc;
    return Next::go_on;
  }
  u32 here = mask;
  for (const Fragment& g : warp_.fragments)
    if (g.wait == Fragment::Wait::members && g.pc == f.pc) here |= g.members;
  if ((needed & ~here) != 0) {
    f.wait = Fragment::Wait::members;
    f.members = mask;
    return Next::switch_fragment;
  }
  run_collective(in, here & members);
  for (Fragment& g : warp_.fragments) {
    if (g.pc != f.pc || (&g != &f && g.wait != Fragment::Wait::members)) continue;
    g.wait = Fragment::Wait::none;
    if (&g != &f) ++g.pc;
  }
  ++f.pc;
  return Next::go_on;
}

// wgmma is one instruction of four warps (PTX ISA 9.7.15.5.2): it begins when the last of them has come to it, and has ended for none
// before it has for all. So warps meet at the first wgmma of each group, where each may read what any of them wrote, and at the wait,
// behind which each may overwrite what any of them reads.
bool Interpreter::meets_warpgroup(const Inst& in) {
  switch (in.async) {
    case Async::issue: warp_.wgmma_in_flight = true; return !std::exchange(warp_.in_wgmma_group, true);
    case Async::wait: return warp_.wgmma_in_flight && (warp_.wgmma_in_flight = in.op[0] != 0, true);
    default: warp_.in_wgmma_group = false; return false;
  }
}

Interpreter::Next Interpreter::wait_for_warpgroup(size_t index, u32 mask) {
  Fragment& f = warp_.fragments[index];
  f.wait = Fragment::Wait::warpgroup;
  f.members = mask;
  release_warpgroup();
  return f.wait == Fragment::Wait::none ? Next::go_on : Next::switch_fragment;
}

// When all of the four warps that live wait for each other: executes what each has come to.
void Interpreter::release_warpgroup() {
  constexpr u32 kWarps = 4;
  const size_t first = warp_.index / kWarps * kWarps, end = std::min(first + kWarps, cta_.warps.size());
  std::array<Fragment*, kWarps> waiting{};
  for (size_t i = first; i < end; ++i) {
    for (Fragment& f : cta_.warps[i].fragments)
      if (f.wait == Fragment::Wait::warpgroup) waiting[i - first] = &f;
    if (waiting[i - first] == nullptr && cta_.warps[i].live() != 0) return;
  }
  for (size_t i = first; i < end; ++i) {
    Fragment* f = waiting[i - first];
    if (f == nullptr) continue;
    WarpState& w = cta_.warps[i];
    const Inst& in = code_[f->pc];
    unit_.current_ = &w, w.pc = in.id, w.port = &port_;  // where faults are reported
    unit_.async_.run(w, port_, in, f->members);
    f->wait = Fragment::Wait::none;
    ++f->pc;
  }
  unit_.current_ = &warp_;
}

u32 CtaState::live_warps() const {
  u32 n = 0;
  for (const WarpState& w : warps) n += w.live() != 0;
  return n;
}

Interpreter::Next Interpreter::barrier(size_t index, const Inst& in, u32 mask) {
  const u32 lane = static_cast<u32>(std::countr_zero(mask));
  const bool reduces = (in.param & kRed) != 0;
  const size_t at = reduces ? 1 : 0;
  const u32 id = warp_.lanes<u32>(in.op[at])[lane];
  if (id >= cta_.barriers.size()) port_.fault(FaultKind::invalid_launch, fmt::format("barrier {} does not exist: there are 16", id), lane);
  if ((in.param & kAligned) != 0 && mask != warp_.live())
    port_.fault(
        FaultKind::barrier_divergence,
        fmt::format("barrier {} reached by lanes {:#010x} of a warp whose lanes {:#010x} are alive: all of them must reach it together", id,
                    mask, warp_.live()),
        lane);
  NamedBarrier& b = cta_.barriers[id];
  const bool counted = reduces ? (in.param & kCounted) != 0 : in.count > 1 && in.op[at + 1] != kAbsent;
  const u32 count = counted ? warp_.lanes<u32>(in.op[at + 1])[lane] : 0;
  if (count % 32 != 0)
    port_.fault(FaultKind::barrier_divergence, fmt::format("barrier {} for {} threads: not a multiple of 32", id, count), lane);
  if (b.arrived != 0 && b.expected != count)
    port_.fault(FaultKind::barrier_divergence, fmt::format("barrier {} expects {} threads here and {} elsewhere", id, count, b.expected),
                lane);
  if (port_.observer != nullptr) port_.observer->release(warp_, mask, {SyncObject::Kind::named_barrier, &cta_, id});
  b.expected = count;
  b.arrived += mask == warp_.live() ? kLanes : static_cast<u32>(std::popcount(mask));
  if (reduces) {
    const u32 p = warp_.predicate(in.op[(in.param & kCounted) != 0 ? 3 : 2]) & mask;
    b.popc += static_cast<u32>(std::popcount(p));
    b.all = b.all && p == mask, b.any = b.any || p != 0;
  }
  Fragment& f = warp_.fragments[index];
  ++f.pc;
  if ((in.param & kArriveOnly) == 0) {
    f.wait = Fragment::Wait::barrier;
    f.barrier = id;
  }
  check_barriers();
  return warp_.fragments[index].wait == Fragment::Wait::none ? Next::go_on : Next::switch_fragment;
}

void Interpreter::check_barriers() {
  for (u32 id = 0; id < cta_.barriers.size(); ++id) {
    const NamedBarrier& b = cta_.barriers[id];
    if (b.arrived != 0 && b.arrived >= (b.expected != 0 ? b.expected : cta_.live_warps() * kLanes)) complete_barrier(id);
  }
}

void Interpreter::complete_barrier(u32 id) {
  const NamedBarrier b = cta_.barriers[id];
  cta_.barriers[id] = {};
  for (WarpState& w : cta_.warps) {
    for (Fragment& f : w.fragments) {
      if (f.wait != Fragment::Wait::barrier || f.barrier != id) continue;
      f.wait = Fragment::Wait::none;
      if (port_.observer != nullptr) port_.observer->acquire(w, f.mask, {SyncObject::Kind::named_barrier, &cta_, id});
      const Inst& in = code_[f.pc - 1];
      if ((in.param & kRedPopc) != 0) {
        for (int i = 0; i < kLanes; ++i)
          if ((f.mask >> i) & 1) w.lanes<u32>(in.op[0])[i] = b.popc;
      } else if ((in.param & kRed) != 0) {
        w.set_predicate(in.op[0], ((in.param & kRedAnd) != 0 ? b.all : b.any) ? ~0u : 0, f.mask);
      }
    }
  }
}

Interpreter::Next Interpreter::cluster_barrier(size_t index, const Inst& in, u32 mask) {
  Fragment& f = warp_.fragments[index];
  ++f.pc;
  if (in.kind == Kind::cluster_arrive) {
    warp_.cluster_arrivals = unit_.phase + 1;
    unit_.arrived += static_cast<u32>(std::popcount(mask));
    if (port_.observer != nullptr)
      port_.observer->release(warp_, mask, {SyncObject::Kind::cluster_barrier, unit_.by_rank_[0], warp_.cluster_arrivals});
    return Next::go_on;  // completed by the unit, which knows all CTAs
  }
  if (unit_.phase >= warp_.cluster_arrivals) {
    if (port_.observer != nullptr)
      port_.observer->acquire(warp_, mask, {SyncObject::Kind::cluster_barrier, unit_.by_rank_[0], warp_.cluster_arrivals});
    return Next::go_on;
  }
  f.wait = Fragment::Wait::cluster;
  f.cluster_phase = warp_.cluster_arrivals;
  return Next::switch_fragment;
}

}  // namespace cutegen::vgpu
