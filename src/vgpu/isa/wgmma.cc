// PTX ISA 9.7.15: wgmma. Each warp of a warpgroup computes its own 16 rows, when the instruction is issued: fences and waits cost nothing,
// and a missing one is not noticed. Accumulation is as in matrix.cc.
#include <fmt/format.h>

#include <algorithm>

#include "vgpu/isa/builder.h"
#include "vgpu/isa/registry.h"
#include "vgpu/mem/port.h"

namespace cutegen::vgpu {
namespace {

// The matrix descriptor (PTX ISA 9.7.15.5.1.2.2). Offsets are in units of 16 bytes.
struct Descriptor {
  u32 start, leading, stride, swizzle_bits;  // swizzle_bits: 0 none, 1, 2, 3 for 32, 64, 128 bytes
  explicit Descriptor(u64 d)
      : start(static_cast<u32>(d & 0x3fff) << 4),
        leading(static_cast<u32>(d >> 16) & 0x3fff),
        stride(static_cast<u32>(d >> 32) & 0x3fff),
        swizzle_bits((4 - static_cast<u32>(d >> 62)) & 3) {}

  // Shared address of the 16-byte chunk that holds (mn, byte k of a row), K-major: rows of 8 form a core, 32 bytes of K are two chunks.
  u32 k_major(u32 mn, u32 chunk) const {
    const u32 row = (mn % 8) << swizzle_bits;
    return swizzled(start + 16 * (row + mn / 8 * stride + chunk * (swizzle_bits == 0 ? leading : 1)));
  }
  // The chunk of 8 consecutive 16-bit elements along MN that holds element mn of column k, MN-major.
  u32 mn_major(u32 mn, u32 k) const {
    const u32 c = mn / 8;
    if (swizzle_bits == 0) return swizzled(start + 16 * (c * stride + k % 8 + k / 8 * leading));
    const u32 width = 1u << swizzle_bits;
    return swizzled(start + 16 * (c % width + c / width * leading + k % 8 * width + k / 8 * stride));
  }
  // The pattern repeats in the address itself: bits 4.. are flipped by bits 7...
  u32 swizzled(u32 address) const { return address ^ (((address >> 7) & ((1u << swizzle_bits) - 1)) << 4); }
};

const char* chunk_at(Warp& w, u32 address) {
  if (address >= kSharedStart && address + 16 <= w.cta->shared_end) return w.cta->shared + address;
  return w.port->at(w, Space::shared, address, 16, 16, Access::load, 0);  // faults
}

struct ElementTf32 {
  static constexpr u32 bytes = 4;
  VGPU_INLINE static f32 get(const char* p) {
    u32 v;
    std::memcpy(&v, p, 4);
    return std::bit_cast<f32>(v & ~0x1fffu);
  }
};
struct ElementHalf {
  static constexpr u32 bytes = 2;
  VGPU_INLINE static f32 get(const char* p) {
    f16 v;
    std::memcpy(&v, p, 2);
    return to_f32(v);
  }
};
struct ElementBf {
  static constexpr u32 bytes = 2;
  VGPU_INLINE static f32 get(const char* p) {
    bf16 v;
    std::memcpy(&v, p, 2);
    return to_f32(v);
  }
};
struct ElementE4m3 {  // 1.4.3, bias 7: an f16 with its exponent 8 too small
  static constexpr u32 bytes = 1;
  VGPU_INLINE static f32 get(const char* p) {
    const auto v = static_cast<u8>(*p);
    const f32 x = to_f32(f16{static_cast<u16>((v & 0x80u) << 8 | (v & 0x7fu) << 7)}) * 256.0f;
    return (v & 0x7f) == 0x7f ? std::bit_cast<f32>(kNan32) : x;
  }
};
struct ElementE5m2 {
  static constexpr u32 bytes = 1;
  VGPU_INLINE static f32 get(const char* p) { return to_f32(f16{static_cast<u16>(static_cast<u8>(*p) << 8)}); }
};

constexpr u32 kMaxN = 256, kMaxK = 32;

// K columns are 32 bytes whatever the type. `to(mn, k, value)` stores one element.
template <class E, class F>
VGPU_INLINE void read_tile(Warp& w, const Descriptor& d, u32 first, u32 count, bool mn_major, F to) {
  constexpr u32 K = 32 / E::bytes, per_chunk = 16 / E::bytes;
  if (mn_major) {
    for (u32 k = 0; k < K; ++k)
      for (u32 mn = 0; mn < count; mn += 8) {
        const char* p = chunk_at(w, d.mn_major(first + mn, k));
        for (u32 i = 0; i < 8; ++i) to(mn + i, k, E::get(p + i * E::bytes));
      }
    return;
  }
  for (u32 mn = 0; mn < count; ++mn)
    for (u32 chunk = 0; chunk < 2; ++chunk) {
      const char* p = chunk_at(w, d.k_major(first + mn, chunk));
      for (u32 i = 0; i < per_chunk; ++i) to(mn, chunk * per_chunk + i, E::get(p + i * E::bytes));
    }
}

// Operand references in order: N/2 (or N/4) accumulators, A (descriptor or 4 registers), B, scale-d, then what the form has of the literals
// scale-a, scale-b, trans-a, trans-b.
template <class E, bool HalfAccumulate, bool FromRegisters, bool Transposes>
struct Wgmma {
  static constexpr u32 K = 32 / E::bytes;
  VGPU_INLINE static void run(Warp& w, const Inst& in, u32) {
    const u32 N = in.param / (16 * K), accumulators = N / (HalfAccumulate ? 4 : 2);
    const Ref* op = in.op + accumulators;
    const Ref* a_op = op;
    op += FromRegisters ? 4 : 1;
    const Descriptor b(w.lanes<u64>(op[0])[0]);
    const bool add = (w.predicate(op[1]) & 1) != 0;
    const f32 scale_a = op[2] == ~0u ? -1.0f : 1.0f, scale_b = op[3] == ~0u ? -1.0f : 1.0f;
    const bool trans_a = Transposes && !FromRegisters && op[4] != 0, trans_b = Transposes && op[FromRegisters ? 4 : 5] != 0;

    alignas(64) static thread_local f32 bt[kMaxK][kMaxN], acc[16][kMaxN];
    alignas(64) f32 at[16][kMaxK];
    if constexpr (FromRegisters) {
      constexpr u32 P = 4 / E::bytes;
      for (u32 r = 0; r < 4; ++r) {
        const char* lanes = w.lanes<char>(a_op[r]);
        for (u32 l = 0; l < kLanes; ++l)
          for (u32 p = 0; p < P; ++p)
            at[l / 4 + 8 * (r % 2)][4 * P * (r / 2) + P * (l % 4) + p] = scale_a * E::get(lanes + 4 * l + E::bytes * p);
      }
    } else {
      read_tile<E>(w, Descriptor(w.lanes<u64>(a_op[0])[0]), 16 * (w.index % 4), 16, trans_a,
                   [&](u32 m, u32 k, f32 v) { at[m][k] = scale_a * v; });
    }
    read_tile<E>(w, b, 0, N, trans_b, [&](u32 n, u32 k, f32 v) { bt[k][n] = scale_b * v; });
    load_accumulators(w, in, N, add, acc);
    multiply(at, bt, acc, N);
    store_accumulators(w, in, N, acc);
  }

  VGPU_INLINE static void multiply(const f32 (*at)[kMaxK], const f32 (*bt)[kMaxN], f32 (*acc)[kMaxN], u32 N) {
    constexpr u32 B = 32;  // columns that stay in host registers
    for (u32 first = 0; first < N; first += B)
      for (u32 m = 0; m < 16; ++m) {
        f32 c[B];
        for (u32 n = 0; n < B; ++n) c[n] = acc[m][first + n];
        for (u32 k = 0; k < K; ++k)
          for (u32 n = 0; n < B; ++n) c[n] += at[m][k] * bt[k][first + n];
        for (u32 n = 0; n < B; ++n) acc[m][first + n] = c[n];
      }
  }

  // Register i of lane l: row l/4 (+8), columns 8 (i/4) + 2 (l%4), +1; two columns a register when the accumulators are halves.
  VGPU_INLINE static void load_accumulators(Warp& w, const Inst& in, u32 N, bool add, f32 (*acc)[kMaxN]) {
    for (u32 i = 0; i < N / 2; ++i)
      for (u32 l = 0; l < kLanes; ++l) {
        f32& c = acc[l / 4 + 8 * (i / 2 % 2)][8 * (i / 4) + 2 * (l % 4) + i % 2];
        if (!add)
          c = 0;
        else if constexpr (HalfAccumulate)
          c = to_f32(f16{static_cast<u16>(w.lanes<u32>(in.op[i / 2])[l] >> (16 * (i % 2)))});
        else
          c = w.lanes<f32>(in.op[i])[l];
      }
  }
  VGPU_INLINE static void store_accumulators(Warp& w, const Inst& in, u32 N, const f32 (*acc)[kMaxN]) {
    for (u32 i = 0; i < N / 2; ++i)
      for (u32 l = 0; l < kLanes; ++l) {
        const f32 c = canonical(acc[l / 4 + 8 * (i / 2 % 2)][8 * (i / 4) + 2 * (l % 4) + i % 2]);
        if constexpr (HalfAccumulate) {
          u32& r = w.lanes<u32>(in.op[i / 2])[l];
          r = i % 2 == 0 ? to_f16(c).bits : (r & 0xffffu) | static_cast<u32>(to_f16(c).bits) << 16;
        } else {
          w.lanes<f32>(in.op[i])[l] = c;
        }
      }
  }
};

template <class E, bool HalfAccumulate, bool Transposes>
void shapes(Section& s, const std::string& types) {
  constexpr u32 K = 32 / E::bytes;
  const Value acc = HalfAccumulate ? Value::U32 : Value::F32;
  const OperandSpec desc{Role::src, Value::U64}, scale_d{Role::src, Value::Pred}, literal{Role::imm};
  for (u32 n = 8; n <= kMaxN; n += 8) {
    const std::string name = "wgmma.mma_async.m64n" + std::to_string(n) + "k" + std::to_string(K) + "." + types;
    const OperandSpec d{Role::vec_dst, acc, static_cast<u8>(n / (HalfAccumulate ? 4 : 2))};
    std::vector<OperandSpec> ss{d, desc, desc, scale_d, literal, literal},
        rs{d, {Role::vec_src, Value::U32, 4}, desc, scale_d, literal, literal};
    if (Transposes) ss.insert(ss.end(), {literal, literal}), rs.push_back(literal);
    const u32 macs = 16 * n * K;  // of one warp; K is fixed, so this gives N
    s.add({name, "", ss, bodies_of<Wgmma<E, HalfAccumulate, false, Transposes>, true>(), Pipe::tensor, Kind::plain, false, -1, macs});
    s.add(
        {name + ".rs", "", rs, bodies_of<Wgmma<E, HalfAccumulate, true, Transposes>, true>(), Pipe::tensor, Kind::plain, false, -1, macs});
  }
}

}  // namespace

std::vector<Form> wgmma_forms() {
  Section s("Matrix: wgmma");
  constexpr auto nothing = [](Warp&, const Inst&, u32) {};
  s.whole<nothing>("wgmma.fence", {}, Pipe::control);
  s.whole<nothing>("wgmma.commit_group", {}, Pipe::control);
  s.whole<nothing>("wgmma.wait_group", {{Role::imm}}, Pipe::control);
  shapes<ElementHalf, false, true>(s, "f32.f16.f16");
  shapes<ElementHalf, true, true>(s, "f16.f16.f16");
  shapes<ElementBf, false, true>(s, "f32.bf16.bf16");
  shapes<ElementTf32, false, false>(s, "f32.tf32.tf32");
  shapes<ElementE4m3, false, false>(s, "f32.e4m3.e4m3");
  shapes<ElementE5m2, false, false>(s, "f32.e5m2.e5m2");
  return s.take();
}

}  // namespace cutegen::vgpu
