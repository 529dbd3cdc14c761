// PTX ISA 9.7.9.6 and 9.7.13: instructions in which the lanes of a warp take part together. `mask` holds the lanes that do.
#include <bit>

#include "vgpu/isa/builder.h"
#include "vgpu/isa/registry.h"
#include "vgpu/mem/port.h"

namespace cutegen::vgpu {
namespace {

enum class Shuffle { up, down, bfly, idx };

template <Shuffle M>
struct ShuffleSync {  // shfl.sync d|p, a, b, c, members: op = d, p, a, b, c, members
  VGPU_INLINE static void run(Warp& w, const Inst& in, u32 mask) {
    const u32 *a = w.lanes<u32>(in.op[2]), *b = w.lanes<u32>(in.op[3]), *c = w.lanes<u32>(in.op[4]);
    alignas(64) u32 r[kLanes];
    u32 in_range = 0;
    for (u32 lane = 0; lane < kLanes; ++lane) {
      const u32 bval = b[lane] & 0x1f, cval = c[lane] & 0x1f, seg = (c[lane] >> 8) & 0x1f;
      const u32 max_lane = (lane & seg) | (cval & ~seg), min_lane = lane & seg;
      u32 j = 0;
      bool ok = false;
      if constexpr (M == Shuffle::up)
        j = lane - bval, ok = static_cast<s32>(j) >= static_cast<s32>(max_lane);
      else if constexpr (M == Shuffle::down)
        j = lane + bval, ok = j <= max_lane;
      else if constexpr (M == Shuffle::bfly)
        j = lane ^ bval, ok = j <= max_lane;
      else
        j = min_lane | (bval & ~seg), ok = j <= max_lane;
      r[lane] = a[ok ? j & 31 : lane];
      in_range |= static_cast<u32>(ok) << lane;
    }
    write_lanes(w.lanes<u32>(in.op[0]), r, mask);
    w.set_predicate(in.op[1], in_range, mask);
  }
};

enum class Reduce { add, min, max, and_, or_, xor_ };
template <class T, Reduce R>
struct ReduxSync {  // op = d, a, members
  VGPU_INLINE static void run(Warp& w, const Inst& in, u32 mask) {
    const Source<T> a(w, in.op[1]);
    T r = a[std::countr_zero(mask)];
    for (u32 m = mask & (mask - 1); m != 0; m &= m - 1) {
      const T v = a[std::countr_zero(m)];
      if constexpr (R == Reduce::add)
        r = static_cast<T>(static_cast<u32>(r) + static_cast<u32>(v));
      else if constexpr (R == Reduce::min)
        r = v < r ? v : r;
      else if constexpr (R == Reduce::max)
        r = (v > r) ? v : r;
      else if constexpr (R == Reduce::and_)
        r = r & v;
      else if constexpr (R == Reduce::or_)
        r = r | v;
      else
        r = r ^ v;
    }
    alignas(64) u32 all[kLanes];
    for (u32& x : all) x = static_cast<u32>(r);
    write_lanes(w.lanes<u32>(in.op[0]), all, mask);
  }
};

VGPU_INLINE void broadcast(Warp& w, Ref d, u32 value, u32 mask) {
  alignas(64) u32 all[kLanes];
  for (u32& x : all) x = value;
  write_lanes(w.lanes<u32>(d), all, mask);
}

template <class T>
struct MatchAny {  // op = d, a, members: the lanes that hold the same value
  VGPU_INLINE static void run(Warp& w, const Inst& in, u32 mask) {
    const T* a = w.lanes<T>(in.op[1]);
    alignas(64) u32 r[kLanes] = {};
    for (u32 m = mask; m != 0; m &= m - 1) {
      const int i = std::countr_zero(m);
      for (int j = 0; j < kLanes; ++j) r[i] |= static_cast<u32>(a[j] == a[i]) << j;
      r[i] &= mask;
    }
    write_lanes(w.lanes<u32>(in.op[0]), r, mask);
  }
};
template <class T>
struct MatchAll {  // op = d, p, a, members
  VGPU_INLINE static void run(Warp& w, const Inst& in, u32 mask) {
    const T* a = w.lanes<T>(in.op[2]);
    bool same = true;
    for (u32 m = mask; m != 0; m &= m - 1) same = same && a[std::countr_zero(m)] == a[std::countr_zero(mask)];
    broadcast(w, in.op[0], same ? mask : 0, mask);
    w.set_predicate(in.op[1], same ? ~0u : 0, mask);
  }
};

void collective(Form& f, int mask_operand) {
  f.collective = true;
  f.mask_operand = static_cast<int8_t>(mask_operand);
}
template <Shuffle M>
void shuffle(Section& s, const std::string& mode) {
  collective(s.add({"shfl.sync." + mode + ".b32",
                    "",
                    {{Role::reg_pred, Value::U32}, {Role::src}, {Role::src}, {Role::src}, {Role::src}},
                    Compiled<ShuffleSync<M>>::bodies(),
                    Pipe::lsu}),
             5);
}
template <class T, Reduce R>
void redux(Section& s, const std::string& name) {
  collective(s.add({"redux.sync." + name,
                    "",
                    {{Role::dst, value_of<T>()}, {Role::src, value_of<T>()}, {Role::src}},
                    bodies_of<ReduxSync<T, R>, false>(),
                    Pipe::alu}),
             2);
}
template <auto F>
void vote(Section& s, const std::string& mode) {  // p = F(votes, mask) for everyone
  collective(
      s.whole<[](Warp& w, const Inst& in, u32 mask) { w.set_predicate(in.op[0], F(w.predicate(in.op[1]) & mask, mask) ? ~0u : 0, mask); }>(
          "vote.sync." + mode + ".pred", {{Role::dst, Value::Pred}, {Role::src, Value::Pred}, {Role::src}}),
      2);
}
template <class T>
void match(Section& s, const std::string& t) {
  collective(
      s.add({"match.any.sync" + t, "", {{Role::dst}, {Role::src, value_of<T>()}, {Role::src}}, bodies_of<MatchAny<T>, false>(), Pipe::alu}),
      2);
  collective(s.add({"match.all.sync" + t,
                    "",
                    {{Role::reg_pred}, {Role::src, value_of<T>()}, {Role::src}},
                    bodies_of<MatchAll<T>, false>(),
                    Pipe::alu}),
             3);
}

}  // namespace

std::vector<Form> warp_forms() {
  Section s("Warp-wide operations");
  shuffle<Shuffle::up>(s, "up");
  shuffle<Shuffle::down>(s, "down");
  shuffle<Shuffle::bfly>(s, "bfly");
  shuffle<Shuffle::idx>(s, "idx");
  vote<[](u32 votes, u32 mask) { return votes == mask; }>(s, "all");
  vote<[](u32 votes, u32) { return votes != 0; }>(s, "any");
  vote<[](u32 votes, u32 mask) { return votes == 0 || votes == mask; }>(s, "uni");
  collective(s.whole<[](Warp& w, const Inst& in, u32 mask) { broadcast(w, in.op[0], w.predicate(in.op[1]) & mask, mask); }>(
                 "vote.sync.ballot.b32", {{Role::dst}, {Role::src, Value::Pred}, {Role::src}}),
             2);
  match<u32>(s, ".b32");
  match<u64>(s, ".b64");
  redux<u32, Reduce::add>(s, "add.u32");
  redux<s32, Reduce::add>(s, "add.s32");
  redux<u32, Reduce::min>(s, "min.u32");
  redux<s32, Reduce::min>(s, "min.s32");
  redux<u32, Reduce::max>(s, "max.u32");
  redux<s32, Reduce::max>(s, "max.s32");
  redux<u32, Reduce::and_>(s, "and.b32");
  redux<u32, Reduce::or_>(s, "or.b32");
  redux<u32, Reduce::xor_>(s, "xor.b32");
  s.whole<[](Warp& w, const Inst& in, u32 mask) { broadcast(w, in.op[0], mask, mask); }>("activemask.b32", {{Role::dst}});
  // elect.sync d|p, members: one lane, the lowest; d is its number.
  collective(s.whole<[](Warp& w, const Inst& in, u32 mask) {
    if (in.op[0] != kAbsent) broadcast(w, in.op[0], static_cast<u32>(std::countr_zero(mask)), mask);
    w.set_predicate(in.op[1], mask & (~mask + 1), mask);
  }>("elect.sync", {{Role::reg_pred}, {Role::src}}),
             2);
  Form& sync = s.whole<[](Warp&, const Inst&, u32) {}>("bar.warp.sync", {{Role::src}}, Pipe::control);
  collective(sync, 0);
  return s.take();
}

}  // namespace cutegen::vgpu
