// PTX ISA 9.7.14: ldmatrix, stmatrix, movmatrix; mma.sync is in mma*.cc.
#include "vgpu/isa/matrix.h"

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
  add_dense_mma(s);
  add_integer_mma(s);
  add_sparse_mma(s);
  return s.take();
}

}  // namespace cutegen::vgpu
