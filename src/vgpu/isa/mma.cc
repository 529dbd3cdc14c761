// PTX ISA 9.7.14.5: mma.sync of floating-point types, dense. Sums are the tensor core's: tensor_core.h.
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

  // Quads first.. of the registers' elements p in [p0, p1); `products` of them, zeros where there are fewer.
  template <class Core>
  VGPU_INLINE static void place(Warp& w, const Inst& in, int p0, int p1, int products, const DotRule& rule, RowsOfA& a, ColumnsOfB& b) {
    const int each = p1 - p0;
    for (int pair = 0; pair < products / 8; ++pair) {
      alignas(64) f32 qa[2][64], qb[2][32];
      for (int i = 0; i < 2; ++i) {
        const int quad = 2 * pair + i, h = quad / each, p = p0 + quad % each;
        if (h >= kHalves) {
          std::memset(qa[i], 0, sizeof qa[i]), std::memset(qb[i], 0, sizeof qb[i]);
          continue;
        }
        const u32 *low = w.lanes<u32>(in.op[kC + 2 * h]), *high = w.lanes<u32>(in.op[kC + 2 * h + 1]);
        const u32* column = w.lanes<u32>(in.op[kC + kA + h]);
        for (int l = 0; l < kLanes; ++l) qa[i][l] = element<A>(low[l], p);
        for (int l = 0; l < kLanes; ++l) qa[i][32 + l] = element<A>(high[l], p);
        for (int l = 0; l < kLanes; ++l) qb[i][l] = element<B>(column[l], p);
      }
      Core::place_a(qa[0], a, 8 * pair, rule);
      Core::place_b(qb[0], b, 8 * pair, rule);
    }
  }

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

template <class E, int K, bool HalfAccumulate>
struct Mma {
  using F = Fragments<E, E, K, HalfAccumulate>;
  template <class Core>
  struct Body {
    VGPU_INLINE static void run(Warp& w, const Inst& in, u32) {
      constexpr int kProducts = K < 8 ? 8 : K;
      const DotRule rule{25, E::min_exponent, E::min_exponent, HalfAccumulate};
      RowsOfA a;
      ColumnsOfB b;
      Accumulators c;
      F::template place<Core>(w, in, 0, F::P, kProducts, rule, a, b);
      F::load(w, in, c.value);
      Core::multiply(a, b, kProducts, rule, c.in, c.out);
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
      Accumulators sum;
      std::memset(sum.value, 0, sizeof sum.value);
      for (int half = 0; half < 2; ++half) {
        RowsOfA a;
        ColumnsOfB b;
        F::template place<Core>(w, in, 2 * half, 2 * half + 2, K / 2, rule, a, b);
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
