// PTX ISA 9.7.14.5: mma.sync of bytes, nibbles and bits, exact with 32-bit accumulators that wrap or saturate; and of doubles, a chain of
// fused multiply-adds in order of k.
#include <algorithm>

#include "vgpu/isa/matrix.h"
#include "vgpu/isa/numerics.h"

namespace cutegen::vgpu {
namespace {

// Lane l's register r holds of A row l/4 + 8 (r % 2), of B column l/4, both `per` values of k from per (l%4) + 4 per (r / 2) (B: r) on; of
// C rows l/4 + 8 (r / 2) and columns 2(l%4) + r % 2. Shapes of 8 rows have the even registers only.
template <bool Signed, int Bits>
struct Integers {
  static constexpr int per = 32 / Bits;
  VGPU_INLINE static s32 get(u32 reg, int i) {
    const u32 up = reg << (32 - Bits * (i + 1));
    return Signed ? static_cast<s32>(up) >> (32 - Bits) : static_cast<s32>(up >> (32 - Bits));
  }
};
template <class A, class B>
struct Products {  // of two registers
  static constexpr int per = A::per;
  VGPU_INLINE static s32 sum(u32 a, u32 b) {
    s32 s = 0;
    for (int i = 0; i < per; ++i) s += A::get(a, i) * B::get(b, i);
    return s;
  }
};
template <bool Xor>
struct Population {
  static constexpr int per = 32;
  VGPU_INLINE static s32 sum(u32 a, u32 b) { return std::popcount(Xor ? a ^ b : a & b); }
};

template <class P, int Rows, int Halves, bool Saturate>
struct MmaInteger {
  static constexpr int kTall = Rows / 8, kA = kTall * Halves, kB = Halves, kC = 2 * kTall;
  VGPU_INLINE static void run(Warp& w, const Inst& in, u32) {
    u32 d[kC][kLanes];
    for (int c = 0; c < kC; ++c)
      for (int l = 0; l < kLanes; ++l) {
        const int row = l / 4, n = 2 * (l % 4) + c % 2;
        s64 sum = static_cast<s32>(w.lanes<u32>(in.op[kC + kA + kB + c])[l]);
        for (int h = 0; h < Halves; ++h) {
          const u32* a = w.lanes<u32>(in.op[kC + kTall * h + c / 2]) + 4 * row;
          const u32* b = w.lanes<u32>(in.op[kC + kA + h]) + 4 * n;
          for (int t = 0; t < 4; ++t) sum += P::sum(a[t], b[t]);
        }
        if (Saturate) sum = std::clamp<s64>(sum, INT32_MIN, INT32_MAX);
        d[c][l] = static_cast<u32>(sum);
      }
    for (int c = 0; c < kC; ++c) std::memcpy(w.lanes<u32>(in.op[c]), d[c], sizeof d[c]);
  }
};

template <class P, int Rows, int Halves, bool Saturate>
void integer(Section& s, const std::string& types) {
  using M = MmaInteger<P, Rows, Halves, Saturate>;
  const int k = 4 * P::per * Halves;
  s.add({"mma.m" + std::to_string(Rows) + "n8k" + std::to_string(k) + ".row.col." + (Saturate ? "satfinite." : "") + types,
         "",
         {{Role::vec_dst, Value::U32, M::kC},
          {Role::vec_src, Value::U32, M::kA},
          {Role::vec_src, Value::U32, M::kB},
          {Role::vec_src, Value::U32, M::kC}},
         bodies_of<M, false>(),
         Pipe::tensor,
         Kind::plain,
         false,
         -1,
         static_cast<u32>(Rows * 8 * k)});
}
template <class P, bool Saturate>
void integer_shapes(Section& s, const std::string& types) {
  integer<P, 8, 1, Saturate>(s, types), integer<P, 16, 1, Saturate>(s, types), integer<P, 16, 2, Saturate>(s, types);
}
template <bool SA, bool SB, int Bits>
void integer_types(Section& s) {
  const std::string b = std::to_string(Bits);
  const std::string types = std::string("s32.") + (SA ? "s" : "u") + b + "." + (SB ? "s" : "u") + b + ".s32";
  using P = Products<Integers<SA, Bits>, Integers<SB, Bits>>;
  integer_shapes<P, false>(s, types);
  integer_shapes<P, true>(s, types);
}
template <int Bits>
void integer_signs(Section& s) {
  integer_types<true, true, Bits>(s), integer_types<true, false, Bits>(s);
  integer_types<false, true, Bits>(s), integer_types<false, false, Bits>(s);
}

// Of several NaNs B's is kept, then the accumulator's, then A's; a signalling one becomes quiet.
VGPU_INLINE f64 chain(f64 a, f64 b, f64 c) {
  const f64 nan = b != b ? b : c != c ? c : a;
  return nan != nan ? std::bit_cast<f64>(std::bit_cast<u64>(nan) | 0x0008000000000000ull) : __builtin_fma(a, b, c);
}

// Lane l's register r holds A(l/4 + 8 (r%2), l%4 + 4 (r/2)), B(l%4 + 4 r, l/4), C(l/4 + 8 (r/2), 2(l%4) + r%2).
template <int Rows, int K>
struct MmaDouble {
  static constexpr int kTall = Rows / 8, kA = kTall * K / 4, kB = K / 4, kC = 2 * kTall;
  VGPU_INLINE static void run(Warp& w, const Inst& in, u32) {
    f64 d[kC][kLanes];
    for (int c = 0; c < kC; ++c)
      for (int l = 0; l < kLanes; ++l) {
        f64 sum = w.lanes<f64>(in.op[kC + kA + kB + c])[l];
        for (int k = 0; k < K; ++k) {
          const f64 a = w.lanes<f64>(in.op[kC + kTall * (k / 4) + c / 2])[4 * (l / 4) + k % 4];
          const f64 b = w.lanes<f64>(in.op[kC + kA + k / 4])[4 * (2 * (l % 4) + c % 2) + k % 4];
          sum = chain(a, b, sum);
        }
        d[c][l] = sum;
      }
    for (int c = 0; c < kC; ++c) std::memcpy(w.lanes<f64>(in.op[c]), d[c], sizeof d[c]);
  }
};
template <int Rows, int K>
void doubles(Section& s) {
  using M = MmaDouble<Rows, K>;
  s.add({"mma.m" + std::to_string(Rows) + "n8k" + std::to_string(K) + ".row.col.f64.f64.f64.f64",
         "",
         {{Role::vec_dst, Value::F64, M::kC},
          {Role::vec_src, Value::F64, M::kA},
          {Role::vec_src, Value::F64, M::kB},
          {Role::vec_src, Value::F64, M::kC}},
         bodies_of<M, false>(),
         Pipe::tensor,
         Kind::plain,
         false,
         -1,
         static_cast<u32>(Rows * 8 * K)});
}

}  // namespace

void add_integer_mma(Section& s) {
  integer_signs<8>(s);
  integer_signs<4>(s);
  for (const bool exclusive : {true, false}) {
    const std::string types = std::string("s32.b1.b1.s32.") + (exclusive ? "xor" : "and") + ".popc";
    exclusive ? integer_shapes<Population<true>, false>(s, types) : integer_shapes<Population<false>, false>(s, types);
  }
  doubles<8, 4>(s), doubles<16, 4>(s), doubles<16, 8>(s), doubles<16, 16>(s);
}

}  // namespace cutegen::vgpu
