// PTX ISA 9.7.13.15: mbarrier.
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
void must_arrive(Warp& w, Mbarrier& b, u32 count, int lane) {
  if (!b.arrive(count))
    w.port->fault(FaultKind::barrier_divergence,
                  fmt::format("mbarrier: {} arrivals, but the phase waits for {} (initialised with {})", count, b.pending(), b.initial()),
                  static_cast<u32>(lane));
}

template <Space S, bool Expect, bool Drop, bool Counted>  // op = state, base, offset{, count or bytes}
void arrive(Warp& w, const Inst& in, u32 mask) {
  each<S>(w, in, 1, mask, [&](int i, Mbarrier& b) {
    const u64 before = b.word();
    const u32 n = Expect || Counted ? w.lanes<u32>(in.op[3])[i] : 1;
    if (Expect) b.expect(static_cast<s32>(n));
    const u32 count = Expect ? 1 : n;
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
  for (const char* wait : {"mbarrier.test_wait", "mbarrier.try_wait"}) {
    const OperandSpec p{Role::dst, Value::Pred}, time{Role::src, Value::U32, 1, true};
    s.whole<[](Warp& w, const Inst& in, u32 mask) { test_wait<S, true>(w, in, mask); }>(wait + (".parity" + space) + ".b64",
                                                                                        {p, address, number, time}, Pipe::lsu)
        .kind = Kind::poll;
    s.whole<[](Warp& w, const Inst& in, u32 mask) { test_wait<S, false>(w, in, mask); }>(
         wait + space + ".b64", {p, address, {Role::src, Value::U64}, time}, Pipe::lsu)
        .kind = Kind::poll;
  }
  // Asynchronous copies complete when they are issued, so their arrival is immediate; without .noinc the pending count would rise by one
  // first.
  s.whole<[](Warp&, const Inst&, u32) {}>("cp.async.mbarrier.arrive" + space + ".b64", {address}, Pipe::lsu);
  s.whole<[](Warp& w, const Inst& in, u32 mask) { each<S>(w, in, 0, mask, [&](int i, Mbarrier& b) { must_arrive(w, b, 1, i); }); }>(
      "cp.async.mbarrier.arrive.noinc" + space + ".b64", {address}, Pipe::lsu);
}

}  // namespace

std::vector<Form> mbarrier_forms() {
  Section s("mbarrier");
  in_space<Space::generic>(s, "");
  in_space<Space::shared>(s, ".shared");
  in_space<Space::shared_cluster>(s, ".shared::cluster");
  s.lanes<[](u64 state) { return Mbarrier(state).pending(); }, false>("mbarrier.pending_count.b64");
  return s.take();
}

}  // namespace cutegen::vgpu
