// Launches: builders that know their kernel's signature, so that a wrong argument does not compile.
#pragma once

#include <type_traits>

#include "types.cuh"

struct __half;
struct __half2;
struct __nv_bfloat16;
struct __nv_bfloat162;
namespace cutlass {
struct half_t;
struct bfloat16_t;
struct tfloat32_t;
}  // namespace cutlass

namespace cutegen::detail {

// What a pointer's target is taken to be. `any` matches every tensor: bytes, void, unsigned words as raw bits and types that are not known here.
enum class ElementClass : uint32_t { any, f32, f16, bf16, f64, i64, i32, i16, raw64, raw32, raw16 };

template <class T>
constexpr ElementClass element_class() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, float> || std::is_same_v<U, float2> || std::is_same_v<U, float4> || std::is_same_v<U, cutlass::tfloat32_t>)
    return ElementClass::f32;
  else if constexpr (std::is_same_v<U, __half> || std::is_same_v<U, __half2> || std::is_same_v<U, cutlass::half_t>)
    return ElementClass::f16;
  else if constexpr (std::is_same_v<U, __nv_bfloat16> || std::is_same_v<U, __nv_bfloat162> || std::is_same_v<U, cutlass::bfloat16_t>)
    return ElementClass::bf16;
  else if constexpr (std::is_same_v<U, double> || std::is_same_v<U, double2>)
    return ElementClass::f64;
  else if constexpr (std::is_integral_v<U> && sizeof(U) > 1)
    return std::is_signed_v<U> ? (sizeof(U) == 8 ? ElementClass::i64 : sizeof(U) == 4 ? ElementClass::i32 : ElementClass::i16)
                               : (sizeof(U) == 8 ? ElementClass::raw64 : sizeof(U) == 4 ? ElementClass::raw32 : ElementClass::raw16);
  else
    return ElementClass::any;
}

// May a kernel read a tensor of class `tensor` through a pointer of class `pointee`?
constexpr bool may_point_to(ElementClass pointee, ElementClass tensor) {
  if (pointee == ElementClass::any || tensor == ElementClass::any || pointee == tensor) return true;
  switch (pointee) {
    case ElementClass::raw64: return tensor == ElementClass::f64 || tensor == ElementClass::i64;
    case ElementClass::raw32: return tensor == ElementClass::f32 || tensor == ElementClass::i32;
    case ElementClass::raw16: return tensor == ElementClass::f16 || tensor == ElementClass::bf16 || tensor == ElementClass::i16;
    default: return false;
  }
}

template <class T>
constexpr uint64_t bits_of(T value) {
  if constexpr (sizeof(T) == 8)
    return __builtin_bit_cast(uint64_t, value);
  else if constexpr (sizeof(T) == 4)
    return __builtin_bit_cast(uint32_t, value);
  else if constexpr (sizeof(T) == 2)
    return __builtin_bit_cast(uint16_t, value);
  else
    return __builtin_bit_cast(uint8_t, value);
}

template <class T>
constexpr bool is_negative(T value) {
  if constexpr (std::is_signed_v<T>) return value < T{};
  return false;
}

template <class T>
inline constexpr bool is_number = std::is_arithmetic_v<T> || std::is_enum_v<T>;

// The argument `given` for a kernel parameter of type Parameter.
template <class Parameter, class Given>
constexpr Arg bind(Given const& given) {
  Arg arg;
  if constexpr (std::is_same_v<Given, Pointer>) {
    static_assert(std::is_pointer_v<Parameter>,
                  "cutegen plan: a buffer (cutegen::input, param, output or workspace) is given for a kernel parameter that is not a pointer");
    if constexpr (std::is_pointer_v<Parameter>) {
      arg = {given.kind, given.index, given.offset, 0, 8, static_cast<uint32_t>(element_class<std::remove_pointer_t<Parameter>>()), false};
    }
  } else if constexpr (std::is_same_v<Given, tensor_map>) {
    static_assert(std::is_class_v<Parameter>, "cutegen plan: cutegen::tma is given for a kernel parameter that is not a CUtensorMap");
    if constexpr (std::is_class_v<Parameter>) {
      static_assert(sizeof(Parameter) == 128 && alignof(Parameter) >= 64,
                    "cutegen plan: cutegen::tma needs a kernel parameter of type const __grid_constant__ CUtensorMap (128 bytes, aligned to 64)");
      arg = {Kind::tensor_map, 0, 0, 0, 128, 0, false};
    }
  } else {
    static_assert(!std::is_pointer_v<Given>, "cutegen plan: a pointer cannot be a launch argument; use cutegen::input, param, output or workspace");
    static_assert(!std::is_pointer_v<Parameter>,
                  "cutegen plan: a scalar is given for a pointer parameter; use cutegen::input, param, output or workspace");
    constexpr bool is_scalar =
        std::is_trivially_copyable_v<Parameter> && (sizeof(Parameter) == 1 || sizeof(Parameter) == 2 || sizeof(Parameter) == 4 || sizeof(Parameter) == 8);
    static_assert(is_scalar, "cutegen plan: a kernel parameter passed by value must be a scalar of 1, 2, 4 or 8 bytes (or a CUtensorMap)");
    if constexpr (is_number<Parameter> && is_number<Given>) {
      const auto value = static_cast<Parameter>(given);
      arg = {Kind::scalar, 0, 0, bits_of(value), sizeof(Parameter), 0, false};
      if constexpr (!std::is_floating_point_v<Parameter>) arg.bad_value = static_cast<Given>(value) != given || is_negative(value) != is_negative(given);
    } else if constexpr (is_scalar && !std::is_pointer_v<Parameter>) {
      static_assert(std::is_same_v<Parameter, Given>, "cutegen plan: a scalar argument's type differs from its kernel parameter's and does not convert to it");
      if constexpr (std::is_same_v<Parameter, Given>) arg = {Kind::scalar, 0, 0, bits_of(given), sizeof(Parameter), 0, false};
    }
  }
  return arg;
}

}  // namespace cutegen::detail

namespace cutegen {

template <class Signature>
class launch;

// Made by CUTEGEN_LAUNCH(kernel). Every setter returns the changed launch; all but .grid(), .block() and .args() may be left out.
template <class... Parameters>
class launch<void (*)(Parameters...)> {
 public:
  template <int N>
  constexpr explicit launch(char const (&name)[N]) {
    static_assert(N - 1 <= kMaxKernelName, "cutegen plan: a kernel's name has at most 127 characters");
    for (int i = 0; i < N && i < kMaxKernelName; ++i) record_.kernel[i] = name[i];
    record_.arity = sizeof...(Parameters);
  }
  constexpr launch grid(int64_t x, int64_t y = 1, int64_t z = 1) const {  // CTAs
    launch out = *this;
    out.record_.grid = {x, y, z};
    return out;
  }
  constexpr launch block(int64_t x, int64_t y = 1, int64_t z = 1) const {  // threads
    launch out = *this;
    out.record_.block = {x, y, z};
    return out;
  }
  constexpr launch cluster(int64_t x, int64_t y = 1, int64_t z = 1) const {  // CTAs
    launch out = *this;
    out.record_.cluster = {x, y, z};
    return out;
  }
  constexpr launch smem(int64_t bytes) const {  // dynamic shared memory
    launch out = *this;
    out.record_.smem = bytes;
    return out;
  }
  constexpr launch cooperative() const {  // all CTAs resident at once: grid-wide synchronisation works
    launch out = *this;
    out.record_.cooperative = true;
    return out;
  }
  constexpr launch pdl() const {  // may start before the launch in front has ended (griddepcontrol)
    launch out = *this;
    out.record_.pdl = true;
    return out;
  }
  template <class... Given>
  constexpr launch args(Given const&... given) const {
    static_assert(sizeof...(Given) == sizeof...(Parameters), "cutegen plan: the number of arguments in .args() differs from the kernel's parameters");
    static_assert(sizeof...(Parameters) <= kMaxArgs, "cutegen plan: a kernel has at most 32 parameters");
    static_assert(((std::is_same_v<Given, tensor_map> ? 1 : 0) + ... + 0) <= kMaxTensorMaps, "cutegen plan: a plan has at most 8 tensor maps");
    launch out = *this;
    if constexpr (sizeof...(Given) == sizeof...(Parameters) && sizeof...(Parameters) <= kMaxArgs) {
      out.record_.num_args = 0;
      out.record_.num_maps = 0;
      (out.add(detail::bind<std::remove_cv_t<Parameters>>(given), given), ...);
    } else {
      out.record_.arity = 0;  // said once is enough
    }
    return out;
  }

  constexpr detail::LaunchRecord const& record() const { return record_; }

 private:
  template <class Given>
  constexpr void add(detail::Arg arg, Given const& given) {
    if constexpr (std::is_same_v<Given, tensor_map>) {
      arg.index = record_.num_maps;
      if (record_.num_maps < kMaxTensorMaps) record_.maps[record_.num_maps++] = given;
    }
    record_.args[record_.num_args++] = arg;
  }

  detail::LaunchRecord record_;
};

}  // namespace cutegen
