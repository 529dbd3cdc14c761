// Scalar types of PTX as C++ values, and how they sit in the 32 lanes of a register.
//
// A register of up to 32 bits is 32 lanes of uint32_t, a 64-bit one 32 lanes of uint64_t, a predicate one bit a lane in a uint32_t. Readers
// take the low bits that their type has; writers of narrow types extend (by sign for signed types), which no reader can tell apart.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace cutegen::vgpu {

inline constexpr int kLanes = 32;

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s8 = int8_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;
using f32 = float;
using f64 = double;
struct f16 {
  u16 bits;
};
struct bf16 {
  u16 bits;
};
struct f16x2 {
  u32 bits;
};
struct bf16x2 {
  u32 bits;
};
struct u128 {
  u64 lo, hi;
};
enum class pred : bool { no, yes };

template <class T>
using storage_t = std::conditional_t<(sizeof(T) > 4), u64, u32>;

template <class T>
[[gnu::always_inline]] inline T from_storage(storage_t<T> bits) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(bits);
  else if constexpr (sizeof(T) == 2)
    return T{static_cast<u16>(bits)};
  else if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<T>(bits);
  else
    return T{bits};
}

template <class T>
[[gnu::always_inline]] inline storage_t<T> to_storage(T value) {
  if constexpr (std::is_signed_v<T> && std::is_integral_v<T>)
    return static_cast<storage_t<T>>(static_cast<std::make_signed_t<storage_t<T>>>(value));
  else if constexpr (std::is_integral_v<T>)
    return value;
  else if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<storage_t<T>>(value);
  else
    return value.bits;
}

// What an operand is, for immediates and for width checks at load.
enum class Value : uint8_t { U8, U16, U32, U64, S8, S16, S32, S64, F16, BF16, F16x2, BF16x2, F32, F64, B128, Pred };

template <class T>
constexpr Value value_of() {
  if constexpr (std::is_same_v<T, u8>)
    return Value::U8;
  else if constexpr (std::is_same_v<T, u16>)
    return Value::U16;
  else if constexpr (std::is_same_v<T, u32>)
    return Value::U32;
  else if constexpr (std::is_same_v<T, u64>)
    return Value::U64;
  else if constexpr (std::is_same_v<T, s8>)
    return Value::S8;
  else if constexpr (std::is_same_v<T, s16>)
    return Value::S16;
  else if constexpr (std::is_same_v<T, s32>)
    return Value::S32;
  else if constexpr (std::is_same_v<T, s64>)
    return Value::S64;
  else if constexpr (std::is_same_v<T, f16>)
    return Value::F16;
  else if constexpr (std::is_same_v<T, bf16>)
    return Value::BF16;
  else if constexpr (std::is_same_v<T, f16x2>)
    return Value::F16x2;
  else if constexpr (std::is_same_v<T, bf16x2>)
    return Value::BF16x2;
  else if constexpr (std::is_same_v<T, f32>)
    return Value::F32;
  else if constexpr (std::is_same_v<T, f64>)
    return Value::F64;
  else if constexpr (std::is_same_v<T, pred>)
    return Value::Pred;
  else
    static_assert(sizeof(T) == 0, "not a PTX type");
}

constexpr int size_bytes(Value v) {
  switch (v) {
    case Value::U8:
    case Value::S8: return 1;
    case Value::U16:
    case Value::S16:
    case Value::F16:
    case Value::BF16: return 2;
    case Value::U64:
    case Value::S64:
    case Value::F64: return 8;
    case Value::B128: return 16;
    case Value::Pred: return 0;
    default: return 4;
  }
}
constexpr bool is_signed(Value v) { return v == Value::S8 || v == Value::S16 || v == Value::S32 || v == Value::S64; }
constexpr bool is_wide(Value v) { return size_bytes(v) == 8; }  // 64-bit lanes

}  // namespace cutegen::vgpu
