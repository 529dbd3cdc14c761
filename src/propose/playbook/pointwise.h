// The pointwise operators of ATen as CUDA C++ expressions: one table (pointwise.cc), used by every schema that fuses.
//
// Values of float32, float16 and bfloat16 tensors are computed in float, float64 in double, integers and bool in their own type;
// rounding to a half type happens only where a tensor is stored. The device functions are in kernels/include/cutegen/math.cuh.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "task/graph.h"

namespace cutegen::playbook {

// The C++ type in which a value of `dtype` is held in registers: "float", "double", "int64_t", "int", "bool" ...
const char* value_type(DType dtype);

// A C++ literal of type value_type(dtype) with exactly this value ("0.1f", "3", "int64_t(3)", "-INFINITY").
std::string literal(double value, DType dtype);

// One argument of a node as code: a name or expression, and the dtype of the value (for a Python number: `is_scalar`).
struct Operand {
  std::string code;
  DType dtype = DType::f32;
  bool is_scalar = false;
  double scalar = 0;  // its value, when is_scalar
};

// Whether the table has `op` (an ATen name without overload: "gelu").
bool is_pointwise(std::string_view op);
// All names in the table, sorted.
std::vector<std::string> pointwise_names();

// The expression of node.outputs[0] for one element, of type value_type(node.outputs[0].dtype). `operands` match node.args one to
// one; an absent optional argument has empty code. Errc::unsupported names the op and what about it is not served.
Result<std::string> pointwise_expression(const Node& node, const std::vector<Operand>& operands);

}  // namespace cutegen::playbook
