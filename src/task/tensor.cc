#include "task/tensor.h"

#include <array>

namespace cutegen {
namespace {

struct DTypeFacts {
  DType dtype;
  const char* name;
  const char* cuda;
  int bytes;
  bool floating;
};

constexpr std::array<DTypeFacts, 10> kFacts = {{
    {DType::f32, "float32", "float", 4, true},
    {DType::f16, "float16", "__half", 2, true},
    {DType::bf16, "bfloat16", "__nv_bfloat16", 2, true},
    {DType::f64, "float64", "double", 8, true},
    {DType::i64, "int64", "int64_t", 8, false},
    {DType::i32, "int32", "int32_t", 4, false},
    {DType::i16, "int16", "int16_t", 2, false},
    {DType::i8, "int8", "int8_t", 1, false},
    {DType::u8, "uint8", "uint8_t", 1, false},
    {DType::b1, "bool", "bool", 1, false},
}};

const DTypeFacts& facts(DType dtype) { return kFacts.at(static_cast<size_t>(dtype)); }

}  // namespace

int64_t size_bytes(DType dtype) { return facts(dtype).bytes; }
bool is_floating(DType dtype) { return facts(dtype).floating; }
const char* to_string(DType dtype) { return facts(dtype).name; }
const char* cuda_type(DType dtype) { return facts(dtype).cuda; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (const DTypeFacts& f : kFacts)
    if (name == f.name) return f.dtype;
  return std::nullopt;
}

int64_t element_count(const Shape& shape) {
  int64_t n = 1;
  for (const int64_t extent : shape) n *= extent;
  return n;
}

Shape contiguous_strides(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

void to_json(Json& j, const TensorSpec& spec) { j = Json{{"name", spec.name}, {"dtype", to_string(spec.dtype)}, {"shape", spec.shape}}; }

Result<TensorSpec> tensor_spec_from_json(const Json& j) {
  TensorSpec spec;
  spec.name = json_or<std::string>(j, "name", "");
  CUTEGEN_TRY(const auto dtype, json_get<std::string>(j, "dtype"));
  const auto parsed = parse_dtype(dtype);
  if (!parsed)
    return Error{Errc::unsupported, "tensor '" + spec.name + "' has dtype " + dtype + ", which cutegen does not handle",
                 "use float32, float16, bfloat16, float64 or an integer type", ""};
  spec.dtype = *parsed;
  CUTEGEN_TRY(spec.shape, json_get<Shape>(j, "shape"));
  for (const int64_t extent : spec.shape)
    if (extent < 0) return Error{Errc::protocol, "tensor '" + spec.name + "' has a negative extent", "", ""};
  return spec;
}

}  // namespace cutegen
