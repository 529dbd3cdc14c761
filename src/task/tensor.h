// Element types and dense tensor descriptions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace cutegen {

enum class DType : uint8_t { f32, f16, bf16, f64, i64, i32, i16, i8, u8, b1 };  // b1: one byte a bool, as PyTorch stores it

int64_t size_bytes(DType dtype);
bool is_floating(DType dtype);
// "float32", "float16", "bfloat16", "float64", "int64", "int32", "int16", "int8", "uint8", "bool": PyTorch's names.
const char* to_string(DType dtype);
std::optional<DType> parse_dtype(std::string_view name);
// The CUDA C++ type that holds one element: "float", "__half", "__nv_bfloat16", "double", "int64_t", ... "bool".
const char* cuda_type(DType dtype);

using Shape = std::vector<int64_t>;

int64_t element_count(const Shape& shape);  // 1 for a scalar
Shape contiguous_strides(const Shape& shape);

// A dense row-major tensor: what candidates read and write. The oracle makes every tensor contiguous before it hands it over.
struct TensorSpec {
  std::string name;  // "x", "linear.weight", "out0"
  DType dtype = DType::f32;
  Shape shape;

  int64_t elements() const { return element_count(shape); }
  int64_t bytes() const { return elements() * size_bytes(dtype); }
  bool operator==(const TensorSpec&) const = default;
};

void to_json(Json& j, const TensorSpec& spec);
Result<TensorSpec> tensor_spec_from_json(const Json& j);

}  // namespace cutegen
