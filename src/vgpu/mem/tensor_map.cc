#include "vgpu/tensor_map.h"

#include <fmt/format.h>

namespace cutegen::vgpu {
namespace {

constexpr uint64_t kMaxDim = uint64_t{1} << 32, kMaxStride = uint64_t{1} << 40;

bool is_float(TensorType t) {
  return t == TensorType::float16 || t == TensorType::float32 || t == TensorType::float64 || t == TensorType::bfloat16 ||
         t >= TensorType::float32_ftz;
}
uint32_t swizzle_bytes(TensorSwizzle s) { return s == TensorSwizzle::none ? 0 : 16u << static_cast<uint32_t>(s); }

// The rules that do not depend on the mode.
std::string check_tensor(const TensorMap& m) {
  if (m.magic != TensorMap::kMagic) return "not a tensor map: encode() makes one";
  if (m.type > TensorType::tfloat32_ftz) return fmt::format("element type {} does not exist", static_cast<int>(m.type));
  if (m.rank < 1 || m.rank > 5) return fmt::format("rank {} is not between 1 and 5", m.rank);
  if (m.interleave > TensorInterleave::bytes_32) return "no such interleave";
  if (m.swizzle > TensorSwizzle::bytes_128) return "no such swizzle";
  const uint64_t unit = m.interleave == TensorInterleave::bytes_32 ? 32 : 16;
  if (m.address % unit != 0) return fmt::format("global address {:#x} is not a multiple of {}", m.address, unit);
  for (uint32_t i = 1; i < m.rank; ++i)
    if (m.stride(i) % unit != 0 || m.stride(i) >= kMaxStride)
      return fmt::format("global stride {} of dimension {}: not a multiple of {} below 2^40", m.stride(i), i, unit);
  for (uint32_t i = 0; i < m.rank; ++i)
    if (m.element_strides[i] < 1 || m.element_strides[i] > 8)
      return fmt::format("element stride {} of dimension {} is not between 1 and 8", m.element_strides[i], i);
  if (m.interleave != TensorInterleave::none && m.rank < 3) return "interleaved layouts need a rank of at least 3";
  if (m.interleave == TensorInterleave::bytes_32 && m.swizzle != TensorSwizzle::bytes_32)
    return "interleave of 32 bytes needs the 32-byte swizzle";
  if (m.fill == TensorFill::nan && !is_float(m.type)) return "NaN fill needs a floating-point element type";
  return {};
}

std::string check_inner(const TensorMap& m) {
  const uint32_t bytes = m.box[0] * size_bytes(m.type), widest = swizzle_bytes(m.swizzle);
  if (m.interleave != TensorInterleave::none) return {};
  if (bytes % 16 != 0) return fmt::format("the box's inner dimension has {} bytes: not a multiple of 16", bytes);
  if (widest != 0 && bytes > widest)
    return fmt::format("the box's inner dimension has {} bytes: more than the swizzle's {}", bytes, widest);
  return {};
}

std::string check_im2col(const TensorMap& m) {
  if (m.rank < 3) return "im2col needs a rank of at least 3";
  const int bits = m.rank == 3 ? 16 : m.rank == 4 ? 8 : 5, low = -(1 << (bits - 1)), high = (1 << (bits - 1)) - 1;
  for (uint32_t i = 0; i + 2 < m.rank; ++i)
    for (int corner : {static_cast<int>(m.lower[i]), static_cast<int>(m.upper[i])})
      if (corner < low || corner > high) return fmt::format("pixel box corner {} is not between {} and {}", corner, low, high);
  if (m.box[0] < 1 || m.box[0] > 256) return fmt::format("{} channels per pixel: not between 1 and 256", m.box[0]);
  if (m.box[1] < 1 || m.box[1] > 1024) return fmt::format("{} pixels per column: not between 1 and 1024", m.box[1]);
  return check_inner(m);
}

std::string check_tiled(const TensorMap& m) {
  for (uint32_t i = 0; i < m.rank; ++i)
    if (m.box[i] < 1 || m.box[i] > 256) return fmt::format("box dimension {} is {}: not between 1 and 256", i, m.box[i]);
  return check_inner(m);
}

// Arguments that would not fit the map's fields, and the fields that both modes share.
std::string fill_common(const TiledTensor& t, TensorMap& m) {
  m.magic = TensorMap::kMagic;
  m.type = t.type, m.interleave = t.interleave, m.swizzle = t.swizzle, m.fill = t.fill, m.address = t.address;
  if (t.rank < 1 || t.rank > 5) return fmt::format("rank {} is not between 1 and 5", t.rank);
  m.rank = static_cast<uint8_t>(t.rank);
  for (uint32_t i = 0; i < t.rank; ++i) {
    if (t.dims[i] < 1 || t.dims[i] > kMaxDim) return fmt::format("dimension {} is {}: not between 1 and 2^32", i, t.dims[i]);
    m.dims[i] = static_cast<uint32_t>(t.dims[i]);
    if (i > 0) m.strides[i - 1] = t.strides[i - 1];
    if (t.element_strides[i] < 1 || t.element_strides[i] > 8)
      return fmt::format("element stride {} of dimension {} is not between 1 and 8", t.element_strides[i], i);
    m.element_strides[i] = static_cast<uint8_t>(t.element_strides[i]);
  }
  return {};
}

Result<TensorMap> finish(const TensorMap& m, std::string problem) {
  if (problem.empty()) problem = check(m);
  if (!problem.empty()) return Error{Errc::invalid_input, "tensor map: " + problem, "", ""};
  return m;
}

}  // namespace

uint32_t size_bytes(TensorType type) {
  constexpr uint8_t kBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return static_cast<size_t>(type) < sizeof kBytes ? kBytes[static_cast<size_t>(type)] : 1;
}

std::string check(const TensorMap& m) {
  std::string problem = check_tensor(m);
  if (problem.empty()) problem = m.im2col != 0 ? check_im2col(m) : check_tiled(m);
  return problem;
}

Result<TensorMap> encode(const TiledTensor& t) {
  TensorMap m;
  std::string problem = fill_common(t, m);
  for (uint32_t i = 0; i < 5 && i < t.rank; ++i) {
    if (t.box[i] < 1 || t.box[i] > 256) problem = fmt::format("box dimension {} is {}: not between 1 and 256", i, t.box[i]);
    m.box[i] = static_cast<uint16_t>(t.box[i]);
  }
  return finish(m, std::move(problem));
}

Result<TensorMap> encode(const Im2colTensor& t) {
  TensorMap m;
  std::string problem = fill_common(t.tensor, m);
  m.im2col = 1;
  for (size_t i = 0; i < 3; ++i) {
    m.lower[i] = static_cast<int16_t>(t.lower[i]), m.upper[i] = static_cast<int16_t>(t.upper[i]);
    if (m.lower[i] != t.lower[i] || m.upper[i] != t.upper[i]) problem = "a corner of the pixel box does not fit 16 bits";
  }
  if (t.channels_per_pixel > 256 || t.pixels_per_column > 1024) problem = "at most 256 channels per pixel and 1024 pixels per column";
  m.box[0] = static_cast<uint16_t>(t.channels_per_pixel), m.box[1] = static_cast<uint16_t>(t.pixels_per_column);
  return finish(m, std::move(problem));
}

}  // namespace cutegen::vgpu
