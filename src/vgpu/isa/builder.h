// Builders of records. `lanes` turns a function of scalars into a body over 32 lanes: operand types come from the function's own signature,
// so a record reads like the manual:
//
//   s.lanes<[](f32 a, f32 b) { return canonical(a + b); }>("add.f32");
//
// A hot body is compiled three times (portable, AVX2, AVX-512); the loops vectorise. The choice is made once, when a program is loaded.
#pragma once

#include <initializer_list>
#include <tuple>
#include <utility>

#include "vgpu/isa/warp.h"

namespace cutegen::vgpu {

#if defined(__x86_64__) && !defined(__clang__)
#define VGPU_AVX2 [[gnu::target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt,movbe"), gnu::flatten]]
#define VGPU_AVX512                                                                                                               \
  [[gnu::target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt,movbe,avx512f,avx512bw,avx512dq,avx512vl,avx512cd,prefer-vector-width=512"), \
    gnu::flatten]]
#else  // other compilers and hosts: portable bodies only
#define VGPU_AVX2
#define VGPU_AVX512
#endif

// T::run compiled for each host. T::run must be always_inline.
template <class T>
struct Compiled {
  static void portable(Warp& w, const Inst& in, u32 mask) { T::run(w, in, mask); }
  VGPU_AVX2 static void avx2(Warp& w, const Inst& in, u32 mask) { T::run(w, in, mask); }
  VGPU_AVX512 static void avx512(Warp& w, const Inst& in, u32 mask) { T::run(w, in, mask); }
  static constexpr Bodies bodies() { return {&portable, &avx2, &avx512}; }
};

// Compiled once, for the many forms that no inner loop uses: three copies of everything would treble the build.
template <class T, bool Hot>
constexpr Bodies bodies_of() {
  if constexpr (Hot)
    return Compiled<T>::bodies();
  else
    return {&Compiled<T>::portable, &Compiled<T>::portable, &Compiled<T>::portable};
}

template <class L>
struct Signature : Signature<decltype(&L::operator())> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> {
  using Result = R;
  using Args = std::tuple<A...>;
};

// A source operand, lane by lane.
template <class T>
struct Source {
  const storage_t<T>* p;
  [[gnu::always_inline]] Source(const Warp& w, Ref ref) : p(w.lanes<const storage_t<T>>(ref)) {}
  [[gnu::always_inline]] T operator[](int i) const { return from_storage<T>(p[i]); }
};
template <>
struct Source<pred> {
  u32 bits;
  [[gnu::always_inline]] Source(const Warp& w, Ref ref) : bits(w.predicate(ref)) {}
  [[gnu::always_inline]] pred operator[](int i) const { return static_cast<pred>((bits >> i) & 1); }
};

template <auto F>
struct Lanewise {
  using Sig = Signature<decltype(F)>;
  template <class R, class... A, size_t... I>
  [[gnu::always_inline]] static inline void apply(Warp& w, const Inst& in, u32 mask, std::tuple<A...>*, std::index_sequence<I...>) {
    const std::tuple<Source<A>...> src{Source<A>(w, in.op[I + 1])...};
    if constexpr (std::is_same_v<R, pred>) {
      alignas(64) u8 r[kLanes];
      for (int i = 0; i < kLanes; ++i) r[i] = static_cast<u8>(F(std::get<I>(src)[i]...));
      w.set_predicate(in.op[0], pack_bits(r), mask);
    } else {
      alignas(64) storage_t<R> r[kLanes];
      for (int i = 0; i < kLanes; ++i) r[i] = to_storage<R>(F(std::get<I>(src)[i]...));
      write_lanes(w.lanes<storage_t<R>>(in.op[0]), r, mask);
    }
  }
  [[gnu::always_inline]] static inline void run(Warp& w, const Inst& in, u32 mask) {
    using Args = typename Sig::Args;
    apply<typename Sig::Result>(w, in, mask, static_cast<Args*>(nullptr), std::make_index_sequence<std::tuple_size_v<Args>>{});
  }
};

// A body written over the whole warp: F(Warp&, const Inst&, mask).
template <auto F>
struct Whole {
  [[gnu::always_inline]] static inline void run(Warp& w, const Inst& in, u32 mask) { F(w, in, mask); }
};

// The records of one section of the manual.
class Section {
 public:
  explicit Section(std::string title) : title_(std::move(title)) {}

  // A function of scalars; several names when the manual has several spellings of one operation.
  template <auto F, bool Hot = true>
  void lanes(std::initializer_list<std::string> names, Pipe pipe = Pipe::alu) {
    using Sig = Signature<decltype(F)>;
    std::vector<OperandSpec> operands{{Role::dst, value_of<typename Sig::Result>()}};
    append(operands, static_cast<typename Sig::Args*>(nullptr));
    for (const std::string& name : names) add({name, title_, operands, bodies_of<Lanewise<F>, Hot>(), pipe});
  }
  template <auto F, bool Hot = true>
  void lanes(const std::string& name, Pipe pipe = Pipe::alu) {
    lanes<F, Hot>({name}, pipe);
  }

  // A function of the whole warp, with its operands spelt out.
  template <auto F>
  Form& whole(const std::string& name, std::vector<OperandSpec> operands, Pipe pipe = Pipe::alu) {
    return add({name, title_, std::move(operands), bodies_of<Whole<F>, false>(), pipe});
  }

  Form& add(Form form) {
    form.section = title_;
    forms_.push_back(std::move(form));
    return forms_.back();
  }
  std::vector<Form> take() { return std::move(forms_); }

 private:
  template <class... A>
  static void append(std::vector<OperandSpec>& operands, std::tuple<A...>*) {
    (operands.push_back({Role::src, value_of<A>()}), ...);
  }
  std::string title_;
  std::vector<Form> forms_;
};

}  // namespace cutegen::vgpu
