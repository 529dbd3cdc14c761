// PTX ISA 9.7.8: logic and shift.
#include <algorithm>

#include "vgpu/isa/builder.h"
#include "vgpu/isa/numerics.h"
#include "vgpu/isa/registry.h"

namespace cutegen::vgpu {
namespace {

template <class T>
void bitwise(Section& s, const std::string& t) {
  s.lanes<[](T a, T b) { return static_cast<T>(a & b); }>("and.b" + t);
  s.lanes<[](T a, T b) { return static_cast<T>(a | b); }>("or.b" + t);
  s.lanes<[](T a, T b) { return static_cast<T>(a ^ b); }>("xor.b" + t);
  s.lanes<[](T a) { return static_cast<T>(~a); }>("not.b" + t);
  s.lanes<[](T a) { return static_cast<T>(a == 0); }>("cnot.b" + t);
}

// Shift amounts above the width clamp to it.
template <class T>
void shifts(Section& s, const std::string& t) {
  using S = std::make_signed_t<T>;
  constexpr u32 width = sizeof(T) * 8;
  s.lanes<[](T a, u32 n) { return n >= width ? T{0} : static_cast<T>(a << n); }>("shl.b" + t);
  s.lanes<[](T a, u32 n) { return n >= width ? T{0} : static_cast<T>(a >> n); }>({"shr.b" + t, "shr.u" + t});
  s.lanes<[](S a, u32 n) { return static_cast<S>(a >> std::min(n, width - 1)); }>("shr.s" + t);
}

VGPU_INLINE u32 funnel_left(u32 lo, u32 hi, u32 n) { return static_cast<u32>((((static_cast<u64>(hi) << 32) | lo) << n) >> 32); }
VGPU_INLINE u32 funnel_right(u32 lo, u32 hi, u32 n) { return static_cast<u32>(((static_cast<u64>(hi) << 32) | lo) >> n); }

// Any function of three bits: bit (a*4 + b*2 + c) of the table.
VGPU_INLINE u32 lookup3(u32 a, u32 b, u32 c, u32 table) {
  u32 r = 0;
  for (u32 i = 0; i < 8; ++i) {
    const u32 term = ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
    r |= (table >> i) & 1 ? term : 0;
  }
  return r;
}

// Bytes of {b, a} chosen by the nibbles of the selector; the nibble's top bit replicates the sign of the byte.
VGPU_INLINE u32 permute(u32 a, u32 b, u32 selector) {
  const u64 bytes = (static_cast<u64>(b) << 32) | a;
  u32 r = 0;
  for (u32 i = 0; i < 4; ++i) {
    const u32 nibble = (selector >> (4 * i)) & 0xf;
    const auto byte = static_cast<u8>(bytes >> (8 * (nibble & 7)));
    const u32 value = (nibble & 8) != 0 ? ((byte & 0x80) != 0 ? 0xffu : 0u) : byte;
    r |= value << (8 * i);
  }
  return r;
}
// The named modes of prmt as selectors of the default mode, for c = 0..3.
constexpr u32 kForward4[4] = {0x3210, 0x4321, 0x5432, 0x6543};
constexpr u32 kBackward4[4] = {0x5670, 0x6701, 0x7012, 0x0123};
constexpr u32 kReplicate8[4] = {0x0000, 0x1111, 0x2222, 0x3333};
constexpr u32 kEdgeLeft[4] = {0x3210, 0x3211, 0x3222, 0x3333};
constexpr u32 kEdgeRight[4] = {0x0000, 0x1110, 0x2210, 0x3210};
constexpr u32 kReplicate16[4] = {0x1010, 0x3232, 0x1010, 0x3232};

}  // namespace

std::vector<Form> logic_forms() {
  Section s("Logic and shift");
  bitwise<u16>(s, "16");
  bitwise<u32>(s, "32");
  bitwise<u64>(s, "64");
  s.lanes<[](pred a, pred b) { return static_cast<pred>(a == pred::yes && b == pred::yes); }>("and.pred");
  s.lanes<[](pred a, pred b) { return static_cast<pred>(a == pred::yes || b == pred::yes); }>("or.pred");
  s.lanes<[](pred a, pred b) { return static_cast<pred>(a != b); }>("xor.pred");
  s.lanes<[](pred a) { return static_cast<pred>(a == pred::no); }>("not.pred");
  shifts<u16>(s, "16");
  shifts<u32>(s, "32");
  shifts<u64>(s, "64");
  s.lanes<[](u32 lo, u32 hi, u32 n) { return funnel_left(lo, hi, n & 31); }>("shf.l.wrap.b32");
  s.lanes<[](u32 lo, u32 hi, u32 n) { return funnel_left(lo, hi, std::min(n, 32u)); }>("shf.l.clamp.b32");
  s.lanes<[](u32 lo, u32 hi, u32 n) { return funnel_right(lo, hi, n & 31); }>("shf.r.wrap.b32");
  s.lanes<[](u32 lo, u32 hi, u32 n) { return funnel_right(lo, hi, std::min(n, 32u)); }>("shf.r.clamp.b32");
  s.lanes<[](u32 a, u32 b, u32 c, u32 table) { return lookup3(a, b, c, table); }>("lop3.b32");
  s.lanes<[](u32 a, u32 b, u32 c) { return permute(a, b, c); }>("prmt.b32");
  s.lanes<[](u32 a, u32 b, u32 c) { return permute(a, b, kForward4[c & 3]); }>("prmt.b32.f4e");
  s.lanes<[](u32 a, u32 b, u32 c) { return permute(a, b, kBackward4[c & 3]); }>("prmt.b32.b4e");
  s.lanes<[](u32 a, u32 b, u32 c) { return permute(a, b, kReplicate8[c & 3]); }>("prmt.b32.rc8");
  s.lanes<[](u32 a, u32 b, u32 c) { return permute(a, b, kEdgeLeft[c & 3]); }>("prmt.b32.ecl");
  s.lanes<[](u32 a, u32 b, u32 c) { return permute(a, b, kEdgeRight[c & 3]); }>("prmt.b32.ecr");
  s.lanes<[](u32 a, u32 b, u32 c) { return permute(a, b, kReplicate16[c & 3]); }>("prmt.b32.rc16");
  return s.take();
}

}  // namespace cutegen::vgpu
