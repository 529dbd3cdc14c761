// PTX ISA 9.7.15: wgmma. Each warp of a warpgroup computes its own 16 rows when the machine says so (exec/async.h). Sums are the tensor
// core's: tensor_core.h.
#include <algorithm>

#include "vgpu/isa/elements.h"
#include "vgpu/isa/matrix.h"
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

template <class E>
VGPU_INLINE f32 element_at(const char* p) {
  std::conditional_t<E::bytes == 4, u32, std::conditional_t<E::bytes == 2, u16, u8>> v;
  std::memcpy(&v, p, sizeof v);
  return E::get(v);
}

constexpr u32 kMaxN = 256;

// `Count` rows of A or columns of B as quads: to[k / 4][mn][k % 4]. K columns are 32 bytes whatever the type.
template <class E, u32 Count>
VGPU_INLINE void read_quads(Warp& w, const Descriptor& d, u32 first, bool mn_major, f32 scale, u32 (*to)[Count][4]) {
  constexpr u32 K = 32 / E::bytes, per_chunk = 16 / E::bytes;
  if (mn_major) {
    for (u32 mn = 0; mn < Count; mn += 8)
      for (u32 k = 0; k < K; ++k) {
        const char* p = chunk_at(w, d.mn_major(first + mn, k));
        for (u32 i = 0; i < 8; ++i) to[k / 4][mn + i][k % 4] = std::bit_cast<u32>(scale * element_at<E>(p + i * E::bytes));
      }
    return;
  }
  for (u32 mn = 0; mn < Count; ++mn)
    for (u32 chunk = 0; chunk < 2; ++chunk) {
      const char* p = chunk_at(w, d.k_major(first + mn, chunk));
      f32 v[per_chunk];
      for (u32 i = 0; i < per_chunk; ++i) v[i] = scale * element_at<E>(p + i * E::bytes);
      for (u32 i = 0; i < per_chunk; i += 4) std::memcpy(to[(chunk * per_chunk + i) / 4][mn], v + i, 16);
    }
}

enum class Result { single, half, single_13 };  // single_13: FP8's sums keep 13 bits of mantissa

// Operand references in order: N/2 (or N/4) accumulators, A (descriptor or 4 registers), B, scale-d, then what the form has of the literals
// scale-a, scale-b, trans-a, trans-b.
template <class A, class B, Result R, bool FromRegisters, bool Transposes>
struct Wgmma {
  static constexpr u32 K = 32 / A::bytes;
  static constexpr bool kHalf = R == Result::half;
  template <class Core>
  struct Body {
    VGPU_INLINE static void run(Warp& w, const Inst& in, u32) {
      const u32 N = in.param / (16 * K), accumulators = N / (kHalf ? 4 : 2);
      const Ref* a_op = in.op + accumulators;
      const Ref* op = a_op + (FromRegisters ? 4 : 1);
      const Descriptor desc_b(w.lanes<u64>(op[0])[0]);
      const bool add = (w.predicate(op[1]) & 1) != 0;
      const f32 scale_a = op[2] == ~0u ? -1.0f : 1.0f, scale_b = op[3] == ~0u ? -1.0f : 1.0f;
      const bool trans_a = Transposes && !FromRegisters && op[4] != 0, trans_b = Transposes && op[FromRegisters ? 4 : 5] != 0;
      const DotRule rule{A::bytes == 1 ? 13 : 25, A::min_exponent, B::min_exponent, kHalf};
      RowsOfA a;
      place_a<Core>(w, a_op, trans_a, scale_a, rule, a);
      for (u32 n = 0; n < N; n += 8) {
        ColumnsOfB b;
        place_b<Core>(w, desc_b, n, trans_b, scale_b, rule, b);
        columns<Core>(w, in, n / 8, add, rule, a, b);
      }
    }
  };

  template <class Core>
  VGPU_INLINE static void place_a(Warp& w, const Ref* op, bool transposed, f32 scale, const DotRule& rule, RowsOfA& a) {
    alignas(64) u32 quads[K / 4][16][4];
    if constexpr (FromRegisters) {
      constexpr u32 P = 4 / A::bytes;
      for (u32 r = 0; r < 4; ++r) {
        const u32* lanes = w.lanes<u32>(op[r]);
        for (u32 l = 0; l < kLanes; ++l)
          for (u32 p = 0; p < P; ++p) {
            const u32 k = 4 * P * (r / 2) + P * (l % 4) + p;
            quads[k / 4][l / 4 + 8 * (r % 2)][k % 4] = std::bit_cast<u32>(scale * element<A>(lanes[l], static_cast<int>(p)));
          }
      }
    } else {
      read_quads<A, 16>(w, Descriptor(w.lanes<u64>(op[0])[0]), 16 * (w.index % 4), transposed, scale, quads);
    }
    const u32* q = &quads[0][0][0];
    for (u32 k = 0; k < K; k += 8, q += 128) {
      const u32* const parts[4] = {q, q + 32, q + 64, q + 96};
      Core::place_a(parts, ~0u, a, static_cast<int>(k), rule);
    }
  }

  template <class Core>
  VGPU_INLINE static void place_b(Warp& w, const Descriptor& d, u32 first, bool mn_major, f32 scale, const DotRule& rule, ColumnsOfB& b) {
    if constexpr (B::bytes == 2) {
      if (!mn_major) {
        const char* chunks[16];
        alignas(64) u32 at[16];
        for (u32 i = 0; i < 16; ++i) at[i] = d.k_major(first + i / 2, i % 2);
        u32 lowest = at[0], highest = at[0];
        for (const u32 address : at) lowest = std::min(lowest, address), highest = std::max(highest, address);
        if (lowest < kSharedStart || highest + 16 > w.cta->shared_end) [[unlikely]]
          for (const u32 address : at) chunk_at(w, address);
        for (u32 i = 0; i < 16; ++i) chunks[i] = w.cta->shared + at[i];
        return Core::place_halves(chunks, std::is_same_v<B, ElementBf16>, scale < 0, b, rule);
      }
    }
    alignas(64) u32 quads[K / 4][8][4];
    read_quads<B, 8>(w, d, first, mn_major, scale, quads);
    const u32* q = &quads[0][0][0];
    for (u32 k = 0; k < K; k += 8, q += 64) {
      const u32* const parts[2] = {q, q + 32};
      Core::place_b(parts, ~0u, b, static_cast<int>(k), rule);
    }
  }

  // Register i of lane l: row l/4 (+8), columns 8 (i/4) + 2 (l%4), +1; two columns a register when the accumulators are halves.
  template <class Core>
  VGPU_INLINE static void columns(Warp& w, const Inst& in, u32 group, bool add, const DotRule& rule, const RowsOfA& a,
                                  const ColumnsOfB& b) {
    alignas(64) static constexpr f32 kZeros[kLanes] = {};
    alignas(64) f32 unpacked[4][kLanes];
    const f32* c[4];
    f32* d[4];
    for (u32 i = 0; i < 4; ++i) {
      if constexpr (kHalf) {
        const u32* r = w.lanes<u32>(in.op[2 * group + i / 2]);
        for (int l = 0; l < kLanes; ++l) unpacked[i][l] = element<ElementF16>(r[l], static_cast<int>(i % 2));
        d[i] = unpacked[i];
      } else {
        d[i] = w.lanes<f32>(in.op[4 * group + i]);
      }
      c[i] = add ? d[i] : kZeros;
    }
    Core::multiply(a, b, static_cast<int>(K), rule, c, d);
    if constexpr (kHalf) {
      for (u32 i = 0; i < 2; ++i) {
        u32* r = w.lanes<u32>(in.op[2 * group + i]);
        for (int l = 0; l < kLanes; ++l) r[l] = pack(sum_to_f16(unpacked[2 * i][l]), sum_to_f16(unpacked[2 * i + 1][l])).bits;
      }
    } else if constexpr (R == Result::single_13) {
      for (f32* lanes : d)
        for (int l = 0; l < kLanes; ++l) lanes[l] = canonical(std::bit_cast<f32>(std::bit_cast<u32>(lanes[l]) & ~0x3ffu));
    }
  }
};

// Bytes with 32-bit accumulators, exact.
template <bool SignedA, bool SignedB, bool FromRegisters, bool Saturate>
struct WgmmaByte {
  static constexpr u32 K = 32;
  VGPU_INLINE static s32 get(char byte, bool is_signed) { return is_signed ? static_cast<s8>(byte) : static_cast<u8>(byte); }
  VGPU_INLINE static void run(Warp& w, const Inst& in, u32) {
    const u32 N = in.param / (16 * K);
    const Ref* a_op = in.op + N / 2;
    const Ref* op = a_op + (FromRegisters ? 4 : 1);
    const bool add = (w.predicate(op[1]) & 1) != 0;
    const Descriptor desc_b(w.lanes<u64>(op[0])[0]);
    s32 a[16][K], b[K];
    for (u32 m = 0; m < 16; ++m)
      for (u32 k = 0; k < K; ++k) {
        if constexpr (FromRegisters)
          a[m][k] = get(w.lanes<char>(a_op[m / 8 + 2 * (k / 16)])[4 * (4 * (m % 8) + k % 16 / 4) + k % 4], SignedA);
        else
          a[m][k] = get(chunk_at(w, Descriptor(w.lanes<u64>(a_op[0])[0]).k_major(16 * (w.index % 4) + m, k / 16))[k % 16], SignedA);
      }
    for (u32 n = 0; n < N; ++n) {
      for (u32 k = 0; k < K; ++k) b[k] = get(chunk_at(w, desc_b.k_major(n, k / 16))[k % 16], SignedB);
      for (u32 m = 0; m < 16; ++m) {
        s32& d = w.lanes<s32>(in.op[n / 8 * 4 + m / 8 * 2 + n % 2])[4 * (m % 8) + n % 8 / 2];
        s32 products = 0;
        for (u32 k = 0; k < K; ++k) products += a[m][k] * b[k];
        const s64 sum = s64{products} + (add ? d : 0);
        d = Saturate ? static_cast<s32>(std::clamp<s64>(sum, INT32_MIN, INT32_MAX)) : static_cast<s32>(static_cast<u32>(sum));
      }
    }
  }
};

const OperandSpec kDescriptor{Role::src, Value::U64}, kScaleD{Role::src, Value::Pred}, kLiteral{Role::imm};

void add(Section& s, const std::string& name, OperandSpec d, OperandSpec a, std::initializer_list<OperandSpec> rest, const Bodies& bodies,
         u32 macs) {
  std::vector<OperandSpec> operands{d, a, kDescriptor, kScaleD};
  operands.insert(operands.end(), rest);
  s.add({name, "", operands, bodies, Pipe::tensor, Kind::plain, false, -1, macs});
}

constexpr OperandSpec kFromRegisters{Role::vec_src, Value::U32, 4};

template <class A, class B, Result R, bool Transposes>
void shapes(Section& s) {
  constexpr u32 K = 32 / A::bytes;
  constexpr bool kHalf = R == Result::half;
  const std::string types = std::string(kHalf ? "f16." : "f32.") + A::name + "." + B::name;
  const Bodies ss = bodies_by_core<Wgmma<A, B, R, false, Transposes>::template Body>();
  const Bodies rs = bodies_by_core<Wgmma<A, B, R, true, Transposes>::template Body>();
  for (u32 n = 8; n <= kMaxN; n += 8) {
    const std::string name = "wgmma.mma_async.m64n" + std::to_string(n) + "k" + std::to_string(K) + "." + types;
    const OperandSpec d{Role::vec_dst, kHalf ? Value::U32 : Value::F32, static_cast<u8>(n / (kHalf ? 4 : 2))};
    const u32 macs = 16 * n * K;  // of one warp; K is fixed, so this gives N
    if (Transposes) {
      add(s, name, d, kDescriptor, {kLiteral, kLiteral, kLiteral, kLiteral}, ss, macs);
      add(s, name + ".rs", d, kFromRegisters, {kLiteral, kLiteral, kLiteral}, rs, macs);
    } else {
      add(s, name, d, kDescriptor, {kLiteral, kLiteral}, ss, macs);
      add(s, name + ".rs", d, kFromRegisters, {kLiteral, kLiteral}, rs, macs);
    }
  }
}

template <class A, class B>
void fp8_shapes(Section& s) {
  shapes<A, B, Result::single_13, false>(s);
  shapes<A, B, Result::half, false>(s);
}

template <bool SA, bool SB, bool Saturate>
void byte_shapes(Section& s) {
  const std::string types = std::string("s32.") + (SA ? "s8." : "u8.") + (SB ? "s8" : "u8");
  for (u32 n = 8; n <= kMaxN; n += n < 32 ? 8 : 16) {
    const std::string name = "wgmma.mma_async.m64n" + std::to_string(n) + "k32." + types + (Saturate ? ".satfinite" : "");
    const OperandSpec d{Role::vec_dst, Value::U32, static_cast<u8>(n / 2)};
    add(s, name, d, kDescriptor, {}, bodies_of<WgmmaByte<SA, SB, false, Saturate>, false>(), 16 * n * 32);
    add(s, name + ".rs", d, kFromRegisters, {}, bodies_of<WgmmaByte<SA, SB, true, Saturate>, false>(), 16 * n * 32);
  }
}

}  // namespace

std::vector<Form> wgmma_forms() {
  Section s("Matrix: wgmma");
  constexpr auto nothing = [](Warp&, const Inst&, u32) {};
  s.whole<nothing>("wgmma.fence", {}, Pipe::control);
  s.whole<nothing>("wgmma.commit_group", {}, Pipe::control);
  s.whole<nothing>("wgmma.wait_group", {{Role::imm}}, Pipe::control);
  shapes<ElementF16, ElementF16, Result::single, true>(s);
  shapes<ElementF16, ElementF16, Result::half, true>(s);
  shapes<ElementBf16, ElementBf16, Result::single, true>(s);
  shapes<ElementTf32, ElementTf32, Result::single, false>(s);
  fp8_shapes<ElementE4m3, ElementE4m3>(s), fp8_shapes<ElementE4m3, ElementE5m2>(s);
  fp8_shapes<ElementE5m2, ElementE4m3>(s), fp8_shapes<ElementE5m2, ElementE5m2>(s);
  byte_shapes<true, true, false>(s), byte_shapes<true, false, false>(s);
  byte_shapes<false, true, false>(s), byte_shapes<false, false, false>(s);
  byte_shapes<true, true, true>(s), byte_shapes<true, false, true>(s);
  byte_shapes<false, true, true>(s), byte_shapes<false, false, true>(s);
  std::vector<Form> forms = s.take();
  for (Form& f : forms) {
    if (f.name == "wgmma.fence") continue;
    f.kind = Kind::async, f.completion = Completion::matrix_group;
    f.async = f.name == "wgmma.commit_group" ? Async::commit : f.name == "wgmma.wait_group" ? Async::wait : Async::issue;
  }
  return forms;
}

}  // namespace cutegen::vgpu
