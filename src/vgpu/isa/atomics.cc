// PTX ISA 9.7.13.4-9.7.13.6: atom and red. Every operation is a compare-and-swap loop on the host's memory, lane after lane in order of
// lanes; scopes and orderings are all as strong as .sys and acquire-release.
#include "vgpu/isa/builder.h"
#include "vgpu/isa/registry.h"
#include "vgpu/mem/port.h"

namespace cutegen::vgpu {
namespace {

// E: the type in memory; `update` maps (old, operand, compare) to the new value.
template <class E, class F>
VGPU_INLINE E swap_in(char* p, F update) {
  using Bits = std::conditional_t<sizeof(E) == 2, u16, std::conditional_t<sizeof(E) == 4, u32, u64>>;
  auto* word = reinterpret_cast<Bits*>(p);
  Bits old = __atomic_load_n(word, __ATOMIC_ACQUIRE);
  for (;;) {
    const E next = update(std::bit_cast<E>(old));
    if (__atomic_compare_exchange_n(word, &old, std::bit_cast<Bits>(next), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      return std::bit_cast<E>(old);
  }
}

// Inst::param: the space, and whether the old value is returned.
constexpr u32 kReturns = 0x100;

// Layout of op: N destinations (atom only), base, offset, N operands, and a second operand for cas.
template <class E, auto F, int N, bool Cas>
struct Atomic {
  VGPU_INLINE static void run(Warp& w, const Inst& in, u32 mask) {
    const bool returns = (in.param & kReturns) != 0;
    const int at = returns ? N : 0;
    alignas(64) u64 ea[kLanes];
    Port::addresses(w, in, at, ea);
    const Resolved r = w.port->resolve_any(w, in, static_cast<Space>(in.param & 0xff), ea, mask, sizeof(E) * N, Access::atomic);
    for (u32 m = mask; m != 0; m &= m - 1) {
      const int i = std::countr_zero(m);
      for (int n = 0; n < N; ++n) {
        const E b = Source<E>(w, in.op[at + 2 + n])[i];
        const E c = Cas ? Source<E>(w, in.op[at + 3])[i] : b;
        const E old = swap_in<E>(r.delta + r.ea[i] + n * static_cast<int>(sizeof(E)), [&](E a) { return F(a, b, c); });
        if (returns) w.lanes<storage_t<E>>(in.op[n])[i] = to_storage<E>(old);
      }
    }
  }
};

// `Shared`: the operation on shared memory, where it is another.
template <class E, auto F, int N = 1, bool Cas = false, auto Shared = F>
void operation(Section& s, const std::string& op) {
  const auto count = static_cast<u8>(N);
  struct Named {
    const char* name;
    Space space;
  };
  for (const Named& n :
       {Named{"", Space::generic}, {".global", Space::global}, {".shared", Space::shared}, {".shared::cluster", Space::shared_cluster}}) {
    std::vector<OperandSpec> operands{
        {Role::vec_dst, value_of<E>(), count}, {Role::address, Value::U64}, {Role::vec_src, value_of<E>(), count}};
    if (Cas) operands.push_back({Role::src, value_of<E>()});
    const bool shared = n.space == Space::shared || n.space == Space::shared_cluster;
    const Bodies bodies = shared ? bodies_of<Atomic<E, Shared, N, Cas>, false>() : bodies_of<Atomic<E, F, N, Cas>, false>();
    s.add({std::string("atom") + n.name + op, "", operands, bodies, Pipe::lsu}).param = static_cast<u32>(n.space) | kReturns;
    if (Cas) continue;
    operands.erase(operands.begin());
    s.add({std::string("red") + n.name + op, "", operands, bodies, Pipe::lsu}).param = static_cast<u32>(n.space);
  }
}

template <class T>
void bitwise(Section& s, const std::string& t) {
  operation<T, [](T a, T b, T) { return static_cast<T>(a & b); }>(s, ".and" + t);
  operation<T, [](T a, T b, T) { return static_cast<T>(a | b); }>(s, ".or" + t);
  operation<T, [](T a, T b, T) { return static_cast<T>(a ^ b); }>(s, ".xor" + t);
  operation<T, [](T, T b, T) { return b; }>(s, ".exch" + t);
}
template <class T>
void order(Section& s, const std::string& t) {
  operation<T, [](T a, T b, T) { return a < b ? a : b; }>(s, ".min" + t);
  operation<T, [](T a, T b, T) { return a < b ? b : a; }>(s, ".max" + t);
}
// Sums of single precision in global memory flush subnormal operands and results, in shared memory they do not; those of double precision
// pass a NaN on, as it is and the operand's before the memory's in global memory (measured on an H200).
VGPU_INLINE f32 add_single(f32 a, f32 b) { return canonical(a + b); }
VGPU_INLINE f32 add_flushed(f32 a, f32 b) { return ftz(add_single(ftz(a), ftz(b))); }
VGPU_INLINE f64 add_double(f64 a, f64 b) { return b != b ? b : a != a ? a : a + b; }
VGPU_INLINE f64 add_double_quieted(f64 a, f64 b) {  // shared memory: the memory's before the operand's
  const f64 r = a != a ? a : add_double(a, b);
  return r == r ? r : std::bit_cast<f64>(bits_of(r) | 0x0008000000000000ull);
}
VGPU_INLINE f16x2 add_pair(f16x2 a, f16x2 b) {
  return pack(to_f16(to_f32(half_of(a, 0)) + to_f32(half_of(b, 0))), to_f16(to_f32(half_of(a, 1)) + to_f32(half_of(b, 1))));
}
VGPU_INLINE bf16x2 add_pair(bf16x2 a, bf16x2 b) {
  return pack(to_bf16(to_f32(half_of(a, 0)) + to_f32(half_of(b, 0))), to_bf16(to_f32(half_of(a, 1)) + to_f32(half_of(b, 1))));
}

}  // namespace

std::vector<Form> atomic_forms() {
  Section s("Atomics");
  operation<u32, [](u32 a, u32 b, u32) { return a + b; }>(s, ".add.u32");
  operation<s32, [](s32 a, s32 b, s32) { return static_cast<s32>(static_cast<u32>(a) + static_cast<u32>(b)); }>(s, ".add.s32");
  operation<u64, [](u64 a, u64 b, u64) { return a + b; }>(s, ".add.u64");
  operation<f32, [](f32 a, f32 b, f32) { return add_flushed(a, b); }, 1, false, [](f32 a, f32 b, f32) { return add_single(a, b); }>(
      s, ".add.f32");
  operation<f32, [](f32 a, f32 b, f32) { return add_flushed(a, b); }, 2>(s, ".add.v2.f32");
  operation<f32, [](f32 a, f32 b, f32) { return add_flushed(a, b); }, 4>(s, ".add.v4.f32");
  operation<f64, [](f64 a, f64 b, f64) { return add_double(a, b); }, 1, false, [](f64 a, f64 b, f64) { return add_double_quieted(a, b); }>(
      s, ".add.f64");
  operation<f16, [](f16 a, f16 b, f16) { return to_f16(to_f32(a) + to_f32(b)); }>(s, ".add.f16");
  operation<bf16, [](bf16 a, bf16 b, bf16) { return to_bf16(to_f32(a) + to_f32(b)); }>(s, ".add.bf16");
  operation<f16x2, [](f16x2 a, f16x2 b, f16x2) { return add_pair(a, b); }>(s, ".add.f16x2");
  operation<bf16x2, [](bf16x2 a, bf16x2 b, bf16x2) { return add_pair(a, b); }>(s, ".add.bf16x2");
  order<u32>(s, ".u32");
  order<s32>(s, ".s32");
  order<u64>(s, ".u64");
  order<s64>(s, ".s64");
  bitwise<u32>(s, ".b32");
  bitwise<u64>(s, ".b64");
  operation<u32, [](u32 a, u32 b, u32) { return a >= b ? 0u : a + 1; }>(s, ".inc.u32");
  operation<u32, [](u32 a, u32 b, u32) { return a == 0 || (a > b) ? b : a - 1; }>(s, ".dec.u32");
  operation<u16, [](u16 a, u16 b, u16 c) { return a == b ? c : a; }, 1, true>(s, ".cas.b16");
  operation<u32, [](u32 a, u32 b, u32 c) { return a == b ? c : a; }, 1, true>(s, ".cas.b32");
  operation<u64, [](u64 a, u64 b, u64 c) { return a == b ? c : a; }, 1, true>(s, ".cas.b64");
  return s.take();
}

}  // namespace cutegen::vgpu
