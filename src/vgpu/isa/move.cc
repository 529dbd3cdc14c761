// PTX ISA 9.7.9.3 and 9.7.9.4: mov, with its packing and unpacking of vectors; clocks.
#include "vgpu/isa/builder.h"
#include "vgpu/isa/registry.h"
#include "vgpu/mem/port.h"

namespace cutegen::vgpu {
namespace {

// mov.b64 d, {a, b}: N parts of type P make a W, lowest first. The linker asks for "mov.b64.pack2".
template <class W, class P, int N>
struct Pack {
  VGPU_INLINE static void run(Warp& w, const Inst& in, u32 mask) {
    alignas(64) storage_t<W> r[kLanes] = {};
    for (int n = 0; n < N; ++n) {
      const Source<P> p(w, in.op[1 + n]);
      for (int i = 0; i < kLanes; ++i) r[i] |= static_cast<storage_t<W>>(static_cast<W>(p[i])) << (n * static_cast<int>(sizeof(P)) * 8);
    }
    write_lanes(w.lanes<storage_t<W>>(in.op[0]), r, mask);
  }
};
template <class W, class P, int N>
struct Unpack {  // mov.b64 {a, b}, s
  VGPU_INLINE static void run(Warp& w, const Inst& in, u32 mask) {
    alignas(64) storage_t<W> whole[kLanes];
    std::memcpy(whole, w.lanes<char>(in.op[N]), sizeof whole);  // a part may be the source register itself
    for (int n = 0; n < N; ++n) {
      alignas(64) storage_t<P> r[kLanes];
      for (int i = 0; i < kLanes; ++i) r[i] = static_cast<P>(whole[i] >> (n * static_cast<int>(sizeof(P)) * 8));
      write_lanes(w.lanes<storage_t<P>>(in.op[n]), r, mask);
    }
  }
};
template <class W, class P, int N>
void vector_moves(Section& s, const std::string& t) {
  s.add({"mov." + t + ".pack" + std::to_string(N),
         "",
         {{Role::dst, value_of<W>()}, {Role::vec_src, value_of<P>(), N}},
         Compiled<Pack<W, P, N>>::bodies()});
  s.add({"mov." + t + ".unpack" + std::to_string(N),
         "",
         {{Role::vec_dst, value_of<P>(), N}, {Role::src, value_of<W>()}},
         Compiled<Unpack<W, P, N>>::bodies()});
}

}  // namespace

std::vector<Form> move_forms() {
  Section s("Data movement: mov");
  s.lanes<[](u16 a) { return a; }>({"mov.b16", "mov.u16", "mov.s16", "mov.f16", "mov.bf16"});
  s.lanes<[](u32 a) { return a; }>({"mov.b32", "mov.u32", "mov.s32"});
  s.lanes<[](f32 a) { return a; }>("mov.f32");
  s.lanes<[](u64 a) { return a; }>({"mov.b64", "mov.u64", "mov.s64"});
  s.lanes<[](f64 a) { return a; }>("mov.f64");
  s.lanes<[](pred a) { return a; }>("mov.pred");
  vector_moves<u16, u8, 2>(s, "b16");
  vector_moves<u32, u16, 2>(s, "b32");
  vector_moves<u32, u8, 4>(s, "b32");
  vector_moves<u64, u32, 2>(s, "b64");
  vector_moves<u64, u16, 4>(s, "b64");
  // Clocks count executed warp instructions: time that passes, always the same way.
  s.whole<[](Warp& w, const Inst& in, u32 mask) {
    alignas(64) u32 r[kLanes];
    for (u32& v : r) v = static_cast<u32>(w.port->instructions);
    write_lanes(w.lanes<u32>(in.op[0]), r, mask);
  }>("mov.clock32", {{Role::dst, Value::U32}, {Role::list}});
  s.whole<[](Warp& w, const Inst& in, u32 mask) {
    alignas(64) u64 r[kLanes];
    for (u64& v : r) v = w.port->instructions;
    write_lanes(w.lanes<u64>(in.op[0]), r, mask);
  }>("mov.clock64", {{Role::dst, Value::U64}, {Role::list}});
  return s.take();
}

}  // namespace cutegen::vgpu
