// The values that a plan is made of: arguments, tensor maps, launches. All are constexpr; none exists in device code.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace cutegen {

inline constexpr int kMaxLaunches = 32;
inline constexpr int kMaxArgs = 32;         // of one launch
inline constexpr int kMaxTensorMaps = 8;    // of a plan
inline constexpr int kMaxKernelName = 127;  // characters

// Element types, numbered as DType in src/task/tensor.h.
enum class dtype : uint32_t { f32, f16, bf16, f64, i64, i32, i16, i8, u8, b1 };

// Shared-memory swizzles of a tensor map, numbered as CUtensorMapSwizzle.
enum class swizzle : uint32_t { none, b32, b64, b128 };

struct zeroed_t {};
inline constexpr zeroed_t zeroed{};  // .workspace(bytes, cutegen::zeroed)

namespace detail {

enum class Kind : uint32_t { none, input, param, output, workspace, scalar, tensor_map };

struct Pointer {
  Kind kind;
  uint32_t index;
  uint64_t offset;  // bytes
  constexpr bool operator==(Pointer const&) const = default;
};

constexpr int64_t element_bytes(dtype type) {
  switch (type) {
    case dtype::f64:
    case dtype::i64: return 8;
    case dtype::f32:
    case dtype::i32: return 4;
    case dtype::f16:
    case dtype::bf16:
    case dtype::i16: return 2;
    default: return 1;
  }
}

}  // namespace detail

// A short list of numbers, so that shapes can be written {K, M}.
struct dims {
  uint64_t value[5] = {};
  int count = 0;
  constexpr dims() = default;
  constexpr dims(std::initializer_list<int64_t> list) {
    for (int64_t v : list) {
      if (count < 5) value[count] = static_cast<uint64_t>(v);
      ++count;  // a sixth one is reported by the plan's checks
    }
  }
  constexpr bool operator==(dims const&) const = default;
};

// A TMA descriptor of a tiled tensor, innermost dimension first. The device encodes it (cuTensorMapEncodeTiled) before the first launch.
class tensor_map {
 public:
  constexpr tensor_map() = default;
  constexpr tensor_map(detail::Pointer buffer, dtype type, dims shape, dims strides_bytes, dims box, cutegen::swizzle pattern)
      : buffer_(buffer), type_(type), shape_(shape), strides_(strides_bytes), box_(box), swizzle_(pattern) {}

  constexpr tensor_map element_strides(dims steps) const {
    tensor_map out = *this;
    out.steps_ = steps;
    return out;
  }
  // Bytes that L2 fetches at once: 0, 64, 128 or 256.
  constexpr tensor_map l2_promotion(int bytes) const {
    tensor_map out = *this;
    out.l2_ = bytes == 0 ? 0u : bytes == 64 ? 1u : bytes == 128 ? 2u : bytes == 256 ? 3u : ~0u;
    return out;
  }
  // Elements outside the tensor read as NaN instead of zero.
  constexpr tensor_map out_of_bounds_nan() const {
    tensor_map out = *this;
    out.oob_ = 1;
    return out;
  }
  // 0: none, 1: 16 bytes, 2: 32 bytes (CUtensorMapInterleave).
  constexpr tensor_map interleave(uint32_t mode) const {
    tensor_map out = *this;
    out.interleave_ = mode;
    return out;
  }

  constexpr bool operator==(tensor_map const&) const = default;

  detail::Pointer buffer_{};
  dtype type_ = dtype::f32;
  dims shape_, strides_, box_, steps_;
  cutegen::swizzle swizzle_ = cutegen::swizzle::none;
  uint32_t interleave_ = 0, l2_ = 0, oob_ = 0;
};

// Arguments of a launch. Offsets are bytes from the start of the tensor, which is dense, row-major and aligned to 256 bytes.
constexpr detail::Pointer input(int index, int64_t byte_offset = 0) {
  return {detail::Kind::input, static_cast<uint32_t>(index), static_cast<uint64_t>(byte_offset)};
}
constexpr detail::Pointer param(int index, int64_t byte_offset = 0) {
  return {detail::Kind::param, static_cast<uint32_t>(index), static_cast<uint64_t>(byte_offset)};
}
constexpr detail::Pointer output(int index, int64_t byte_offset = 0) {
  return {detail::Kind::output, static_cast<uint32_t>(index), static_cast<uint64_t>(byte_offset)};
}
constexpr detail::Pointer workspace(int64_t byte_offset = 0) { return {detail::Kind::workspace, 0, static_cast<uint64_t>(byte_offset)}; }

// For a `const __grid_constant__ CUtensorMap` parameter (or cute::TmaDescriptor). shape and box count elements, innermost first; strides_bytes
// has one entry less than shape, because the innermost dimension is contiguous.
constexpr tensor_map tma(detail::Pointer buffer, dtype type, dims shape, dims strides_bytes, dims box, swizzle pattern = swizzle::none) {
  return {buffer, type, shape, strides_bytes, box, pattern};
}

namespace detail {

// An argument with everything that the checks need to know of it.
struct Arg {
  Kind kind = Kind::none;
  uint32_t index = 0;   // of a tensor_map: filled in when the plan collects its maps
  uint64_t offset = 0;  // bytes
  uint64_t value = 0;   // of a scalar: its bytes, little-endian
  uint32_t size = 0;    // bytes of the kernel parameter
  uint32_t pointee = 0;  // ElementClass of what the kernel's pointer points to
  bool bad_value = false;  // a scalar that its parameter's type cannot hold
};

struct Dim3 {
  int64_t x = 1, y = 1, z = 1;
};

// A launch without its kernel's type.
struct LaunchRecord {
  char kernel[kMaxKernelName + 1] = {};
  Dim3 grid, block, cluster;
  int64_t smem = 0;
  bool cooperative = false, pdl = false;
  int num_args = -1;  // -1: .args() was not called
  int arity = 0;      // of the kernel
  Arg args[kMaxArgs] = {};
  int num_maps = 0;   // tensor maps among the arguments, in order
  tensor_map maps[kMaxTensorMaps] = {};
};

}  // namespace detail
}  // namespace cutegen
