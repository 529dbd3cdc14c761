// PTX ISA 9.7.13.4-9.7.13.6: atom and red. Every operation is a compare-and-swap loop on the host's memory, lane after lane in order of
// lanes; scopes and orderings are all as strong as .sys and acquire-release.
#include "vgpu/isa/atomic_word.h"
#include "vgpu/isa/builder.h"
#include "vgpu/isa/registry.h"
#include "vgpu/mem/port.h"

namespace cutegen::vgpu {
namespace {

// Inst::param: the space, and whether the old value is returned.
constexpr u32 kReturns = 0x100;

// E: the type in memory; F maps (old, operand, compare) to the new value.
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
// Halves, pairs and vectors of either. (The manual has vectors in global memory alone.)
template <class H, class Pair, auto F>
void half_operation(Section& s, const std::string& op, const std::string& type) {
  constexpr auto pair = [](Pair a, Pair b, Pair) { return pack(F(half_of(a, 0), half_of(b, 0)), F(half_of(a, 1), half_of(b, 1))); };
  constexpr auto one = [](H a, H b, H) { return F(a, b); };
  operation<Pair, pair>(s, op + "." + type + "x2");
  operation<Pair, pair, 2>(s, op + ".v2." + type + "x2");
  operation<Pair, pair, 4>(s, op + ".v4." + type + "x2");
  operation<H, one>(s, op + "." + type);
  operation<H, one, 2>(s, op + ".v2." + type);
  operation<H, one, 4>(s, op + ".v4." + type);
  operation<H, one, 8>(s, op + ".v8." + type);
}
template <class H, class Pair>
void halves(Section& s, const std::string& type) {
  half_operation<H, Pair, [](H a, H b) { return add_half(a, b); }>(s, ".add", type);
  half_operation<H, Pair, [](H a, H b) { return pick_half<H, false>(a, b); }>(s, ".min", type);
  half_operation<H, Pair, [](H a, H b) { return pick_half<H, true>(a, b); }>(s, ".max", type);
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
  halves<f16, f16x2>(s, "f16");
  halves<bf16, bf16x2>(s, "bf16");
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
