// Moving V neighbouring elements between global memory and registers, one copy atom a call.
//
// A kernel says for each tensor how V neighbours along a mode lie in memory (the playbook knows it from the layout):
//   Streaming  contiguous and aligned, read or written once: wide loads that do not stay in L1, stores that leave the L2 first
//   Cached     contiguous and aligned, read again by others: wide loads through L1, stores that may stay in the L2
//   Splat      one element for all V
//   Gather     anything else: V scalar loads at layout(k), layout(k + 1), ...
//   Shared     contiguous and aligned in shared memory
#pragma once

#include <cute/tensor.hpp>

#include <cstdint>

namespace cutegen {

struct Streaming {};
struct Cached {};
struct Splat {};
struct Gather {};
struct Shared {};

// Copy operations for CuTe atoms: U is the unit of one access (2 to 16 bytes).
template <class U>
struct LoadStreaming {
  using SRegisters = U[1];
  using DRegisters = U[1];
  __device__ static void copy(U const& src, U& dst) {
    if constexpr (sizeof(U) == 16) {
      asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(dst.x), "=r"(dst.y), "=r"(dst.z), "=r"(dst.w) : "l"(__cvta_generic_to_global(&src)));
    } else if constexpr (sizeof(U) == 8) {
      asm volatile("ld.global.nc.L1::no_allocate.b64 %0, [%1];" : "=l"(dst) : "l"(__cvta_generic_to_global(&src)));
    } else if constexpr (sizeof(U) == 4) {
      asm volatile("ld.global.nc.L1::no_allocate.b32 %0, [%1];" : "=r"(dst) : "l"(__cvta_generic_to_global(&src)));
    } else if constexpr (sizeof(U) == 2) {
      asm volatile("ld.global.nc.L1::no_allocate.b16 %0, [%1];" : "=h"(dst) : "l"(__cvta_generic_to_global(&src)));
    } else {
      dst = src;
    }
  }
};

template <class U>
struct StoreStreaming {  // st.global.cs: written once, first to leave the L2
  using SRegisters = U[1];
  using DRegisters = U[1];
  __device__ static void copy(U const& src, U& dst) {
    if constexpr (sizeof(U) == 16) {
      asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};"
                   :: "l"(__cvta_generic_to_global(&dst)), "r"(src.x), "r"(src.y), "r"(src.z), "r"(src.w) : "memory");
    } else if constexpr (sizeof(U) == 8) {
      asm volatile("st.global.cs.b64 [%0], %1;" :: "l"(__cvta_generic_to_global(&dst)), "l"(src) : "memory");
    } else if constexpr (sizeof(U) == 4) {
      asm volatile("st.global.cs.b32 [%0], %1;" :: "l"(__cvta_generic_to_global(&dst)), "r"(src) : "memory");
    } else if constexpr (sizeof(U) == 2) {
      asm volatile("st.global.cs.b16 [%0], %1;" :: "l"(__cvta_generic_to_global(&dst)), "h"(src) : "memory");
    } else {
      dst = src;
    }
  }
};

namespace detail {

template <int bytes> struct Unit;
template <> struct Unit<16> { using type = uint4; };
template <> struct Unit<8> { using type = uint64_t; };
template <> struct Unit<4> { using type = uint32_t; };
template <> struct Unit<2> { using type = uint16_t; };
template <> struct Unit<1> { using type = uint8_t; };

// The widest access for V elements of T: at most 16 bytes, repeated when V elements are more.
template <class T, int V>
using unit_t = typename Unit<(sizeof(T) * V >= 16 ? 16 : sizeof(T) * V)>::type;

// What a copy moves: CuTe counts a bool as one bit, PyTorch stores it in a byte.
template <class T>
using stored_t = cute::conditional_t<cute::is_same_v<T, bool>, uint8_t, T>;

template <class Member> struct MemberType;
template <class S, class M> struct MemberType<M S::*> { using type = M; };

}  // namespace detail
}  // namespace cutegen

namespace cute {
template <class U>
struct Copy_Traits<cutegen::LoadStreaming<U>> : Copy_Traits<UniversalCopy<U>> {};
template <class U>
struct Copy_Traits<cutegen::StoreStreaming<U>> : Copy_Traits<UniversalCopy<U>> {};
}  // namespace cute

namespace cutegen {

// e[j].*member = t(k + j) for j < V, converted to the member's type. `t` is a gmem tensor with one (possibly nested) mode.
template <class How, int V, auto member, class Tensor, class Index, class Element>
__device__ __forceinline__ void load(Tensor const& t, Index k, Element* e) {
  using T = cute::remove_cv_t<typename Tensor::value_type>;
  using S = detail::stored_t<T>;
  using M = typename detail::MemberType<decltype(member)>::type;
  if constexpr (cute::is_same_v<How, Splat>) {
    M const value = static_cast<M>(t(k));
    CUTE_UNROLL
    for (int j = 0; j < V; ++j) e[j].*member = value;
  } else if constexpr (cute::is_same_v<How, Gather> || V == 1) {
    CUTE_UNROLL
    for (int j = 0; j < V; ++j) e[j].*member = static_cast<M>(t(k + j));
  } else if constexpr (cute::is_same_v<How, Shared>) {
    using U = detail::unit_t<T, V>;
    cute::Tensor src = cute::make_tensor(cute::make_smem_ptr(reinterpret_cast<S const*>(&t(k))), cute::Layout<cute::Int<V>>{});  // (V)
    cute::Tensor dst = cute::make_tensor<S>(cute::Int<V>{});                                                                      // (V)
    cute::copy(cute::Copy_Atom<cute::UniversalCopy<U>, S>{}, src, dst);
    CUTE_UNROLL
    for (int j = 0; j < V; ++j) e[j].*member = static_cast<M>(dst(j));
  } else {
    using U = detail::unit_t<T, V>;
    using Op = cute::conditional_t<cute::is_same_v<How, Streaming>, LoadStreaming<U>, cute::UniversalCopy<U>>;
    cute::Tensor src = cute::make_tensor(cute::make_gmem_ptr(reinterpret_cast<S const*>(&t(k))), cute::Layout<cute::Int<V>>{});  // (V)
    cute::Tensor dst = cute::make_tensor<S>(cute::Int<V>{});                                                                      // (V)
    cute::copy(cute::Copy_Atom<Op, S>{}, src, dst);
    CUTE_UNROLL
    for (int j = 0; j < V; ++j) e[j].*member = static_cast<M>(dst(j));
  }
}

// t(k + j) = e[j].*member for j < V, converted to the tensor's type (rounded to nearest even).
template <class How, int V, auto member, class Tensor, class Index, class Element>
__device__ __forceinline__ void store(Tensor const& t, Index k, Element const* e) {
  using T = typename Tensor::value_type;
  using S = detail::stored_t<T>;
  if constexpr (cute::is_same_v<How, Gather> || V == 1) {
    CUTE_UNROLL
    for (int j = 0; j < V; ++j) t(k + j) = static_cast<T>(e[j].*member);
  } else if constexpr (cute::is_same_v<How, Shared>) {
    using U = detail::unit_t<T, V>;
    cute::Tensor src = cute::make_tensor<S>(cute::Int<V>{});                                                                // (V)
    cute::Tensor dst = cute::make_tensor(cute::make_smem_ptr(reinterpret_cast<S*>(&t(k))), cute::Layout<cute::Int<V>>{});  // (V)
    CUTE_UNROLL
    for (int j = 0; j < V; ++j) src(j) = static_cast<S>(static_cast<T>(e[j].*member));
    cute::copy(cute::Copy_Atom<cute::UniversalCopy<U>, S>{}, src, dst);
  } else {
    using U = detail::unit_t<T, V>;
    cute::Tensor src = cute::make_tensor<S>(cute::Int<V>{});                                                                // (V)
    cute::Tensor dst = cute::make_tensor(cute::make_gmem_ptr(reinterpret_cast<S*>(&t(k))), cute::Layout<cute::Int<V>>{});  // (V)
    CUTE_UNROLL
    for (int j = 0; j < V; ++j) src(j) = static_cast<S>(static_cast<T>(e[j].*member));
    using Op = cute::conditional_t<cute::is_same_v<How, Streaming>, StoreStreaming<U>, cute::UniversalCopy<U>>;
    cute::copy(cute::Copy_Atom<Op, S>{}, src, dst);
  }
}

}  // namespace cutegen
