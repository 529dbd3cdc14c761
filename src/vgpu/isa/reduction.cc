// The operations that bulk and tensor reductions apply in memory (PTX ISA 9.7.9.25.5.2, 9.7.9.27.1.3).
#include "vgpu/isa/async.h"
#include "vgpu/isa/atomic_word.h"

namespace cutegen::vgpu {
namespace {

template <class E, auto F>
void apply(char* dst, const char* src, u64 bytes) {
  for (u64 i = 0; i + sizeof(E) <= bytes; i += sizeof(E)) {
    E b;
    std::memcpy(&b, src + i, sizeof b);
    swap_in<E>(dst + i, [&](E a) { return F(a, b); });
  }
}

template <class T>
void integers(std::vector<Reduction>& list, const char* type) {
  using U = std::make_unsigned_t<T>;
  list.push_back({"add", type, sizeof(T), apply<T, [](T a, T b) { return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); }>});
  list.push_back({"min", type, sizeof(T), apply<T, [](T a, T b) { return b < a ? b : a; }>});
  list.push_back({"max", type, sizeof(T), apply<T, [](T a, T b) { return a < b ? b : a; }>});
}
template <class T>
void bits(std::vector<Reduction>& list, const char* type) {
  list.push_back({"and", type, sizeof(T), apply<T, [](T a, T b) { return a & b; }>});
  list.push_back({"or", type, sizeof(T), apply<T, [](T a, T b) { return a | b; }>});
  list.push_back({"xor", type, sizeof(T), apply<T, [](T a, T b) { return a ^ b; }>});
}
template <class H>
void halves(std::vector<Reduction>& list, const char* type) {
  list.push_back({"add", type, 2, apply<H, [](H a, H b) { return add_half(a, b); }>});
  list.push_back({"min", type, 2, apply<H, [](H a, H b) { return pick_half<H, false>(a, b); }>});
  list.push_back({"max", type, 2, apply<H, [](H a, H b) { return pick_half<H, true>(a, b); }>});
}

}  // namespace

const std::vector<Reduction>& reductions() {
  static const std::vector<Reduction> list = [] {
    std::vector<Reduction> all;
    integers<u32>(all, "u32"), integers<s32>(all, "s32"), integers<u64>(all, "u64"), integers<s64>(all, "s64");
    bits<u32>(all, "b32"), bits<u64>(all, "b64");
    halves<f16>(all, "f16"), halves<bf16>(all, "bf16");
    all.push_back({"add", "f32", 4, apply<f32, [](f32 a, f32 b) { return canonical(a + b); }>});
    all.push_back({"add", "f64", 8, apply<f64, [](f64 a, f64 b) { return a + b; }>});
    all.push_back({"inc", "u32", 4, apply<u32, [](u32 a, u32 b) { return a >= b ? 0u : a + 1; }>});
    all.push_back({"dec", "u32", 4, apply<u32, [](u32 a, u32 b) { return a == 0 || (a > b) ? b : a - 1; }>});
    return all;
  }();
  return list;
}

const Reduction* find_reduction(const std::string& op, const std::string& type) {
  for (const Reduction& r : reductions())
    if (r.op == op && r.type == type) return &r;
  return nullptr;
}

}  // namespace cutegen::vgpu
