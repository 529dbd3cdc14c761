// PTX ISA 9.7.14: ldmatrix, stmatrix, mma.sync. Products are exact in single precision; they are added one after the other in order of k,
// each sum rounded to nearest. The hardware's own order and truncation have not been measured.
#include "vgpu/isa/builder.h"
#include "vgpu/isa/registry.h"
#include "vgpu/mem/port.h"

namespace cutegen::vgpu {
namespace {

// Matrix q of a x1/x2/x4 move: lanes 8q..8q+7 hold the addresses of its eight 16-byte rows.
template <int N, Space S>
VGPU_INLINE Resolved rows(Warp& w, const Inst& in, int operand, u64* ea, Access access) {
  Port::addresses(w, in, operand, ea);
  const u32 lanes_used = N == 4 ? ~0u : (1u << (8 * N)) - 1;
  return w.port->resolve<S>(w, in, ea, lanes_used, 16, access);
}

// Lane l of register q gets elements (row l/4, columns 2(l%4) and +1) of matrix q, or of its transpose.
template <int N, bool Trans, Space S>
struct LoadMatrix {
  VGPU_INLINE static void run(Warp& w, const Inst& in, u32 mask) {
    alignas(64) u64 ea[kLanes];
    const Resolved r = rows<N, S>(w, in, N, ea, Access::load);
    for (int q = 0; q < N; ++q) {
      alignas(64) u16 tile[64];
      for (int row = 0; row < 8; ++row) std::memcpy(tile + 8 * row, r.delta + r.ea[8 * q + row], 16);
      alignas(64) u32 v[kLanes];
      if (Trans) {
        for (int l = 0; l < kLanes; ++l) v[l] = tile[16 * (l % 4) + l / 4] | static_cast<u32>(tile[16 * (l % 4) + 8 + l / 4]) << 16;
      } else {
        std::memcpy(v, tile, sizeof v);
      }
      write_lanes(w.lanes<u32>(in.op[q]), v, mask);
    }
  }
};
template <int N, bool Trans, Space S>
struct StoreMatrix {
  VGPU_INLINE static void run(Warp& w, const Inst& in, u32) {
    alignas(64) u64 ea[kLanes];
    const Resolved r = rows<N, S>(w, in, 0, ea, Access::store);
    for (int q = 0; q < N; ++q) {
      const u32* v = w.lanes<u32>(in.op[2 + q]);
      alignas(64) u16 tile[64];
      if (Trans) {
        for (int l = 0; l < kLanes; ++l) {
          tile[16 * (l % 4) + l / 4] = static_cast<u16>(v[l]);
          tile[16 * (l % 4) + 8 + l / 4] = static_cast<u16>(v[l] >> 16);
        }
      } else {
        std::memcpy(tile, v, sizeof tile);
      }
      for (int row = 0; row < 8; ++row) std::memcpy(r.delta + r.ea[8 * q + row], tile + 8 * row, 16);
    }
  }
};
template <int N, Space S>
void matrix_moves(Section& s, const std::string& space) {
  const std::string x = ".x" + std::to_string(N);
  const OperandSpec regs{Role::vec_dst, Value::U32, N}, from{Role::vec_src, Value::U32, N}, address{Role::address, Value::U64};
  s.add({"ldmatrix" + x + space, "", {regs, address}, bodies_of<LoadMatrix<N, false, S>, true>(), Pipe::lsu});
  s.add({"ldmatrix" + x + ".trans" + space, "", {regs, address}, bodies_of<LoadMatrix<N, true, S>, false>(), Pipe::lsu});
  s.add({"stmatrix" + x + space, "", {address, from}, bodies_of<StoreMatrix<N, false, S>, false>(), Pipe::lsu});
  s.add({"stmatrix" + x + ".trans" + space, "", {address, from}, bodies_of<StoreMatrix<N, true, S>, false>(), Pipe::lsu});
}

// Operand elements as the tensor core reads them.
struct Tf32 {  // 10 bits of mantissa; the low 13 bits of the register are ignored
  static constexpr int per_register = 1;
  VGPU_INLINE static f32 get(u32 reg, int) { return std::bit_cast<f32>(reg & ~0x1fffu); }
};
struct Half {
  static constexpr int per_register = 2;
  VGPU_INLINE static f32 get(u32 reg, int i) { return to_f32(f16{static_cast<u16>(reg >> (16 * i))}); }
};
struct Bf {
  static constexpr int per_register = 2;
  VGPU_INLINE static f32 get(u32 reg, int i) { return to_f32(bf16{static_cast<u16>(reg >> (16 * i))}); }
};

// mma m16n8k(K): with P elements a register, lane l holds of A rows l/4 (and +8) and columns P*(l%4).. (and + 4P), of B the same columns as
// rows k and column l/4, of C rows l/4 (and +8) and columns 2(l%4), +1. A lane's registers, read lane after lane, are therefore rows of the
// tile.
template <class E, int K, bool HalfAccumulate>
struct Mma {
  static constexpr int P = E::per_register, kHalves = K / (4 * P);  // register columns of 4P along k
  static constexpr int kA = 2 * kHalves, kB = kHalves, kC = HalfAccumulate ? 2 : 4;
  VGPU_INLINE static void run(Warp& w, const Inst& in, u32) {
    alignas(64) f32 a[16][K], bt[K][8], acc[16][8];
    for (int h = 0; h < kHalves; ++h) {
      for (int up = 0; up < 2; ++up) {
        const u32* r = w.lanes<u32>(in.op[kC + 2 * h + up]);
        for (int g = 0; g < 8; ++g)
          for (int t = 0; t < 4; ++t)
            for (int p = 0; p < P; ++p) a[8 * up + g][4 * P * h + P * t + p] = E::get(r[4 * g + t], p);
      }
      const u32* r = w.lanes<u32>(in.op[kC + kA + h]);
      for (int t = 0; t < 4; ++t)
        for (int p = 0; p < P; ++p)
          for (int g = 0; g < 8; ++g) bt[4 * P * h + P * t + p][g] = E::get(r[4 * g + t], p);
    }
    load_accumulators(w, in, acc[0]);
    for (int row = 0; row < 16; ++row) {
      f32 c[8];  // stays in a host register
      for (int n = 0; n < 8; ++n) c[n] = acc[row][n];
      for (int k = 0; k < K; ++k)
        for (int n = 0; n < 8; ++n) c[n] += a[row][k] * bt[k][n];
      for (int n = 0; n < 8; ++n) acc[row][n] = canonical(c[n]);
    }
    store_accumulators(w, in, acc[0]);
  }

  // Two columns a lane: the tile's rows are the lanes' pairs one after the other.
  VGPU_INLINE static void load_accumulators(Warp& w, const Inst& in, f32* flat) {
    for (int up = 0; up < 2; ++up) {
      if constexpr (HalfAccumulate) {
        const u32* c = w.lanes<u32>(in.op[kC + kA + kB + up]);
        for (int l = 0; l < kLanes; ++l) flat[64 * up + 2 * l] = Half::get(c[l], 0), flat[64 * up + 2 * l + 1] = Half::get(c[l], 1);
      } else {
        const f32 *x = w.lanes<f32>(in.op[kC + kA + kB + 2 * up]), *y = w.lanes<f32>(in.op[kC + kA + kB + 2 * up + 1]);
        for (int l = 0; l < kLanes; ++l) flat[64 * up + 2 * l] = x[l], flat[64 * up + 2 * l + 1] = y[l];
      }
    }
  }
  VGPU_INLINE static void store_accumulators(Warp& w, const Inst& in, const f32* flat) {
    for (int up = 0; up < 2; ++up) {
      if constexpr (HalfAccumulate) {
        u32* d = w.lanes<u32>(in.op[up]);
        for (int l = 0; l < kLanes; ++l) d[l] = pack(to_f16(flat[64 * up + 2 * l]), to_f16(flat[64 * up + 2 * l + 1])).bits;
      } else {
        f32 *x = w.lanes<f32>(in.op[2 * up]), *y = w.lanes<f32>(in.op[2 * up + 1]);
        for (int l = 0; l < kLanes; ++l) x[l] = flat[64 * up + 2 * l], y[l] = flat[64 * up + 2 * l + 1];
      }
    }
  }
};

template <class E, int K, bool HalfAccumulate>
void mma(Section& s, const std::string& types) {
  using M = Mma<E, K, HalfAccumulate>;
  const Value c = HalfAccumulate ? Value::U32 : Value::F32;
  s.add({"mma.m16n8k" + std::to_string(K) + ".row.col." + types,
         "",
         {{Role::vec_dst, c, M::kC}, {Role::vec_src, Value::U32, M::kA}, {Role::vec_src, Value::U32, M::kB}, {Role::vec_src, c, M::kC}},
         bodies_of<M, true>(),
         Pipe::tensor,
         Kind::plain,
         false,
         -1,
         16 * 8 * K});
}

// mma m16n8k32 and k16 of bytes, 32-bit accumulators that wrap. Four elements a register.
template <bool SignedA, bool SignedB, int K>
struct MmaByte {
  static constexpr int kHalves = K / 16, kA = 2 * kHalves, kB = kHalves;
  VGPU_INLINE static s32 get(u32 reg, int i, bool is_signed) {
    const auto b = static_cast<u8>(reg >> (8 * i));
    return is_signed ? static_cast<s8>(b) : static_cast<s32>(b);
  }
  VGPU_INLINE static void run(Warp& w, const Inst& in, u32) {
    u32 d[4][kLanes];
    for (int l = 0; l < kLanes; ++l)
      for (int c = 0; c < 4; ++c) {
        const int row = l / 4, n = 2 * (l % 4) + (c & 1);
        u32 sum = w.lanes<u32>(in.op[4 + kA + kB + c])[l];
        for (int k = 0; k < K; ++k) {
          const u32 a = w.lanes<u32>(in.op[4 + 2 * (k / 16) + (c >> 1)])[4 * row + (k % 16) / 4];
          const u32 b = w.lanes<u32>(in.op[4 + kA + k / 16])[4 * n + (k % 16) / 4];
          sum += static_cast<u32>(get(a, k % 4, SignedA) * get(b, k % 4, SignedB));
        }
        d[c][l] = sum;
      }
    for (int c = 0; c < 4; ++c) std::memcpy(w.lanes<u32>(in.op[c]), d[c], sizeof d[c]);
  }
};
template <bool SA, bool SB, int K>
void mma_byte(Section& s) {
  using M = MmaByte<SA, SB, K>;
  const std::string types = std::string("s32.") + (SA ? "s8." : "u8.") + (SB ? "s8" : "u8") + ".s32";
  s.add({"mma.m16n8k" + std::to_string(K) + ".row.col." + types,
         "",
         {{Role::vec_dst, Value::U32, 4},
          {Role::vec_src, Value::U32, M::kA},
          {Role::vec_src, Value::U32, M::kB},
          {Role::vec_src, Value::U32, 4}},
         bodies_of<M, false>(),
         Pipe::tensor,
         Kind::plain,
         false,
         -1,
         16 * 8 * K});
}

struct MmaDouble {  // m8n8k4: lane l holds A(l/4, l%4), B(l%4, l/4), C(l/4, 2(l%4)) and the next
  VGPU_INLINE static void run(Warp& w, const Inst& in, u32) {
    f64 d[2][kLanes];
    for (int l = 0; l < kLanes; ++l)
      for (int c = 0; c < 2; ++c) {
        d[c][l] = w.lanes<f64>(in.op[4 + c])[l];
        for (int k = 0; k < 4; ++k)
          d[c][l] = __builtin_fma(w.lanes<f64>(in.op[2])[4 * (l / 4) + k], w.lanes<f64>(in.op[3])[4 * (2 * (l % 4) + c) + k], d[c][l]);
      }
    for (int c = 0; c < 2; ++c) std::memcpy(w.lanes<f64>(in.op[c]), d[c], sizeof d[c]);
  }
};

template <bool Trans>
struct MoveMatrix {  // movmatrix: the transpose of an 8x8 matrix of 16-bit elements
  VGPU_INLINE static void run(Warp& w, const Inst& in, u32 mask) {
    alignas(64) u16 tile[64];
    std::memcpy(tile, w.lanes<u32>(in.op[1]), sizeof tile);
    alignas(64) u32 v[kLanes];
    for (int l = 0; l < kLanes; ++l) v[l] = tile[16 * (l % 4) + l / 4] | static_cast<u32>(tile[16 * (l % 4) + 8 + l / 4]) << 16;
    write_lanes(w.lanes<u32>(in.op[0]), v, mask);
  }
};

}  // namespace

std::vector<Form> matrix_forms() {
  Section s("Matrix: ldmatrix, stmatrix, mma");
  matrix_moves<1, Space::shared>(s, "");
  matrix_moves<2, Space::shared>(s, "");
  matrix_moves<4, Space::shared>(s, "");
  matrix_moves<1, Space::generic>(s, ".generic");
  matrix_moves<2, Space::generic>(s, ".generic");
  matrix_moves<4, Space::generic>(s, ".generic");
  s.add({"movmatrix.sync.aligned.m8n8.trans.b16", "", {{Role::dst}, {Role::src}}, bodies_of<MoveMatrix<true>, false>(), Pipe::lsu});
  mma<Half, 8, false>(s, "f32.f16.f16.f32");
  mma<Half, 16, false>(s, "f32.f16.f16.f32");
  mma<Half, 8, true>(s, "f16.f16.f16.f16");
  mma<Half, 16, true>(s, "f16.f16.f16.f16");
  mma<Bf, 8, false>(s, "f32.bf16.bf16.f32");
  mma<Bf, 16, false>(s, "f32.bf16.bf16.f32");
  mma<Tf32, 4, false>(s, "f32.tf32.tf32.f32");
  mma<Tf32, 8, false>(s, "f32.tf32.tf32.f32");
  mma_byte<true, true, 16>(s);
  mma_byte<true, true, 32>(s);
  mma_byte<false, false, 16>(s);
  mma_byte<false, false, 32>(s);
  mma_byte<true, false, 32>(s);
  mma_byte<false, true, 32>(s);
  s.add({"mma.m8n8k4.row.col.f64.f64.f64.f64",
         "",
         {{Role::vec_dst, Value::F64, 2}, {Role::vec_src, Value::F64, 1}, {Role::vec_src, Value::F64, 1}, {Role::vec_src, Value::F64, 2}},
         bodies_of<MmaDouble, false>(),
         Pipe::tensor,
         Kind::plain,
         false,
         -1,
         8 * 8 * 4});
  return s.take();
}

}  // namespace cutegen::vgpu
