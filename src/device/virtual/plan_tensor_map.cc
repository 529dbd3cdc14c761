#include "device/virtual/plan_tensor_map.h"

#include <algorithm>

namespace cutegen {
namespace {

// As device/cuda/program.cc chooses for the driver, so that both devices copy the same bytes.
vgpu::TensorType type_of(DType dtype) {
  using vgpu::TensorType;
  switch (dtype) {
    case DType::f32: return TensorType::float32;
    case DType::f16: return TensorType::float16;
    case DType::bf16: return TensorType::bfloat16;
    case DType::f64: return TensorType::float64;
    case DType::i64: return TensorType::int64;
    case DType::i32: return TensorType::int32;
    case DType::i16: return TensorType::uint16;
    default: return TensorType::uint8;
  }
}

}  // namespace

Result<vgpu::TensorMap> encode(const PlanTensorMap& map, uint64_t address) {
  const size_t rank = map.shape.size();
  if (rank < 1 || rank > 5 || map.strides.size() + 1 != rank || map.box.size() != rank || map.element_strides.size() != rank)
    return Error{Errc::invalid_input, "a tensor map of the plan has inconsistent ranks", "", ""};
  vgpu::TiledTensor t;
  t.type = type_of(map.dtype), t.rank = static_cast<uint32_t>(rank), t.address = address;
  std::copy(map.shape.begin(), map.shape.end(), t.dims.begin());
  std::copy(map.strides.begin(), map.strides.end(), t.strides.begin());
  std::copy(map.box.begin(), map.box.end(), t.box.begin());
  std::copy(map.element_strides.begin(), map.element_strides.end(), t.element_strides.begin());
  if (map.interleave > 2 || map.swizzle > 3 || map.oob_fill > 1)
    return Error{Errc::invalid_input, "a tensor map of the plan has an interleave, swizzle or fill that does not exist", "", ""};
  t.interleave = static_cast<vgpu::TensorInterleave>(map.interleave);
  t.swizzle = static_cast<vgpu::TensorSwizzle>(map.swizzle);
  t.fill = static_cast<vgpu::TensorFill>(map.oob_fill);
  return vgpu::encode(t);
}

}  // namespace cutegen
