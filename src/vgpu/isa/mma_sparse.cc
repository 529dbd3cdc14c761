// PTX ISA 9.7.14.6: mma.sp. A holds two of every four neighbours along k (tf32: one of two); the metadata says which. The products are
// those of B's elements at these places, the sums the tensor core's.
#include <algorithm>

#include "vgpu/isa/elements.h"
#include "vgpu/isa/matrix.h"

namespace cutegen::vgpu {
namespace {

// A register of the compressed A has row l/4 + 8 (r % 2) and columns from P (l%4) + 4 P (r / 2) on, as a dense one; B is dense.
//
// Metadata is four bits a chunk (four places; tf32: two places of two): two indices of two bits each, lowest chunk first. 16 bits are a
// part of a row: four chunks. The lower half of lane 4 g + s's word belongs to row g, the upper half to row g + 8, and part j is the lane
// s = first + j of the group, where `first` is the selector times the parts of a row; with four parts (64 bytes of k) lanes 0 and 2 have
// parts 0-1 and 2-3 of row g, lanes 1 and 3 those of row g + 8.
template <int Compressed, int PlacesAChunk, int KeptAChunk>
struct Selection {
  static constexpr int kChunks = Compressed / KeptAChunk, kParts = kChunks / 4;
  // k of compressed column c of a row.
  VGPU_INLINE static int place(const u32* metadata, u32 selector, int row, int c) {
    const int chunk = c / KeptAChunk, part = chunk / 4;
    const int lane = kParts < 4 ? static_cast<int>(selector) * kParts + part : 2 * (part / 2) + row / 8;
    const u32 bits = metadata[4 * (row % 8) + lane] >> (16 * (kParts < 4 ? row / 8 : part % 2));
    const u32 index = (bits >> (4 * (chunk % 4) + 2 * (c % KeptAChunk))) & 3;
    return PlacesAChunk * chunk + static_cast<int>(PlacesAChunk == 2 ? index >> 1 : index);
  }
};

template <class A, class B, int K, bool Half>
struct MmaSparse {
  static constexpr int P = 4 / A::bytes, C = K / 2;  // C: compressed columns
  static constexpr int kA = 2 * C / (4 * P), kB = K / (4 * P), kC = Half ? 2 : 4;
  using Places = Selection<C, A::bytes == 4 ? 2 : 4, A::bytes == 4 ? 1 : 2>;
  VGPU_INLINE static void run(Warp& w, const Inst& in, u32) {
    const Ref* op = in.op + kC;
    const u32* metadata = w.lanes<u32>(op[kA + kB + kC]);
    const u32 selector = op[kA + kB + kC + 1];
    f32 d[4][kLanes];
    for (int i = 0; i < 4; ++i)
      for (int l = 0; l < kLanes; ++l) {
        const int row = l / 4 + 8 * (i / 2), n = 2 * (l % 4) + i % 2;
        f32 a[C], b[C];
        for (int c = 0; c < C; ++c) {
          const int k = Places::place(metadata, selector, row, c);
          a[c] = element<A>(w.lanes<u32>(op[2 * (c / (4 * P)) + row / 8])[4 * (row % 8) + c / P % 4], c % P);
          b[c] = element<B>(w.lanes<u32>(op[kA + k / (4 * P)])[4 * n + k / P % 4], k % P);
        }
        const u32 word = w.lanes<u32>(op[kA + kB + (Half ? i / 2 : i)])[l];
        const f32 acc = Half ? element<ElementF16>(word, i % 2) : std::bit_cast<f32>(word);
        d[i][l] = sum(a, b, acc);
      }
    for (int i = 0; i < kC; ++i) {
      u32* r = w.lanes<u32>(in.op[i]);
      for (int l = 0; l < kLanes; ++l)
        r[l] = Half ? pack(sum_to_f16(d[2 * i % 4][l]), sum_to_f16(d[(2 * i + 1) % 4][l])).bits : std::bit_cast<u32>(d[i][l]);
    }
  }
  VGPU_INLINE static f32 sum(const f32* a, const f32* b, f32 c) {
    if constexpr (A::bytes != 1) {
      return fused_dot_add(a, b, C, c, {25, A::min_exponent, B::min_exponent, Half});
    } else {  // as dense FP8: halves, even chunks, then odd ones, then C in an ordinary addition
      f32 total = 0;
      for (int odd = 0; odd < 2; ++odd) {
        f32 x[C / 2], y[C / 2];
        for (int i = 0; i < C / 2; ++i) x[i] = a[i / 2 * 4 + 2 * odd + i % 2], y[i] = b[i / 2 * 4 + 2 * odd + i % 2];
        total = fused_dot_add(x, y, C / 2, total, {25, ElementF16::min_exponent, ElementF16::min_exponent, false});
      }
      return canonical(c + total);
    }
  }
};

// Bytes, or nibbles in pairs: the pair is what is chosen.
template <bool SignedA, bool SignedB, bool Nibbles, int Bytes, bool Saturate>
struct MmaSparseInteger {
  static constexpr int C = Bytes / 2, kA = C / 8, kB = Bytes / 16;
  using Places = Selection<C, 4, 2>;
  VGPU_INLINE static s32 product(u32 a, u32 b) {
    const auto part = [](u32 v, int shift, int bits, bool is_signed) {
      const u32 up = v << (32 - bits - shift);
      return is_signed ? static_cast<s32>(up) >> (32 - bits) : static_cast<s32>(up >> (32 - bits));
    };
    if (!Nibbles) return part(a, 0, 8, SignedA) * part(b, 0, 8, SignedB);
    return part(a, 0, 4, SignedA) * part(b, 0, 4, SignedB) + part(a, 4, 4, SignedA) * part(b, 4, 4, SignedB);
  }
  VGPU_INLINE static u32 byte(const u32* lanes, int lane, int i) { return (lanes[lane] >> (8 * i)) & 0xff; }
  VGPU_INLINE static void run(Warp& w, const Inst& in, u32) {
    const Ref* op = in.op + 4;
    const u32* metadata = w.lanes<u32>(op[kA + kB + 4]);
    u32 d[4][kLanes];
    for (int i = 0; i < 4; ++i)
      for (int l = 0; l < kLanes; ++l) {
        const int row = l / 4 + 8 * (i / 2), n = 2 * (l % 4) + i % 2;
        s64 sum = static_cast<s32>(w.lanes<u32>(op[kA + kB + i])[l]);
        for (int c = 0; c < C; ++c) {
          const int k = Places::place(metadata, op[kA + kB + 5], row, c);
          sum += product(byte(w.lanes<u32>(op[2 * (c / 16) + row / 8]), 4 * (row % 8) + c / 4 % 4, c % 4),
                         byte(w.lanes<u32>(op[kA + k / 16]), 4 * n + k / 4 % 4, k % 4));
        }
        if (Saturate) sum = std::clamp<s64>(sum, INT32_MIN, INT32_MAX);
        d[i][l] = static_cast<u32>(sum);
      }
    for (int i = 0; i < 4; ++i) std::memcpy(w.lanes<u32>(in.op[i]), d[i], sizeof d[i]);
  }
};

// Operands: D, A, B, C, metadata, selector. Both spellings: ordered metadata are what the hardware asks for anyway.
template <class M>
void sparse(Section& s, const std::string& rest, int k, Value acc, int accumulators, int a, int b) {
  for (const char* mma : {"mma.sp", "mma.sp::ordered_metadata"})
    s.add({std::string(mma) + ".m16n8k" + std::to_string(k) + ".row.col." + rest,
           "",
           {{Role::vec_dst, acc, static_cast<u8>(accumulators)},
            {Role::vec_src, Value::U32, static_cast<u8>(a)},
            {Role::vec_src, Value::U32, static_cast<u8>(b)},
            {Role::vec_src, acc, static_cast<u8>(accumulators)},
            {Role::src, Value::U32},
            {Role::imm}},
           bodies_of<M, false>(),
           Pipe::tensor,
           Kind::plain,
           false,
           -1,
           static_cast<u32>(16 * 8 * k)});
}
template <class A, class B, int K, bool Half>
void floating(Section& s) {
  using M = MmaSparse<A, B, K, Half>;
  const std::string acc = Half ? "f16" : "f32";
  sparse<M>(s, acc + "." + A::name + "." + B::name + "." + acc, K, Half ? Value::U32 : Value::F32, M::kC, M::kA, M::kB);
}
template <bool SA, bool SB, bool Nibbles, int Bytes, bool Saturate>
void integer(Section& s) {
  using M = MmaSparseInteger<SA, SB, Nibbles, Bytes, Saturate>;
  const std::string bits = Nibbles ? "4" : "8";
  sparse<M>(s, std::string(Saturate ? "satfinite." : "") + "s32." + (SA ? "s" : "u") + bits + "." + (SB ? "s" : "u") + bits + ".s32",
            Nibbles ? 2 * Bytes : Bytes, Value::U32, 4, M::kA, M::kB);
}
template <bool SA, bool SB>
void integers(Section& s) {
  integer<SA, SB, false, 32, false>(s), integer<SA, SB, false, 64, false>(s), integer<SA, SB, true, 32, false>(s);
  integer<SA, SB, true, 64, false>(s), integer<SA, SB, false, 32, true>(s), integer<SA, SB, false, 64, true>(s);
  integer<SA, SB, true, 32, true>(s), integer<SA, SB, true, 64, true>(s);
}

}  // namespace

void add_sparse_mma(Section& s) {
  floating<ElementF16, ElementF16, 16, false>(s), floating<ElementF16, ElementF16, 32, false>(s);
  floating<ElementF16, ElementF16, 16, true>(s), floating<ElementF16, ElementF16, 32, true>(s);
  floating<ElementBf16, ElementBf16, 16, false>(s), floating<ElementBf16, ElementBf16, 32, false>(s);
  floating<ElementTf32, ElementTf32, 8, false>(s), floating<ElementTf32, ElementTf32, 16, false>(s);
  floating<ElementE4m3, ElementE4m3, 64, false>(s), floating<ElementE4m3, ElementE5m2, 64, false>(s);
  floating<ElementE5m2, ElementE4m3, 64, false>(s), floating<ElementE5m2, ElementE5m2, 64, false>(s);
  integers<true, true>(s), integers<true, false>(s), integers<false, true>(s), integers<false, false>(s);
}

}  // namespace cutegen::vgpu
