// PTX ISA 9.7.14.5: mma.sync of floating-point types, dense. Sums are the tensor core's: tensor_core.h.
#include <algorithm>
#include <memory>

#include "vgpu/isa/elements.h"
#include "vgpu/isa/matrix.h"

namespace cutegen::vgpu {
namespace {

// m16n8k(K): with P elements a register, lane l holds of A rows l/4 (and +8) and columns P*(l%4).. (and + 4P), of B the same columns as
// rows k and column l/4, of C rows l/4 (and +8) and columns 2(l%4), +1. Element p of a register, lane after lane, is therefore a quad:
// rows by four values of k. In which order the sum takes the k is all the same.
template <class A, class B, int K, bool HalfAccumulate>
struct Fragments {
  static constexpr int P = 4 / A::bytes, kHalves = K / (4 * P);  // register columns of 4P along k
  static constexpr int kA = 2 * kHalves, kB = kHalves, kC = HalfAccumulate ? 2 : 4;

  // Elements [p0, p1) of the registers, `products` of them; zeros where there are fewer.
  template <class Core>
  VGPU_INLINE static void place_a(const u32* const* regs, int p0, int p1, int products, const DotRule& rule, RowsOfA& a) {
    const int each = p1 - p0;
    for (int pair = 0; pair < products / 8; ++pair) {
      alignas(64) u32 unpacked[4][kLanes];
      const u32* quads[4];
      for (int i = 0; i < 4; ++i) {
        const int quad = 2 * pair + i / 2;
        quads[i] = quad_of<A>(quad / each < kHalves ? regs[2 * (quad / each) + i % 2] : nullptr, p0 + quad % each, unpacked[i]);
      }
      Core::place_a(quads, keep<A>(), a, 8 * pair, rule);
    }
  }
  template <class Core>
  VGPU_INLINE static void place_b(const u32* const* regs, int p0, int p1, int products, const DotRule& rule, ColumnsOfB& b) {
    const int each = p1 - p0;
    for (int pair = 0; pair < products / 8; ++pair) {
      alignas(64) u32 unpacked[2][kLanes];
      const u32* quads[2];
      for (int i = 0; i < 2; ++i) {
        const int quad = 2 * pair + i;
        quads[i] = quad_of<B>(quad / each < kHalves ? regs[quad / each] : nullptr, p0 + quad % each, unpacked[i]);
      }
      Core::place_b(quads, keep<B>(), b, 8 * pair, rule);
    }
  }
  template <class E>
  static constexpr u32 keep() {
    return E::bytes == 4 ? ~0x1fffu : ~0u;
  }
  template <class E>
  VGPU_INLINE static const u32* quad_of(const u32* reg, int p, u32* unpacked) {
    alignas(64) static constexpr u32 kZeros[kLanes] = {};
    if (reg == nullptr) return kZeros;
    if constexpr (E::bytes == 4) return reg;
    for (int l = 0; l < kLanes; ++l) unpacked[l] = std::bit_cast<u32>(element<E>(reg[l], p));
    return unpacked;
  }

  struct Registers {
    const u32 *a[kA], *b[kB];
    VGPU_INLINE Registers(Warp& w, const Inst& in) {
      for (int i = 0; i < kA; ++i) a[i] = w.lanes<u32>(in.op[kC + i]);
      for (int i = 0; i < kB; ++i) b[i] = w.lanes<u32>(in.op[kC + kA + i]);
    }
  };

  // Two columns a lane, in one register when the accumulators are halves.
  VGPU_INLINE static void load(Warp& w, const Inst& in, f32 (*c)[kLanes]) {
    const Ref* op = in.op + kC + kA + kB;
    for (int i = 0; i < 4; ++i) {
      if constexpr (HalfAccumulate) {
        const u32* r = w.lanes<u32>(op[i / 2]);
        for (int l = 0; l < kLanes; ++l) c[i][l] = element<ElementF16>(r[l], i % 2);
      } else {
        std::memcpy(c[i], w.lanes<f32>(op[i]), sizeof c[i]);
      }
    }
  }
  template <f16 (*Round)(f32)>
  VGPU_INLINE static void store(Warp& w, const Inst& in, const f32 (*d)[kLanes]) {
    for (int i = 0; i < kC; ++i) {
      if constexpr (HalfAccumulate) {
        u32* r = w.lanes<u32>(in.op[i]);
        for (int l = 0; l < kLanes; ++l) r[l] = pack(Round(d[2 * i][l]), Round(d[2 * i + 1][l])).bits;
      } else {
        std::memcpy(w.lanes<f32>(in.op[i]), d[i], sizeof d[i]);
      }
    }
  }
};

struct Accumulators {
  alignas(64) f32 value[4][kLanes];
  const f32* in[4] = {value[0], value[1], value[2], value[3]};
  f32* out[4] = {value[0], value[1], value[2], value[3]};
};

// What was placed last from registers with these numbers. Loops over tiles use a fragment several times; whether the registers still hold
// it is seen from their bits.
template <class Placed, int Most>
struct Remembered {
  alignas(64) u32 raw[Most][kLanes];
  Placed placed;
  const void* how = nullptr;  // by which form's rules
  VGPU_INLINE bool holds(const u32* const* regs, int count, const void* form) const {
    if (how != form) return false;
    u32 differs = 0;
    for (int i = 0; i < count; ++i)
      for (int l = 0; l < kLanes; ++l) differs |= raw[i][l] ^ regs[i][l];
    return differs == 0;
  }
  VGPU_INLINE Placed& renew(const u32* const* regs, int count, const void* form) {
    for (int i = 0; i < count; ++i) std::memcpy(raw[i], regs[i], sizeof raw[i]);
    how = form;
    placed.narrow = true;
    return placed;
  }
};
struct PlacedFragments {
  Remembered<RowsOfA, 4> a[8];
  Remembered<ColumnsOfB, 2> b[16];
};
PlacedFragments& placed_fragments() {
  static thread_local const auto m = std::make_unique<PlacedFragments>();
  return *m;
}

template <class E, int K, bool HalfAccumulate>
struct Mma {
  using F = Fragments<E, E, K, HalfAccumulate>;
  static constexpr char kForm = 0;
  template <class Core>
  struct Body {
    VGPU_INLINE static void run(Warp& w, const Inst& in, u32) {
      constexpr int kProducts = K < 8 ? 8 : K;
      const DotRule rule{25, E::min_exponent, E::min_exponent, HalfAccumulate};
      const typename F::Registers regs(w, in);
      auto& m = placed_fragments();
      auto& a = m.a[in.op[F::kC] / (128 * F::kA) % 8];
      auto& b = m.b[in.op[F::kC + F::kA] / (128 * F::kB) % 16];
      if (!a.holds(regs.a, F::kA, &kForm)) F::template place_a<Core>(regs.a, 0, F::P, kProducts, rule, a.renew(regs.a, F::kA, &kForm));
      if (!b.holds(regs.b, F::kB, &kForm)) F::template place_b<Core>(regs.b, 0, F::P, kProducts, rule, b.renew(regs.b, F::kB, &kForm));
      if constexpr (!HalfAccumulate) {
        const Ref* c = in.op + 4 + F::kA + F::kB;
        if (std::equal(c, c + 4, in.op)) {  // D = C, register by register, as in any loop
          f32* const d[4] = {w.lanes<f32>(c[0]), w.lanes<f32>(c[1]), w.lanes<f32>(c[2]), w.lanes<f32>(c[3])};
          const f32* const same[4] = {d[0], d[1], d[2], d[3]};
          return Core::multiply(a.placed, b.placed, kProducts, rule, same, d);
        }
      }
      Accumulators c;
      F::load(w, in, c.value);
      Core::multiply(a.placed, b.placed, kProducts, rule, c.in, c.out);
      F::template store<sum_to_f16>(w, in, c.value);
    }
  };
};

// FP8 on sm_90: ptxas makes halves of the operands, multiplies the lower half of every register's elements and zero, then the upper halves
// and that sum, and adds C in a last ordinary addition.
template <class A, class B, int K, bool HalfAccumulate>
struct MmaFp8 {
  using F = Fragments<A, B, K, HalfAccumulate>;
  template <class Core>
  struct Body {
    VGPU_INLINE static void run(Warp& w, const Inst& in, u32) {
      const DotRule rule{25, ElementF16::min_exponent, ElementF16::min_exponent, HalfAccumulate};
      const typename F::Registers regs(w, in);
      Accumulators sum;
      std::memset(sum.value, 0, sizeof sum.value);
      for (int half = 0; half < 2; ++half) {
        RowsOfA a;
        ColumnsOfB b;
        F::template place_a<Core>(regs.a, 2 * half, 2 * half + 2, K / 2, rule, a);
        F::template place_b<Core>(regs.b, 2 * half, 2 * half + 2, K / 2, rule, b);
        Core::multiply(a, b, K / 2, rule, sum.in, sum.out);
        if (HalfAccumulate)
          for (auto& lanes : sum.value)
            for (f32& x : lanes) x = to_f32(sum_to_f16(x));
      }
      alignas(64) f32 c[4][kLanes];
      F::load(w, in, c);
      for (int i = 0; i < 4; ++i)
        for (int l = 0; l < kLanes; ++l) c[i][l] = canonical(c[i][l] + sum.value[i][l]);  // two halves: exact, then rounded once
      F::template store<to_f16>(w, in, c);
    }
  };
};

template <class F, template <class> class Body>
void add(Section& s, int k, const std::string& types, bool half) {
  const Value c = half ? Value::U32 : Value::F32;
  s.add({"mma.m16n8k" + std::to_string(k) + ".row.col." + types,
         "",
         {{Role::vec_dst, c, F::kC}, {Role::vec_src, Value::U32, F::kA}, {Role::vec_src, Value::U32, F::kB}, {Role::vec_src, c, F::kC}},
         bodies_by_core<Body>(),
         Pipe::tensor,
         Kind::plain,
         false,
         -1,
         static_cast<u32>(16 * 8 * k)});
}
template <class E, int K, bool Half>
void dense(Section& s) {
  const std::string acc = Half ? "f16" : "f32", e = E::name;
  add<Fragments<E, E, K, Half>, Mma<E, K, Half>::template Body>(s, K, acc + "." + e + "." + e + "." + acc, Half);
}
template <class A, class B>
void fp8(Section& s) {
  const std::string types = std::string(A::name) + "." + B::name;
  add<Fragments<A, B, 16, false>, MmaFp8<A, B, 16, false>::template Body>(s, 16, "f32." + types + ".f32", false);
  add<Fragments<A, B, 32, false>, MmaFp8<A, B, 32, false>::template Body>(s, 32, "f32." + types + ".f32", false);
  add<Fragments<A, B, 16, true>, MmaFp8<A, B, 16, true>::template Body>(s, 16, "f16." + types + ".f16", true);
  add<Fragments<A, B, 32, true>, MmaFp8<A, B, 32, true>::template Body>(s, 32, "f16." + types + ".f16", true);
}

}  // namespace

void add_dense_mma(Section& s) {
  dense<ElementF16, 8, false>(s), dense<ElementF16, 16, false>(s);
  dense<ElementF16, 8, true>(s), dense<ElementF16, 16, true>(s);
  dense<ElementBf16, 8, false>(s), dense<ElementBf16, 16, false>(s);
  dense<ElementTf32, 4, false>(s), dense<ElementTf32, 8, false>(s);
  fp8<ElementE4m3, ElementE4m3>(s), fp8<ElementE4m3, ElementE5m2>(s);
  fp8<ElementE5m2, ElementE4m3>(s), fp8<ElementE5m2, ElementE5m2>(s);
}

}  // namespace cutegen::vgpu
