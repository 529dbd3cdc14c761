// PTX ISA 9.7.6 and 9.7.7: comparison and selection.
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "vgpu/isa/builder.h"
#include "vgpu/isa/numerics.h"
#include "vgpu/isa/registry.h"

namespace cutegen::vgpu {
namespace {

enum class Cmp { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };
constexpr const char* kCmpNames[] = {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

// The plain comparisons are false on NaN, those ending in u are true.
template <Cmp C, class T>
VGPU_INLINE bool compare(T a, T b) {
  [[maybe_unused]] bool unordered = false;
  if constexpr (std::is_floating_point_v<T>) unordered = a != a || b != b;
  switch (C) {
    case Cmp::eq: return a == b;
    case Cmp::ne: return a != b && !unordered;
    case Cmp::lt: return a < b;
    case Cmp::le: return a <= b;
    case Cmp::gt: return a > b;
    case Cmp::ge: return a >= b;
    case Cmp::equ: return a == b || unordered;
    case Cmp::neu: return a != b;
    case Cmp::ltu: return a < b || unordered;
    case Cmp::leu: return a <= b || unordered;
    case Cmp::gtu: return a > b || unordered;
    case Cmp::geu: return a >= b || unordered;
    case Cmp::num: return !unordered;
    case Cmp::nan: return unordered;
  }
  return false;
}
template <bool Ftz, class T>
VGPU_INLINE auto operand(T a) {
  if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>)
    return to_f32(a);
  else if constexpr (Ftz)
    return ftz(a);
  else
    return a;
}

enum : u32 { kNone, kAnd, kOr, kXor };
VGPU_INLINE u32 combine(u32 op, u32 r, u32 c) { return op == kAnd ? r & c : op == kOr ? r | c : op == kXor ? r ^ c : r; }

// As pack_bits, in a few cycles: a branch usually waits for it.
VGPU_INLINE u32 pack_lanes(const u8* bytes) {
#if defined(__SSE2__)
  const auto half = [bytes](int i) {
    const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + 16 * i));
    return static_cast<u32>(_mm_movemask_epi8(_mm_slli_epi16(b, 7)));
  };
  return half(0) | half(1) << 16;
#else
  return pack_bits(bytes);
#endif
}

template <Cmp C, class T, bool Ftz>
struct SetPredicate {  // p|q = compare(a, b) and its negation, each combined with c
  VGPU_INLINE static void run(Warp& w, const Inst& in, u32 mask) {
    const Source<T> a(w, in.op[2]), b(w, in.op[3]);
    alignas(64) u8 r[kLanes];
    for (int i = 0; i < kLanes; ++i) r[i] = compare<C>(operand<Ftz>(a[i]), operand<Ftz>(b[i]));
    const u32 bits = pack_lanes(r), c = in.param == kNone ? 0 : w.predicate(in.op[4]);
    w.set_predicate(in.op[0], combine(in.param, bits, c), mask);
    w.set_predicate(in.op[1], combine(in.param, ~bits, c), mask);
  }
};
template <Cmp C, class P>
struct SetPredicatePacked {  // f16x2: p compares the low halves, q the high ones
  VGPU_INLINE static void run(Warp& w, const Inst& in, u32 mask) {
    const Source<P> a(w, in.op[2]), b(w, in.op[3]);
    for (int half = 0; half < 2; ++half) {
      alignas(64) u8 r[kLanes];
      for (int i = 0; i < kLanes; ++i) r[i] = compare<C>(to_f32(half_of(a[i], half)), to_f32(half_of(b[i], half)));
      const u32 c = in.param == kNone ? 0 : w.predicate(in.op[4]);
      w.set_predicate(in.op[half], combine(in.param, pack_lanes(r), c), mask);
    }
  }
};

constexpr const char* kBoolNames[] = {"", ".and", ".or", ".xor"};

void add_setp(Section& s, const std::string& cmp, const std::string& rest, Value type, Bodies bodies) {
  for (u32 op = kNone; op <= kXor; ++op) {
    std::vector<OperandSpec> operands{{Role::pair_dst, Value::Pred}, {Role::src, type}, {Role::src, type}};
    if (op != kNone) operands.push_back({Role::src, Value::Pred});
    s.add({"setp." + cmp + kBoolNames[op] + rest, "", operands, bodies}).param = op;
  }
}

template <Cmp C, class T, bool Ftz = false>
void comparison(Section& s, std::initializer_list<const char*> types) {
  constexpr bool hot = sizeof(T) >= 4 && C != Cmp::num && C != Cmp::nan;
  const Bodies bodies = bodies_of<SetPredicate<C, T, Ftz>, hot>();
  for (const char* t : types) add_setp(s, kCmpNames[static_cast<int>(C)], std::string(Ftz ? ".ftz." : ".") + t, value_of<T>(), bodies);
  if constexpr (C <= Cmp::ge && C >= Cmp::lt && std::is_unsigned_v<T>) {  // lo, ls, hi, hs: unsigned by name
    constexpr const char* kUnsigned[] = {"lo", "ls", "hi", "hs"};
    for (const char* t : types)
      add_setp(s, kUnsigned[static_cast<int>(C) - static_cast<int>(Cmp::lt)], std::string(".") + t, value_of<T>(), bodies);
  }
}

template <Cmp C>
void integer_comparisons(Section& s) {
  if constexpr (C <= Cmp::ne) {
    comparison<C, u16>(s, {"u16", "s16", "b16"});
    comparison<C, u32>(s, {"u32", "s32", "b32"});
    comparison<C, u64>(s, {"u64", "s64", "b64"});
  } else if constexpr (C <= Cmp::ge) {
    comparison<C, u16>(s, {"u16"});
    comparison<C, u32>(s, {"u32"});
    comparison<C, u64>(s, {"u64"});
    comparison<C, s16>(s, {"s16"});
    comparison<C, s32>(s, {"s32"});
    comparison<C, s64>(s, {"s64"});
  }
}

// set: a comparison as a value: all ones, or 1.0.
template <Cmp C, class D, class T, bool Ftz>
VGPU_INLINE D as_value(T a, T b) {
  const bool r = compare<C>(operand<Ftz>(a), operand<Ftz>(b));
  if constexpr (std::is_same_v<D, u32>)
    return r ? ~0u : 0u;
  else if constexpr (std::is_same_v<D, f32>)
    return r ? 1.0f : 0.0f;
  else if constexpr (std::is_same_v<D, f16>)
    return f16{static_cast<u16>(r ? 0x3c00 : 0)};
  else
    return bf16{static_cast<u16>(r ? 0x3f80 : 0)};
}
template <Cmp C, class T, bool Ftz = false>
void set_value(Section& s, const std::string& type) {
  const std::string op = std::string("set.") + kCmpNames[static_cast<int>(C)] + (Ftz ? ".ftz" : "");
  s.lanes<[](T a, T b) { return as_value<C, u32, T, Ftz>(a, b); }, false>({op + ".u32." + type, op + ".s32." + type});
  s.lanes<[](T a, T b) { return as_value<C, f32, T, Ftz>(a, b); }, false>(op + ".f32." + type);
  if constexpr (sizeof(T) == 2) s.lanes<[](T a, T b) { return as_value<C, T, T, Ftz>(a, b); }, false>(op + "." + type + "." + type);
}
template <Cmp C, class P, class H>
void set_packed(Section& s, const std::string& type) {
  const std::string op = std::string("set.") + kCmpNames[static_cast<int>(C)] + ".";
  s.lanes<[](P a, P b) {
    return pack(as_value<C, H, H, false>(half_of(a, 0), half_of(b, 0)), as_value<C, H, H, false>(half_of(a, 1), half_of(b, 1)));
  },
          false>(op + type + "." + type);
  s.lanes<[](P a, P b) {
    const u32 lo = as_value<C, u32, H, false>(half_of(a, 0), half_of(b, 0)), hi = as_value<C, u32, H, false>(half_of(a, 1), half_of(b, 1));
    return (lo & 0xffffu) | (hi & 0xffff0000u);
  },
          false>(op + "u32." + type);
}

template <Cmp C>
void one_comparison(Section& s) {
  integer_comparisons<C>(s);
  comparison<C, f32>(s, {"f32"});
  comparison<C, f32, true>(s, {"f32"});
  comparison<C, f64>(s, {"f64"});
  comparison<C, f16>(s, {"f16"});
  comparison<C, bf16>(s, {"bf16"});
  add_setp(s, kCmpNames[static_cast<int>(C)], ".f16x2", Value::F16x2, bodies_of<SetPredicatePacked<C, f16x2>, false>());
  add_setp(s, kCmpNames[static_cast<int>(C)], ".bf16x2", Value::BF16x2, bodies_of<SetPredicatePacked<C, bf16x2>, false>());
  if constexpr (C <= Cmp::ge) {
    set_value<C, u32>(s, "u32");
    set_value<C, s32>(s, "s32");
  }
  set_value<C, f32>(s, "f32");
  set_value<C, f32, true>(s, "f32");
  set_value<C, f16>(s, "f16");
  set_value<C, bf16>(s, "bf16");
  set_packed<C, f16x2, f16>(s, "f16x2");
  set_packed<C, bf16x2, bf16>(s, "bf16x2");
}
template <int... C>
void every_comparison(Section& s, std::integer_sequence<int, C...>) {
  (one_comparison<static_cast<Cmp>(C)>(s), ...);
}

}  // namespace

std::vector<Form> compare_forms() {
  Section s("Comparison and selection");
  every_comparison(s, std::make_integer_sequence<int, 14>{});
  s.lanes<[](u16 a, u16 b, pred p) { return p == pred::yes ? a : b; }>({"selp.b16", "selp.u16", "selp.s16", "selp.f16", "selp.bf16"});
  s.lanes<[](u32 a, u32 b, pred p) { return p == pred::yes ? a : b; }>({"selp.b32", "selp.u32", "selp.s32"});
  s.lanes<[](f32 a, f32 b, pred p) { return p == pred::yes ? a : b; }>("selp.f32");
  s.lanes<[](u64 a, u64 b, pred p) { return p == pred::yes ? a : b; }>({"selp.b64", "selp.u64", "selp.s64"});
  s.lanes<[](f64 a, f64 b, pred p) { return p == pred::yes ? a : b; }>("selp.f64");
  s.lanes<[](u32 a, u32 b, s32 c) { return c >= 0 ? a : b; }>({"slct.b32.s32", "slct.u32.s32", "slct.s32.s32"});
  s.lanes<[](f32 a, f32 b, s32 c) { return c >= 0 ? a : b; }>("slct.f32.s32");
  s.lanes<[](u32 a, u32 b, f32 c) { return c >= 0.0f ? a : b; }>({"slct.b32.f32", "slct.u32.f32", "slct.s32.f32"});
  s.lanes<[](f32 a, f32 b, f32 c) { return c >= 0.0f ? a : b; }>("slct.f32.f32");
  s.lanes<[](u64 a, u64 b, s32 c) { return c >= 0 ? a : b; }>({"slct.b64.s32", "slct.u64.s32", "slct.s64.s32"});
  return s.take();
}

}  // namespace cutegen::vgpu
