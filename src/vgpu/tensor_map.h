// Tensor maps: what cp.async.bulk.tensor (TMA) copies from or to. The hardware's 128 bytes are opaque; these are ours, so a map encoded
// here works on the virtual GPU only. It is copied by value (a kernel's parameter, or bytes in global memory) and patched by
// tensormap.replace. Word 1 stays zero: CuTe clears bit 21 of it for drivers that it takes for old.
//
// Source: CUDA driver API, cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col; PTX ISA 5.5 (tensors), 9.7.9.27.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace cutegen::vgpu {

// Numbers as in CUtensorMapDataType, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapFloatOOBfill.
enum class TensorType : uint8_t {
  uint8,
  uint16,
  uint32,
  int32,
  uint64,
  int64,
  float16,
  float32,
  float64,
  bfloat16,
  float32_ftz,
  tfloat32,
  tfloat32_ftz
};
enum class TensorInterleave : uint8_t { none, bytes_16, bytes_32 };
enum class TensorSwizzle : uint8_t { none, bytes_32, bytes_64, bytes_128 };
enum class TensorFill : uint8_t { zeros, nan };  // what elements outside the tensor read as
uint32_t size_bytes(TensorType type);

// Kernels want it at a multiple of 64 bytes (alignas at its use; not part of the type, so that it can be passed by value).
struct TensorMap {
  static constexpr uint32_t kMagic = 0x70616d74;  // "tmap"
  uint32_t magic = 0;
  TensorType type = TensorType::uint8;
  uint8_t rank = 1;
  TensorInterleave interleave : 4 = TensorInterleave::none;
  TensorSwizzle swizzle : 4 = TensorSwizzle::none;
  TensorFill fill : 4 = TensorFill::zeros;
  uint8_t im2col : 4 = 0;
  uint64_t reserved = 0;
  uint64_t address = 0;
  std::array<uint64_t, 4> strides{};  // bytes, of dimensions 1..4; dimension 0 is contiguous
  std::array<uint32_t, 5> dims{};     // elements, dimension 0 first; 0 stands for 2^32
  std::array<uint16_t, 5> box{};      // elements; im2col: [0] channels a pixel, [1] pixels a column
  std::array<uint8_t, 5> element_strides{};
  std::array<int16_t, 3> lower{}, upper{};  // corners of the pixels' bounding box, dimension 1 first
  uint8_t unused[24] = {};

  uint64_t dim(uint32_t i) const { return dims[i] == 0 ? uint64_t{1} << 32 : dims[i]; }
  uint64_t stride(uint32_t i) const { return i == 0 ? size_bytes(type) : strides[i - 1]; }
};
static_assert(sizeof(TensorMap) == 128);

// What cuTensorMapEncodeTiled takes. Arrays hold `rank` entries (strides: rank - 1), the innermost dimension first.
struct TiledTensor {
  TensorType type = TensorType::float32;
  uint32_t rank = 0;     // 1..5
  uint64_t address = 0;  // of the virtual GPU's Memory
  std::array<uint64_t, 5> dims{};
  std::array<uint64_t, 4> strides{};  // bytes
  std::array<uint32_t, 5> box{};
  std::array<uint32_t, 5> element_strides{1, 1, 1, 1, 1};
  TensorInterleave interleave = TensorInterleave::none;
  TensorSwizzle swizzle = TensorSwizzle::none;
  TensorFill fill = TensorFill::zeros;
};
// What cuTensorMapEncodeIm2col takes: dimensions are channels, 1 to 3 spatial ones, batch; `box` of `tensor` is not read.
struct Im2colTensor {
  TiledTensor tensor;
  std::array<int32_t, 3> lower{}, upper{};  // pixelBoxLowerCorner, pixelBoxUpperCorner: rank - 2 entries
  uint32_t channels_per_pixel = 0, pixels_per_column = 0;
};

// Errors are invalid_input with the argument's name and its limit.
Result<TensorMap> encode(const TiledTensor& tensor);
Result<TensorMap> encode(const Im2colTensor& tensor);

// Why a map cannot be used by an instruction, "" when it can: maps can be patched, or be no maps at all.
std::string check(const TensorMap& map);

}  // namespace cutegen::vgpu
