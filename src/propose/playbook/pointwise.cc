#include "propose/playbook/pointwise.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

namespace cutegen::playbook {
namespace {

// How the arguments of an expression are typed.
enum class Typing {
  result,   // converted to the value type of the node's output
  promote,  // converted to the type that PyTorch promotes the operands to (comparisons)
  own,      // left as they are
  where,    // the first is a condition, the others as `result`
};

// `$name` stands for an argument: the tensor arguments of `tensors` by position, any other by its schema name in attrs.
// `%name` pastes a string attribute as it is.
struct PointwiseOp {
  const char* name;
  const char* tensors;
  const char* expression;
  Typing typing = Typing::result;
};

// Keep sorted by name.
constexpr PointwiseOp kOps[] = {
    {"abs", "self", "cutegen::absolute($self)"},
    {"acos", "self", "cutegen::acos($self)"},
    {"acosh", "self", "cutegen::acosh($self)"},
    {"add", "self other", "$self + $alpha * $other"},
    {"addcdiv", "self tensor1 tensor2", "$self + $value * ($tensor1 / $tensor2)"},
    {"addcmul", "self tensor1 tensor2", "$self + $value * ($tensor1 * $tensor2)"},
    {"alias", "self", "$self"},
    {"asin", "self", "cutegen::asin($self)"},
    {"asinh", "self", "cutegen::asinh($self)"},
    {"atan", "self", "cutegen::atan($self)"},
    {"atan2", "self other", "cutegen::atan2($self, $other)"},
    {"atanh", "self", "cutegen::atanh($self)"},
    {"bitwise_and", "self other", "$self & $other"},
    {"bitwise_not", "self", "~$self"},
    {"bitwise_or", "self other", "$self | $other"},
    {"bitwise_xor", "self other", "$self ^ $other"},
    {"ceil", "self", "cutegen::ceil($self)"},
    {"celu", "self", "cutegen::celu($self, $alpha)"},
    {"clamp", "self min max", "cutegen::clamp($self, $min, $max)"},
    {"clamp_max", "self max", "cutegen::clamp_max($self, $max)"},
    {"clamp_min", "self min", "cutegen::clamp_min($self, $min)"},
    {"clone", "self", "$self"},
    {"contiguous", "self", "$self"},
    {"cos", "self", "cutegen::cos($self)"},
    {"cosh", "self", "cutegen::cosh($self)"},
    {"detach", "self", "$self"},
    {"div", "self other", "$self / $other"},
    {"elu", "self", "cutegen::elu($self, $alpha, $scale, $input_scale)"},
    {"eq", "self other", "$self == $other", Typing::promote},
    {"erf", "self", "cutegen::erf($self)"},
    {"erfc", "self", "cutegen::erfc($self)"},
    {"exp", "self", "cutegen::exp($self)"},
    {"exp2", "self", "cutegen::exp2($self)"},
    {"expm1", "self", "cutegen::expm1($self)"},
    {"floor", "self", "cutegen::floor($self)"},
    {"floor_divide", "self other", "cutegen::div_floor($self, $other)"},
    {"fmod", "self other", "cutegen::fmod($self, $other)"},
    {"frac", "self", "cutegen::frac($self)"},
    {"ge", "self other", "$self >= $other", Typing::promote},
    {"gelu", "self", "cutegen::gelu_%approximate($self)"},
    {"gt", "self other", "$self > $other", Typing::promote},
    {"hardshrink", "self", "cutegen::hardshrink($self, $lambd)"},
    {"hardsigmoid", "self", "cutegen::hardsigmoid($self)"},
    {"hardswish", "self", "cutegen::hardswish($self)"},
    {"hardtanh", "self", "cutegen::hardtanh($self, $min_val, $max_val)"},
    {"isfinite", "self", "cutegen::is_finite($self)", Typing::own},
    {"isinf", "self", "cutegen::is_inf($self)", Typing::own},
    {"isnan", "self", "cutegen::is_nan($self)", Typing::own},
    {"le", "self other", "$self <= $other", Typing::promote},
    {"leaky_relu", "self", "cutegen::leaky_relu($self, $negative_slope)"},
    {"lerp", "self end weight", "cutegen::lerp($self, $end, $weight)"},
    {"log", "self", "cutegen::log($self)"},
    {"log10", "self", "cutegen::log10($self)"},
    {"log1p", "self", "cutegen::log1p($self)"},
    {"log2", "self", "cutegen::log2($self)"},
    {"log_sigmoid", "self", "cutegen::log_sigmoid($self)"},
    {"log_sigmoid_forward", "self", "cutegen::log_sigmoid($self)"},
    {"logical_and", "self other", "bool($self) && bool($other)", Typing::own},
    {"logical_not", "self", "!bool($self)", Typing::own},
    {"logical_or", "self other", "bool($self) || bool($other)", Typing::own},
    {"logical_xor", "self other", "bool($self) != bool($other)", Typing::own},
    {"lt", "self other", "$self < $other", Typing::promote},
    {"masked_fill", "self mask value", "bool($mask) ? $value : $self"},
    {"maximum", "self other", "cutegen::maximum($self, $other)"},
    {"minimum", "self other", "cutegen::minimum($self, $other)"},
    {"mish", "self", "cutegen::mish($self)"},
    {"mul", "self other", "$self * $other"},
    {"ne", "self other", "$self != $other", Typing::promote},
    {"neg", "self", "-$self"},
    {"pow", "self exponent", "cutegen::pow($self, $exponent)"},
    {"reciprocal", "self", "cutegen::reciprocal($self)"},
    {"relu", "self", "cutegen::relu($self)"},
    {"relu6", "self", "cutegen::relu6($self)"},
    {"remainder", "self other", "cutegen::remainder($self, $other)"},
    {"round", "self", "cutegen::round_even($self)"},
    {"rsqrt", "self", "cutegen::rsqrt($self)"},
    {"rsub", "self other", "$other - $alpha * $self"},
    {"selu", "self", "cutegen::selu($self)"},
    {"sgn", "self", "cutegen::sign($self)"},
    {"sigmoid", "self", "cutegen::sigmoid($self)"},
    {"sign", "self", "cutegen::sign($self)"},
    {"silu", "self", "cutegen::silu($self)"},
    {"sin", "self", "cutegen::sin($self)"},
    {"sinh", "self", "cutegen::sinh($self)"},
    {"softplus", "self", "cutegen::softplus($self, $beta, $threshold)"},
    {"softshrink", "self", "cutegen::softshrink($self, $lambd)"},
    {"sqrt", "self", "cutegen::sqrt($self)"},
    {"square", "self", "cutegen::square($self)"},
    {"sub", "self other", "$self - $alpha * $other"},
    {"tan", "self", "cutegen::tan($self)"},
    {"tanh", "self", "cutegen::tanh($self)"},
    {"threshold", "self", "cutegen::threshold($self, $threshold, $value)"},
    {"to_copy", "self", "$self"},
    {"trunc", "self", "cutegen::trunc($self)"},
    {"where", "condition self other", "$condition ? $self : $other", Typing::where},
    {"xlogy", "self other", "cutegen::xlogy($self, $other)"},
};

const PointwiseOp* find(std::string_view op) {
  while (!op.empty() && op.front() == '_' && op != "_softmax" && op != "_log_softmax") op.remove_prefix(1);  // _to_copy, _unsafe_...
  const auto* it =
      std::lower_bound(std::begin(kOps), std::end(kOps), op, [](const PointwiseOp& a, std::string_view b) { return a.name < b; });
  return it != std::end(kOps) && op == it->name ? it : nullptr;
}

int rank_of(DType t) {  // PyTorch's promotion order: bool < integers < floats
  switch (t) {
    case DType::b1: return 0;
    case DType::u8: return 1;
    case DType::i8: return 2;
    case DType::i16: return 3;
    case DType::i32: return 4;
    case DType::i64: return 5;
    case DType::f16: return 6;
    case DType::bf16: return 7;
    case DType::f32: return 8;
    case DType::f64: return 9;
  }
  return 9;
}

// The type in which `operands` are compared: tensors decide within a category, a Python number only raises the category.
DType promoted(const std::vector<Operand>& operands) {
  std::optional<DType> type;
  for (const Operand& o : operands) {
    if (o.code.empty() || o.is_scalar) continue;
    if (!type || rank_of(o.dtype) > rank_of(*type)) type = o.dtype;
  }
  if (!type) return DType::f32;
  for (const Operand& o : operands) {
    if (!o.is_scalar) continue;
    const bool fractional = o.scalar != std::floor(o.scalar) || !std::isfinite(o.scalar);
    if (fractional && !is_floating(*type)) type = DType::f32;
    if (!fractional && *type == DType::b1) type = DType::i64;
  }
  return *type;
}

bool same_value_type(DType a, DType b) { return std::string_view(value_type(a)) == value_type(b); }

std::string converted(const Operand& o, DType to) {
  if (o.is_scalar) return literal(o.scalar, to);
  if (same_value_type(o.dtype, to)) return o.code;
  if (to == DType::b1) return fmt::format("({} != 0)", o.code);
  return fmt::format("static_cast<{}>({})", value_type(to), o.code);
}

int tensor_position(std::string_view tensors, std::string_view name) {
  int at = 0;
  for (size_t begin = 0; begin < tensors.size(); ++at) {
    const size_t end = std::min(tensors.find(' ', begin), tensors.size());
    if (tensors.substr(begin, end - begin) == name) return at;
    begin = end + 1;
  }
  return -1;
}

class Writer {
 public:
  Writer(const Node& node, const PointwiseOp& op, const std::vector<Operand>& operands)
      : node_(node), op_(op), operands_(operands), result_(node.outputs.front().dtype), compared_(promoted(operands)) {}

  Result<std::string> write(std::string_view expression) const {
    std::string text;
    for (size_t i = 0; i < expression.size();) {
      const char sigil = expression[i];
      const size_t end = name_end(expression, i + 1);
      if ((sigil != '$' && sigil != '%') || end == i + 1) {
        text += expression[i++];
        continue;
      }
      const auto name = expression.substr(i + 1, end - i - 1);
      CUTEGEN_TRY(const std::string code, sigil == '$' ? argument(name) : pasted(name));
      text += code;
      i = end;
    }
    return text;
  }

  // The argument `name` as a Python number, if it is one.
  std::optional<double> number(std::string_view name) const {
    const int at = tensor_position(op_.tensors, name);
    if (at >= 0 && at < static_cast<int>(operands_.size()) && operands_[static_cast<size_t>(at)].is_scalar)
      return operands_[static_cast<size_t>(at)].scalar;
    return attribute(name);
  }
  bool absent(std::string_view name) const {
    const int at = tensor_position(op_.tensors, name);
    if (at >= 0 && at < static_cast<int>(operands_.size()) && !operands_[static_cast<size_t>(at)].code.empty()) return false;
    return !number(name);
  }

 private:
  static size_t name_end(std::string_view text, size_t at) {
    while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_')) ++at;
    return at;
  }
  std::optional<double> attribute(std::string_view name) const {
    const auto it = node_.attrs.find(std::string(name));
    if (it == node_.attrs.end()) return std::nullopt;
    if (it->is_boolean()) return it->get<bool>() ? 1.0 : 0.0;
    if (it->is_number()) return it->get<double>();
    if (it->is_string()) {  // JSON has no infinities: "inf", "-inf", "nan"
      const auto text = it->get<std::string>();
      if (text == "inf" || text == "Infinity") return std::numeric_limits<double>::infinity();
      if (text == "-inf" || text == "-Infinity") return -std::numeric_limits<double>::infinity();
    }
    return std::nullopt;
  }
  Result<std::string> argument(std::string_view name) const {
    const int at = tensor_position(op_.tensors, name);
    if (at >= 0 && at < static_cast<int>(operands_.size()) && !operands_[static_cast<size_t>(at)].code.empty())
      return typed(operands_[static_cast<size_t>(at)], name);
    const auto value = attribute(name);
    if (!value) return Error{Errc::unsupported, fmt::format("{} without a number for its argument {}", node_.op, name), "", ""};
    return typed(Operand{literal(*value, result_), result_, true, *value}, name);
  }
  std::string typed(const Operand& o, std::string_view name) const {
    switch (op_.typing) {
      case Typing::result: return name == "mask" ? converted(o, DType::b1) : converted(o, result_);
      case Typing::promote: return converted(o, compared_);
      case Typing::own: return o.is_scalar ? literal(o.scalar, compared_) : o.code;
      case Typing::where: return name == "condition" ? converted(o, DType::b1) : converted(o, result_);
    }
    return o.code;
  }
  Result<std::string> pasted(std::string_view name) const { return json_or<std::string>(node_.attrs, std::string(name).c_str(), "none"); }

  const Node& node_;
  const PointwiseOp& op_;
  const std::vector<Operand>& operands_;
  DType result_;
  DType compared_;
};

// pow with a constant exponent, as ATen special-cases it: products for integers, sqrt for a half.
std::string power(double exponent, bool floating) {
  if (exponent == std::floor(exponent) && std::fabs(exponent) <= 8 && (floating || exponent >= 0))
    return fmt::format("cutegen::pow_int<{}>($self)", static_cast<int>(exponent));
  if (exponent == 0.5) return "cutegen::sqrt($self)";
  if (exponent == -0.5) return "cutegen::rsqrt($self)";
  return "cutegen::pow($self, $exponent)";
}

// The expression after the special cases that a constant argument makes simpler or absent.
std::string specialise(const PointwiseOp& op, const Node& node, const Writer& w) {
  const std::string_view name = op.name;
  const bool floating = is_floating(node.outputs.front().dtype);
  if (name == "add" || name == "sub") {
    if (w.number("alpha").value_or(1) == 1) return name == "add" ? "$self + $other" : "$self - $other";
  }
  if (name == "rsub" && w.number("alpha").value_or(1) == 1) return "$other - $self";
  if ((name == "addcmul" || name == "addcdiv") && w.number("value").value_or(1) == 1)
    return name == "addcmul" ? "$self + $tensor1 * $tensor2" : "$self + $tensor1 / $tensor2";
  if (name == "clamp" && w.absent("max")) return "cutegen::clamp_min($self, $min)";
  if (name == "clamp" && w.absent("min")) return "cutegen::clamp_max($self, $max)";
  if (name == "div") {
    const auto mode = json_or<std::string>(node.attrs, "rounding_mode", "");
    if (mode == "floor") return "cutegen::div_floor($self, $other)";
    if (mode == "trunc") return "cutegen::div_trunc($self, $other)";
  }
  if (name == "pow" && w.number("exponent")) return power(*w.number("exponent"), floating);
  if (name == "bitwise_not" && node.outputs.front().dtype == DType::b1) return "!$self";
  if ((name == "floor" || name == "ceil" || name == "trunc" || name == "round") && !floating) return "$self";
  return op.expression;
}

}  // namespace

const char* value_type(DType dtype) {
  switch (dtype) {
    case DType::f16:
    case DType::bf16:
    case DType::f32: return "float";
    default: return cuda_type(dtype);
  }
}

std::string literal(double value, DType dtype) {
  if (dtype == DType::b1) return value != 0 ? "true" : "false";
  if (dtype == DType::i32) return fmt::format("{}", static_cast<int64_t>(value));
  if (!is_floating(dtype)) return fmt::format("{}({})", value_type(dtype), static_cast<int64_t>(value));  // so that templates deduce it
  const bool wide = dtype == DType::f64;
  if (std::isnan(value)) return wide ? "double(NAN)" : "NAN";
  if (std::isinf(value)) return std::string(value < 0 ? "-" : "") + (wide ? "double(INFINITY)" : "INFINITY");
  // %.9g and %.17g identify a float and a double exactly.
  std::string digits = wide ? fmt::format("{:.17g}", value) : fmt::format("{:.9g}", static_cast<double>(static_cast<float>(value)));
  if (wide) {  // the shortest text that reads back as the same double is easier on the eye
    if (const std::string shortest = fmt::format("{}", value); std::strtod(shortest.c_str(), nullptr) == value) digits = shortest;
  } else if (const std::string shortest = fmt::format("{}", static_cast<float>(value));
             std::strtof(shortest.c_str(), nullptr) == static_cast<float>(value)) {
    digits = shortest;
  }
  if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
  return wide ? digits : digits + "f";
}

bool is_pointwise(std::string_view op) { return find(op) != nullptr; }

std::vector<std::string> pointwise_names() {
  std::vector<std::string> names;
  for (const PointwiseOp& op : kOps) names.emplace_back(op.name);
  return names;
}

Result<std::string> pointwise_expression(const Node& node, const std::vector<Operand>& operands) {
  const PointwiseOp* op = find(node.op);
  if (op == nullptr || node.outputs.empty()) return Error{Errc::unsupported, "the pointwise table has no operator " + node.op, "", ""};
  const Writer writer(node, *op, operands);
  return writer.write(specialise(*op, node, writer));
}

}  // namespace cutegen::playbook
