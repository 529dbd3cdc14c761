// PTX ISA 9.7.9: loads, stores, address conversion; moves are in move.cc.
#include "vgpu/isa/builder.h"
#include "vgpu/isa/registry.h"
#include "vgpu/mem/port.h"

namespace cutegen::vgpu {
namespace {

// Element types as they lie in memory. `storage_t` of the element decides the register's lanes.
template <class E>
VGPU_INLINE storage_t<E> read(const char* p) {
  E e;
  std::memcpy(&e, p, sizeof e);
  return to_storage<E>(e);
}
template <class E>
VGPU_INLINE void write(char* p, storage_t<E> bits) {
  const E e = from_storage<E>(bits);
  std::memcpy(p, &e, sizeof e);
}

// The spaces in which a row of elements is looked for.
template <Space S, bool Hot>
constexpr bool kRows = Hot && (S == Space::global || S == Space::generic || S == Space::shared);

template <Space S, bool Hot>
VGPU_INLINE Resolved resolved(Warp& w, const Inst& in, u64* ea, u32 mask, u32 bytes, Access access) {
  if constexpr (Hot)
    return w.port->resolve<S>(w, in, ea, mask, bytes, access);
  else
    return w.port->resolve_any(w, in, S, ea, mask, bytes, access);
}

template <Space S, class E, int N, bool Hot>
struct Load {
  VGPU_INLINE static void run(Warp& w, const Inst& in, u32 mask) {
    if constexpr (kRows<S, Hot>)
      if (mask == ~0u)
        if (const char* p = w.port->row<S>(w, in, N, sizeof(E) * N, Access::load)) return row(w, in, p);
    alignas(64) u64 ea[kLanes];
    Port::addresses(w, in, N, ea);
    const Resolved r = resolved<S, Hot>(w, in, ea, mask, sizeof(E) * N, Access::load);
    if (mask == ~0u) {
      for (int n = 0; n < N; ++n) {
        alignas(64) storage_t<E> v[kLanes];
        for (int i = 0; i < kLanes; ++i) v[i] = read<E>(r.delta + r.ea[i] + n * static_cast<int>(sizeof(E)));
        std::memcpy(w.lanes<char>(in.op[n]), v, sizeof v);
      }
      return;
    }
    storage_t<E>* d[N];
    for (int n = 0; n < N; ++n) d[n] = w.lanes<storage_t<E>>(in.op[n]);
    for (u32 m = mask; m != 0; m &= m - 1) {
      const int i = std::countr_zero(m);
      for (int n = 0; n < N; ++n) d[n][i] = read<E>(r.delta + r.ea[i] + n * static_cast<int>(sizeof(E)));
    }
  }
  VGPU_INLINE static void row(Warp& w, const Inst& in, const char* p) {
    if constexpr (N == 1 && sizeof(E) == sizeof(storage_t<E>)) {
      std::memcpy(w.lanes<char>(in.op[0]), p, sizeof(E) * kLanes);
    } else {
      E e[kLanes * N];
      std::memcpy(e, p, sizeof e);
      for (int n = 0; n < N; ++n) {
        alignas(64) storage_t<E> v[kLanes];
        for (int i = 0; i < kLanes; ++i) v[i] = to_storage<E>(e[N * i + n]);
        std::memcpy(w.lanes<char>(in.op[n]), v, sizeof v);
      }
    }
  }
};

template <Space S, class E, int N, bool Hot>
struct Store {
  VGPU_INLINE static void run(Warp& w, const Inst& in, u32 mask) {
    if constexpr (kRows<S, Hot>)
      if (mask == ~0u)
        if (char* p = w.port->row<S>(w, in, 0, sizeof(E) * N, Access::store)) return row(w, in, p);
    alignas(64) u64 ea[kLanes];
    Port::addresses(w, in, 0, ea);
    const Resolved r = resolved<S, Hot>(w, in, ea, mask, sizeof(E) * N, Access::store);
    const storage_t<E>* v[N];
    for (int n = 0; n < N; ++n) v[n] = w.lanes<const storage_t<E>>(in.op[2 + n]);
    for (u32 m = mask; m != 0; m &= m - 1) {
      const int i = std::countr_zero(m);
      for (int n = 0; n < N; ++n) write<E>(r.delta + r.ea[i] + n * static_cast<int>(sizeof(E)), v[n][i]);
    }
  }
  VGPU_INLINE static void row(Warp& w, const Inst& in, char* p) {
    if constexpr (N == 1 && sizeof(E) == sizeof(storage_t<E>)) {
      std::memcpy(p, w.lanes<char>(in.op[2]), sizeof(E) * kLanes);
    } else {
      E e[kLanes * N];
      for (int n = 0; n < N; ++n) {
        const storage_t<E>* v = w.lanes<const storage_t<E>>(in.op[2 + n]);
        for (int i = 0; i < kLanes; ++i) e[N * i + n] = from_storage<E>(v[i]);
      }
      std::memcpy(p, e, sizeof e);
    }
  }
};

// Parameters are the same for every thread: one read, 32 copies.
template <class E, int N>
struct LoadParam {
  VGPU_INLINE static void run(Warp& w, const Inst& in, u32 mask) {
    alignas(64) u64 ea[kLanes];
    Port::addresses(w, in, N, ea);
    const Resolved r = w.port->resolve_any(w, in, Space::param, ea, mask, sizeof(E) * N, Access::load);
    for (int n = 0; n < N; ++n) {
      alignas(64) storage_t<E> v[kLanes];
      for (int i = 0; i < kLanes; ++i) v[i] = (mask >> i) & 1 ? read<E>(r.delta + r.ea[i] + n * static_cast<int>(sizeof(E))) : 0;
      write_lanes(w.lanes<storage_t<E>>(in.op[n]), v, mask);
    }
  }
};

template <class E>
constexpr const char* kTypeName = nullptr;
template <>
constexpr const char* kTypeName<u8> = "u8";
template <>
constexpr const char* kTypeName<s8> = "s8";
template <>
constexpr const char* kTypeName<u16> = "u16";
template <>
constexpr const char* kTypeName<s16> = "s16";
template <>
constexpr const char* kTypeName<u32> = "u32";
template <>
constexpr const char* kTypeName<u64> = "u64";
// Signed loads of 32 and 64 bits only matter when the register is wider than the type.
template <>
constexpr const char* kTypeName<s32> = "s32";

template <Space S, class E, int N>
void one(Section& s, const std::string& space) {
  const std::string vec = N == 1 ? "" : ".v" + std::to_string(N);
  const Value v = value_of<E>();
  constexpr bool hot = (S == Space::global || S == Space::shared || S == Space::generic) && std::is_unsigned_v<E> &&
                       (sizeof(E) >= 4 || (sizeof(E) == 2 && N == 1));
  using Reader = std::conditional_t<S == Space::param, LoadParam<E, N>, Load<S, E, N, hot>>;
  const Bodies load = bodies_of<Reader, hot>();
  s.add({"ld" + space + vec + "." + kTypeName<E>, "", {{Role::vec_dst, v, N}, {Role::address, Value::U64}}, load, Pipe::lsu});
  if constexpr (S != Space::param && S != Space::constant)
    s.add({"st" + space + vec + "." + kTypeName<E>,
           "",
           {{Role::address, Value::U64}, {Role::vec_src, v, N}},
           bodies_of<Store<S, E, N, hot>, hot>(),
           Pipe::lsu});
}
template <Space S>
void one_space(Section& s, const std::string& space) {
  one<S, u8, 1>(s, space), one<S, u8, 2>(s, space), one<S, u8, 4>(s, space);
  one<S, s8, 1>(s, space), one<S, s8, 2>(s, space), one<S, s8, 4>(s, space);
  one<S, u16, 1>(s, space), one<S, u16, 2>(s, space), one<S, u16, 4>(s, space);
  one<S, s16, 1>(s, space), one<S, s16, 2>(s, space), one<S, s16, 4>(s, space);
  one<S, u32, 1>(s, space), one<S, u32, 2>(s, space), one<S, u32, 4>(s, space);
  one<S, s32, 1>(s, space), one<S, s32, 2>(s, space), one<S, s32, 4>(s, space);
  one<S, u64, 1>(s, space), one<S, u64, 2>(s, space);
}

void address_conversion(Section& s) {
  s.lanes<[](u64 a) { return a; }>({"cvta.global.u64", "cvta.to.global.u64", "cvta.const.u64", "cvta.to.const.u64"});
  s.lanes<[](u64 a) -> u64 { return a + kSharedWindow; }>({"cvta.shared.u64", "cvta.shared::cta.u64", "cvta.shared::cluster.u64"});
  s.lanes<[](u64 a) -> u64 { return a - kSharedWindow; }>({"cvta.to.shared.u64", "cvta.to.shared::cta.u64", "cvta.to.shared::cluster.u64"});
  s.lanes<[](u64 a) -> u64 { return a + kLocalWindow; }>("cvta.local.u64");
  s.lanes<[](u64 a) -> u64 { return a - kLocalWindow; }>("cvta.to.local.u64");
  s.lanes<[](u64 a) -> u64 { return a + kParamWindow; }>({"cvta.param.u64", "cvta.param::entry.u64"});
  s.lanes<[](u64 a) -> u64 { return a - kParamWindow; }>({"cvta.to.param.u64", "cvta.to.param::entry.u64"});
  s.lanes<[](u64 a) { return static_cast<pred>(a >= kModuleBase); }>("isspacep.global");
  s.lanes<[](u64 a) { return static_cast<pred>(a >> kRankShift == kSharedWindow >> kRankShift); }>(
      {"isspacep.shared", "isspacep.shared::cta"});
  s.lanes<[](u64 a) { return static_cast<pred>(a >> kWindowBits == kSharedWindow >> kWindowBits); }>("isspacep.shared::cluster");
  s.lanes<[](u64 a) { return static_cast<pred>(a >> kWindowBits == kLocalWindow >> kWindowBits); }>("isspacep.local");
  s.lanes<[](u64 a) { return static_cast<pred>(a >> kWindowBits == kParamWindow >> kWindowBits); }>("isspacep.param");
  // mapa: the same offset in the CTA of another rank.
  s.lanes<[](u32 a, u32 rank) { return (a & 0xffffffu) | ((rank + 1) << kRankShift); }>({"mapa.shared::cluster.u32", "mapa.shared.u32"});
  s.lanes<[](u64 a, u32 rank) -> u64 { return (a & 0xffffffull) | (static_cast<u64>(rank + 1) << kRankShift); }>(
      "mapa.shared::cluster.u64");
  s.lanes<[](u64 a, u32 rank) -> u64 { return kSharedWindow | (a & 0xffffffull) | (static_cast<u64>(rank + 1) << kRankShift); }>(
      "mapa.u64");
}

// Hints: nothing to do. The address is not even looked at, as on the hardware, where a prefetch never faults.
void hints(Section& s) {
  constexpr auto nothing = [](Warp&, const Inst&, u32) {};
  for (const char* name : {"prefetch.global.L1", "prefetch.global.L2", "prefetch.local.L1", "prefetch.local.L2", "prefetch.L1",
                           "prefetch.L2", "prefetchu.L1", "prefetch.tensormap", "prefetch.global.L2::evict_last",
                           "prefetch.global.L2::evict_normal", "prefetch.param.tensormap", "prefetch.const.tensormap"})
    s.whole<nothing>(name, {{Role::address, Value::U64}}, Pipe::lsu);
  s.whole<nothing>("discard.global.L2", {{Role::address, Value::U64}, {Role::imm}}, Pipe::lsu);
  s.whole<nothing>("applypriority.global.L2::evict_normal", {{Role::address, Value::U64}, {Role::imm}}, Pipe::lsu);
  s.lanes<[](f32) { return u64{0}; }>({"createpolicy.fractional.L2::evict_first.b64", "createpolicy.fractional.L2::evict_last.b64",
                                       "createpolicy.fractional.L2::evict_normal.b64", "createpolicy.fractional.L2::evict_unchanged.b64"});
}

}  // namespace

std::vector<Form> memory_forms() {
  Section s("Data movement: loads, stores, addresses");
  one_space<Space::generic>(s, "");
  one_space<Space::global>(s, ".global");
  one_space<Space::shared>(s, ".shared");
  one_space<Space::shared_cluster>(s, ".shared::cluster");
  one_space<Space::local>(s, ".local");
  one_space<Space::constant>(s, ".const");
  one_space<Space::param>(s, ".param");
  address_conversion(s);
  hints(s);
  return s.take();
}

}  // namespace cutegen::vgpu
