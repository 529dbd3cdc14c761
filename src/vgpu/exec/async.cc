#include "vgpu/exec/async.h"

#include <algorithm>

#include "vgpu/exec/unit.h"
#include "vgpu/isa/mbarrier.h"
#include "vgpu/mem/announce.h"

namespace cutegen::vgpu {
namespace {

constexpr u32 kPoison = 0xa5;

SyncObject group_object(const WarpState& w, Completion c, u32 lane, u32 number) {
  return {SyncObject::Kind::async_group, w.cta, u64{w.index} << 40 | u64{lane} << 34 | static_cast<u64>(c) << 32 | number};
}
// wgmma is grouped by the warp, not by its lanes.
u32 grouped(Completion c, u32 mask) { return c == Completion::matrix_group ? 1 : mask; }

}  // namespace

void AsyncOperations::configure(bool late, std::optional<u64> seed) {
  when_ = late ? When::late : seed ? When::random : When::at_issue;
  random_.seed(seed.value_or(0));
}

AsyncGroups::Lanes& AsyncOperations::groups(WarpState& w, Completion c) const {
  if (w.groups == nullptr) w.groups = std::make_unique<AsyncGroups>();
  return w.groups->of[static_cast<size_t>(c)];
}

const std::vector<OperandSpec>& AsyncOperations::operands_of(const Inst& in) const { return unit_.grid_.image->pcs[in.id].form->operands; }

void AsyncOperations::run(WarpState& w, Port& port, const Inst& in, u32 mask) {
  const bool matrix = in.completion == Completion::matrix_group;
  if ((when_ == When::at_issue || matrix) && port.observer == nullptr) {
    if (in.async == Async::arrive && in.param != 0) expect_arrival(w, in, mask);
    return in.body(w, in, mask);
  }
  switch (in.async) {
    case Async::issue: return issue(w, port, in, mask);
    case Async::arrive: return arrive(w, port, in, mask);
    case Async::commit: return commit(w, port, in.completion, mask);
    case Async::wait: return wait(w, port, in.completion, mask, in.op[0]);
    case Async::wait_all: commit(w, port, in.completion, mask); return wait(w, port, in.completion, mask, 0);
  }
}

// wgmma is never put off: nvcc moves accumulators between registers from one wgmma to the next, which ptxas undoes, so that PTX reads what
// hardware would not have computed yet.
void AsyncOperations::issue(WarpState& w, Port& port, const Inst& in, u32 mask) {
  const bool at_once = when_ == When::at_issue || in.completion == Completion::matrix_group;
  put_off(w, in, mask);
  if (!at_once) return;
  take_effect(pending_.back(), mask, port);
  pending_.pop_back();
}

// cp.async.mbarrier.arrive: an arrival that waits for the thread's earlier cp.async. Without .noinc one more arrival is expected from now
// on.
void AsyncOperations::arrive(WarpState& w, Port& port, const Inst& in, u32 mask) {
  if (in.param != 0) expect_arrival(w, in, mask);
  put_off(w, in, mask);
  if (when_ != When::at_issue) return;
  take_effect(pending_.back(), mask, port);
  pending_.pop_back();
}

// Calls F(offset in the register file, bytes) for each register that the instruction reads.
template <class F>
void AsyncOperations::each_source(const WarpState&, const Inst& in, F f) const {
  const Ref* op = in.op;
  auto one = [&](Ref r, u32 bytes) {
    if (r != kAbsent && (r & kConstRef) == 0) f(r & (kNotRef - 1), bytes);
  };
  auto bytes_of = [](Value v) { return v == Value::Pred ? 4u : is_wide(v) ? 256u : 128u; };
  for (const OperandSpec& o : operands_of(in)) {
    switch (o.role) {
      case Role::src: one(*op++, bytes_of(o.type)); break;
      case Role::vec_src:
        for (u32 i = 0; i < o.count; ++i) one(*op++, bytes_of(o.type));
        break;
      case Role::address:
      case Role::coords: {
        const Ref base = *op;
        op += 2;
        one(base, (base & kConstRef) == 0 && (base & kNotRef) != 0 ? 128 : 256);
        for (u32 i = 0; o.role == Role::coords && i < o.count; ++i) one(*op++, bytes_of(Value::S32));
        break;
      }
      case Role::vec_dst: op += o.count; break;
      case Role::pair_dst:
      case Role::reg_pred: op += 2; break;
      default: ++op;
    }
  }
}

void AsyncOperations::put_off(WarpState& w, const Inst& in, u32 mask) {
  Pending p;
  p.warp = &w, p.inst = &in, p.mask = mask;
  if (when_ != When::at_issue)
    each_source(w, in, [&](u32 offset, u32 bytes) { p.sources.insert(p.sources.end(), w.base[0] + offset, w.base[0] + offset + bytes); });
  if (in.completion == Completion::barrier && when_ != When::at_issue) {
    alignas(64) u64 ea[kLanes];
    Port::addresses(w, in, in.address_op, ea);
    for (u32 m = mask; m != 0; m &= m - 1) {
      SyncObject object = Port::object_at(w, SyncObject::Kind::mbarrier, ea[std::countr_zero(m)]);
      if ((in.param & kMulticast) != 0) object.cta = nullptr;
      p.barriers.push_back(object);
    }
  }
  pending_.push_back(std::move(p));
}

// Runs the body for some lanes, with the source registers as they were.
void AsyncOperations::take_effect(Pending& p, u32 lanes, Port& port) {
  WarpState& w = *p.warp;
  lanes &= p.mask;
  if (lanes == 0) return;
  p.mask &= ~lanes;
  if (p.inst->async == Async::arrive) complete_copies_before(p, lanes, port);
  WarpState* const running = unit_.current_;
  CtaState* const running_cta = unit_.current_cta_;
  const u32 pc = w.pc;
  unit_.current_ = &w, unit_.current_cta_ = static_cast<CtaState*>(w.cta), w.pc = p.inst->id;  // where faults are reported
  w.port = &port;
  auto swap_sources = [&] {
    char* saved = p.sources.data();
    if (p.sources.empty()) return;
    each_source(w, *p.inst, [&](u32 offset, u32 bytes) { std::swap_ranges(saved, saved + bytes, w.base[0] + offset), saved += bytes; });
  };
  swap_sources();
  port.issued.clear();
  if (port.observer != nullptr && port.observer->asynchronous && p.inst->completion == Completion::matrix_group)
    announce_wgmma(w, *p.inst, *unit_.grid_.image->pcs[p.inst->id].form);
  p.inst->body(w, *p.inst, lanes);
  swap_sources();
  unit_.current_ = running, unit_.current_cta_ = running_cta, w.pc = pc;
  if (port.observer != nullptr) announce_ends(p, port);
}

void AsyncOperations::announce_ends(const Pending& p, Port& port) {
  const Completion c = p.inst->completion;
  for (const Port::Issued& i : port.issued) {
    if (p.number[i.lane] != 0)
      port.observer->async_end(i.id, group_object(*p.warp, c, i.lane, p.number[i.lane]));
    else
      open_.push_back({p.warp, c, i.lane, i.id});
  }
  port.issued.clear();
}

void AsyncOperations::complete_copies_before(const Pending& arrival, u32 lanes, Port& port) {
  for (Pending& p : pending_) {
    if (&p == &arrival) break;
    if (p.warp == arrival.warp && p.inst->completion == Completion::copy_group) take_effect(p, lanes, port);
  }
  if (port.observer == nullptr) return;
  alignas(64) u64 ea[kLanes];
  Port::addresses(*arrival.warp, *arrival.inst, arrival.inst->address_op, ea);
  std::erase_if(open_, [&](const Open& o) {
    if (o.warp != arrival.warp || o.completion != Completion::copy_group || ((lanes >> o.lane) & 1) == 0) return false;
    port.observer->async_end(o.id, Port::object_at(*arrival.warp, SyncObject::Kind::mbarrier, ea[o.lane]));
    return true;
  });
}

void AsyncOperations::commit(WarpState& w, Port& port, Completion c, u32 mask) {
  AsyncGroups::Lanes& g = groups(w, c);
  const u32 lanes = grouped(c, mask);
  for (u32 m = lanes; m != 0; m &= m - 1) ++g.committed[static_cast<size_t>(std::countr_zero(m))];
  for (Pending& p : pending_) {
    if (p.warp != &w || p.inst->completion != c) continue;
    for (u32 m = lanes; m != 0; m &= m - 1)
      if (u32& n = p.number[static_cast<size_t>(std::countr_zero(m))]; n == 0) n = g.committed[static_cast<size_t>(std::countr_zero(m))];
  }
  std::erase_if(open_, [&](const Open& o) {
    if (o.warp != &w || o.completion != c || ((lanes >> o.lane) & 1) == 0) return false;
    port.observer->async_end(o.id, group_object(w, c, o.lane, g.committed[o.lane]));
    return true;
  });
}

void AsyncOperations::wait(WarpState& w, Port& port, Completion c, u32 mask, u32 may_remain) {
  AsyncGroups::Lanes& g = groups(w, c);
  const u32 lanes = grouped(c, mask);
  auto limit = [&](u32 lane) { return g.committed[lane] - std::min(g.committed[lane], may_remain); };
  for (Pending& p : pending_) {
    if (p.warp != &w || p.inst->completion != c) continue;
    u32 due = 0;
    for (u32 m = lanes; m != 0; m &= m - 1) {
      const auto lane = static_cast<u32>(std::countr_zero(m));
      if (p.number[lane] != 0 && p.number[lane] <= limit(lane)) due |= 1u << lane;
    }
    take_effect(p, due, port);
  }
  drop_finished();
  for (u32 m = lanes; m != 0; m &= m - 1) {
    const auto lane = static_cast<u32>(std::countr_zero(m));
    while (g.waited[lane] < limit(lane)) {
      ++g.waited[lane];
      if (port.observer == nullptr) continue;
      port.observer->acquire(w, c == Completion::matrix_group ? mask : 1u << lane, group_object(w, c, lane, g.waited[lane]));
    }
  }
}

void AsyncOperations::complete_barriers(WarpState& w, Port& port, const Inst& in, u32 mask) {
  alignas(64) u64 ea[kLanes];
  Port::addresses(w, in, 1, ea);
  for (u32 m = mask; m != 0; m &= m - 1) {
    const SyncObject tested = Port::object_at(w, SyncObject::Kind::mbarrier, ea[std::countr_zero(m)]);
    for (Pending& p : pending_) {
      const bool here = std::any_of(p.barriers.begin(), p.barriers.end(),
                                    [&](const SyncObject& b) { return b.id == tested.id && (b.cta == nullptr || b.cta == tested.cta); });
      if (here && (when_ != When::random || random_() % 2 == 0)) take_effect(p, ~0u, port);
    }
  }
  drop_finished();
}

void AsyncOperations::let_some_complete(Port& port) {
  if (when_ != When::random) return;
  for (Pending& p : pending_)
    if (random_() % 4 == 0) take_effect(p, ~0u, port);
  drop_finished();
}

bool AsyncOperations::complete_one(Port& port) {
  if (pending_.empty()) return false;
  take_effect(pending_.front(), ~0u, port);
  drop_finished();
  return true;
}

void AsyncOperations::complete_all(Port& port) {
  if (when_ == When::late && !pending_.empty())  // the memory that nobody waited for belongs to others by now
    for (CtaState& cta : unit_.ctas_) std::fill(cta.shared + kSharedStart, cta.shared + cta.shared_end, static_cast<char>(kPoison));
  for (Pending& p : pending_)
    if (p.inst->completion == Completion::bulk_group) take_effect(p, ~0u, port);
  pending_.clear();
}

void AsyncOperations::drop_finished() {
  pending_.remove_if([](const Pending& p) { return p.mask == 0; });
}

}  // namespace cutegen::vgpu
