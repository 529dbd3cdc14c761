// PTX ISA 9.7.13.15: mbarrier.
#include "vgpu/isa/mbarrier.h"

#include <fmt/format.h>

#include "vgpu/isa/builder.h"
#include "vgpu/isa/mbarrier_word.h"
#include "vgpu/isa/registry.h"
#include "vgpu/mem/port.h"

namespace cutegen::vgpu {
namespace {

// Calls F(lane, barrier word) for each lane and stores the word back.
template <Space S, class F>
void each(Warp& w, const Inst& in, int address, u32 mask, F f) {
  alignas(64) u64 ea[kLanes];
  Port::addresses(w, in, address, ea);
  const Resolved r = w.port->resolve<S>(w, in, ea, mask, 8, Access::atomic);
  for (u32 m = mask; m != 0; m &= m - 1) {
    const int i = std::countr_zero(m);
    u64 word = 0;
    std::memcpy(&word, r.delta + r.ea[i], 8);
    Mbarrier b(word);
    f(i, b);
    word = b.word();
    std::memcpy(r.delta + r.ea[i], &word, 8);
  }
}
// Tells the observer of a release or an acquire of the barrier at each lane's address.
using Event = void (Observer::*)(const Warp&, u32, const SyncObject&);
void observe_each(Warp& w, const Inst& in, int address, u32 mask, Event event) {
  if (w.port->observer == nullptr) return;
  alignas(64) u64 ea[kLanes];
  Port::addresses(w, in, address, ea);
  for (u32 m = mask; m != 0; m &= m - 1)
    (w.port->observer->*event)(w, m & (~m + 1), Port::object_at(w, SyncObject::Kind::mbarrier, ea[std::countr_zero(m)]));
}
void must_arrive(Warp& w, Mbarrier& b, u32 count, int lane) {
  if (!b.arrive(count))
    w.port->fault(FaultKind::mbarrier_misuse,
                  fmt::format("mbarrier: {} arrivals, but the phase waits for {} (initialised with {})", count, b.pending(), b.initial()),
                  static_cast<u32>(lane));
}

// op = state, base, offset{, count or bytes}. Complete: may end the phase; .noComplete must not.
template <Space S, bool Expect, bool Drop, bool Counted, bool Complete = true>
void arrive(Warp& w, const Inst& in, u32 mask) {
  observe_each(w, in, 1, mask, &Observer::release);
  each<S>(w, in, 1, mask, [&](int i, Mbarrier& b) {
    const u64 before = b.word();
    const u32 n = Expect || Counted ? w.lanes<u32>(in.op[3])[i] : 1;
    if (Expect) b.expect(static_cast<s32>(n));
    const u32 count = Expect ? 1 : n;
    if (!Complete && count >= b.pending())
      w.port->fault(FaultKind::mbarrier_misuse, "mbarrier: an arrival with .noComplete would complete the phase", static_cast<u32>(i));
    if (Drop) b = Mbarrier((b.word() & ~(0xfffffull << 20)) | (u64{b.initial() - count} << 20));
    must_arrive(w, b, count, i);
    if (in.op[0] != kAbsent) w.lanes<u64>(in.op[0])[i] = before;
  });
}

template <Space S, bool Parity>  // op = p, base, offset, state or parity{, time}
void test_wait(Warp& w, const Inst& in, u32 mask) {
  u32 done = 0;
  each<S>(w, in, 1, mask, [&](int i, Mbarrier& b) {
    const u32 waited_for = Parity ? w.lanes<u32>(in.op[3])[i] & 1 : Mbarrier(w.lanes<u64>(in.op[3])[i]).parity();
    done |= static_cast<u32>(b.parity() != waited_for) << i;
  });
  w.set_predicate(in.op[0], done, mask);
  observe_each(w, in, 1, done & mask, &Observer::acquire);
}

template <Space S>
void in_space(Section& s, const std::string& space) {
  const OperandSpec address{Role::address, Value::U64}, state{Role::dst, Value::U64}, number{Role::src};
  s.whole<[](Warp& w, const Inst& in, u32 mask) {
    each<S>(w, in, 0, mask, [&](int i, Mbarrier& b) { b = Mbarrier::with_count(w.lanes<u32>(in.op[2])[i]); });
  }>("mbarrier.init" + space + ".b64", {address, number}, Pipe::lsu);
  s.whole<[](Warp& w, const Inst& in, u32 mask) { each<S>(w, in, 0, mask, [&](int, Mbarrier& b) { b = Mbarrier(0); }); }>(
      "mbarrier.inval" + space + ".b64", {address}, Pipe::lsu);
  s.whole<[](Warp& w, const Inst& in, u32 mask) {
    each<S>(w, in, 0, mask, [&](int i, Mbarrier& b) { b.expect(static_cast<s32>(w.lanes<u32>(in.op[2])[i])); });
  }>("mbarrier.expect_tx" + space + ".b64", {address, number}, Pipe::lsu);
  s.whole<[](Warp& w, const Inst& in, u32 mask) {
    each<S>(w, in, 0, mask, [&](int i, Mbarrier& b) { b.expect(-static_cast<s32>(w.lanes<u32>(in.op[2])[i])); });
  }>("mbarrier.complete_tx" + space + ".b64", {address, number}, Pipe::lsu);
  s.whole<[](Warp& w, const Inst& in, u32 mask) { arrive<S, false, false, false>(w, in, mask); }>("mbarrier.arrive" + space + ".b64/2",
                                                                                                  {state, address}, Pipe::lsu);
  s.whole<[](Warp& w, const Inst& in, u32 mask) { arrive<S, false, false, true>(w, in, mask); }>("mbarrier.arrive" + space + ".b64/3",
                                                                                                 {state, address, number}, Pipe::lsu);
  s.whole<[](Warp& w, const Inst& in, u32 mask) { arrive<S, false, true, false>(w, in, mask); }>("mbarrier.arrive_drop" + space + ".b64/2",
                                                                                                 {state, address}, Pipe::lsu);
  s.whole<[](Warp& w, const Inst& in, u32 mask) { arrive<S, false, true, true>(w, in, mask); }>("mbarrier.arrive_drop" + space + ".b64/3",
                                                                                                {state, address, number}, Pipe::lsu);
  s.whole<[](Warp& w, const Inst& in, u32 mask) { arrive<S, true, false, false>(w, in, mask); }>(
      "mbarrier.arrive.expect_tx" + space + ".b64", {state, address, number}, Pipe::lsu);
  s.whole<[](Warp& w, const Inst& in, u32 mask) { arrive<S, true, true, false>(w, in, mask); }>(
      "mbarrier.arrive_drop.expect_tx" + space + ".b64", {state, address, number}, Pipe::lsu);
  s.whole<[](Warp& w, const Inst& in, u32 mask) { arrive<S, false, false, true, false>(w, in, mask); }>(
      "mbarrier.arrive.noComplete" + space + ".b64", {state, address, number}, Pipe::lsu);
  s.whole<[](Warp& w, const Inst& in, u32 mask) { arrive<S, false, true, true, false>(w, in, mask); }>(
      "mbarrier.arrive_drop.noComplete" + space + ".b64", {state, address, number}, Pipe::lsu);
  for (const char* wait : {"mbarrier.test_wait", "mbarrier.try_wait"}) {
    const OperandSpec p{Role::dst, Value::Pred}, time{Role::src, Value::U32, 1, true};
    s.whole<[](Warp& w, const Inst& in, u32 mask) { test_wait<S, true>(w, in, mask); }>(wait + (".parity" + space) + ".b64",
                                                                                        {p, address, number, time}, Pipe::lsu)
        .kind = Kind::poll;
    s.whole<[](Warp& w, const Inst& in, u32 mask) { test_wait<S, false>(w, in, mask); }>(
         wait + space + ".b64", {p, address, {Role::src, Value::U64}, time}, Pipe::lsu)
        .kind = Kind::poll;
  }
  // The arrival of a thread's earlier cp.async; exec/async.h knows when. Without .noinc it expects itself first (Inst::param).
  for (const char* count : {"", ".noinc"}) {
    Form& f = s.whole<[](Warp& w, const Inst& in, u32 mask) {
      observe_each(w, in, 0, mask, &Observer::release);
      each<S>(w, in, 0, mask, [&](int i, Mbarrier& b) { must_arrive(w, b, 1, i); });
    }>(std::string("cp.async.mbarrier.arrive") + count + space + ".b64", {address}, Pipe::lsu);
    f.kind = Kind::async, f.async = Async::arrive, f.completion = Completion::barrier, f.barrier_operand = 0;
    f.param = *count == '\0';
  }
}

}  // namespace

void expect_arrival(Warp& w, const Inst& in, u32 mask) {
  alignas(64) u64 ea[kLanes];
  Port::addresses(w, in, 0, ea);
  for (u32 m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<u32>(std::countr_zero(m));
    const u64 address = ea[lane] >> kWindowBits == 0 ? ea[lane] + kSharedWindow : ea[lane];
    char* p = w.port->at(w, Space::generic, address, 8, 8, Access::atomic, lane);
    u64 word = 0;
    std::memcpy(&word, p, 8);
    Mbarrier b(word);
    b.expect_arrival();
    word = b.word();
    std::memcpy(p, &word, 8);
  }
}

void complete_bytes(Warp& w, u64 barrier, u64 bytes, u32 lane) {
  char* p = w.port->at(w, Space::shared_cluster, barrier, 8, 8, Access::atomic, lane);
  u64 word = 0;
  std::memcpy(&word, p, 8);
  Mbarrier b(word);
  b.expect(-static_cast<s32>(bytes));
  word = b.word();
  std::memcpy(p, &word, 8);
}

std::vector<Form> mbarrier_forms() {
  Section s("mbarrier");
  in_space<Space::generic>(s, "");
  in_space<Space::shared>(s, ".shared");
  in_space<Space::shared_cluster>(s, ".shared::cluster");
  s.lanes<[](u64 state) { return Mbarrier(state).pending(); }, false>("mbarrier.pending_count.b64");
  return s.take();
}

}  // namespace cutegen::vgpu
