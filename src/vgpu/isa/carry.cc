// PTX ISA 9.7.2: extended-precision integer arithmetic. The carry flag is one bit a lane.
#include <set>

#include "vgpu/isa/builder.h"
#include "vgpu/isa/numerics.h"
#include "vgpu/isa/registry.h"

namespace cutegen::vgpu {
namespace {

__extension__ typedef unsigned __int128 u128_t;
template <class T>
using sum_t = std::conditional_t<sizeof(T) == 4, u64, u128_t>;

// d = F(operands) + carry-in, carry-out to CC when asked. F returns the sum wide enough to show its carry (or borrow) in the bit above T.
template <class T, bool UseCarry, bool SetCarry, bool Subtract, auto Addend, int Operands>
struct Carry {
  VGPU_INLINE static void run(Warp& w, const Inst& in, u32 mask) {
    alignas(64) storage_t<T> r[kLanes];
    u32 out = 0;
    for (int i = 0; i < kLanes; ++i) {
      const T a = Source<T>(w, in.op[1])[i], b = Source<T>(w, in.op[2])[i];
      const T c = Operands == 3 ? Source<T>(w, in.op[3])[i] : T{0};
      const T x = Addend(a, b), y = Operands == 3 ? c : b;
      const u32 carry_in = UseCarry ? (w.carry >> i) & 1 : 0;
      const sum_t<T> sum = Subtract ? static_cast<sum_t<T>>(x) - y - carry_in : static_cast<sum_t<T>>(x) + y + carry_in;
      r[i] = static_cast<T>(sum);
      out |= static_cast<u32>((sum >> (sizeof(T) * 8)) & 1) << i;
    }
    write_lanes(w.lanes<storage_t<T>>(in.op[0]), r, mask);
    if constexpr (SetCarry) w.carry = (w.carry & ~mask) | (out & mask);
  }
};

template <class T, bool Use, bool Set, bool Subtract, auto Addend, int Operands>
void one(Section& s, const std::string& name, const char* unsigned_type, const char* signed_type) {
  std::vector<OperandSpec> operands(static_cast<size_t>(Operands + 1), OperandSpec{Role::src, value_of<T>()});
  operands[0].role = Role::dst;
  for (const std::string& t : std::set<std::string>{unsigned_type, signed_type})

    s.add({name + t, "", operands, bodies_of<Carry<T, Use, Set, Subtract, Addend, Operands>, false>()});
}

template <class T>
void width(Section& s, const char* u, const char* g) {
  constexpr auto first = [](T a, T) { return a; };
  constexpr auto low = [](T a, T b) { return static_cast<T>(a * b); };
  constexpr auto high = [](T a, T b) { return static_cast<T>((static_cast<u128_t>(a) * b) >> (sizeof(T) * 8)); };
  one<T, false, true, false, first, 2>(s, "add.cc", u, g);
  one<T, true, false, false, first, 2>(s, "addc", u, g);
  one<T, true, true, false, first, 2>(s, "addc.cc", u, g);
  one<T, false, true, true, first, 2>(s, "sub.cc", u, g);
  one<T, true, false, true, first, 2>(s, "subc", u, g);
  one<T, true, true, true, first, 2>(s, "subc.cc", u, g);
  one<T, false, true, false, low, 3>(s, "mad.lo.cc", u, g);
  one<T, true, false, false, low, 3>(s, "madc.lo", u, g);
  one<T, true, true, false, low, 3>(s, "madc.lo.cc", u, g);
  // High halves of unsigned products only; nvcc uses no others.
  one<T, false, true, false, high, 3>(s, "mad.hi.cc", u, u);
  one<T, true, false, false, high, 3>(s, "madc.hi", u, u);
  one<T, true, true, false, high, 3>(s, "madc.hi.cc", u, u);
}

}  // namespace

std::vector<Form> carry_forms() {
  Section s("Extended-precision integer arithmetic");
  width<u32>(s, ".u32", ".s32");
  width<u64>(s, ".u64", ".s64");
  return s.take();
}

}  // namespace cutegen::vgpu
