// Normalisations, softmaxes, norms and losses in terms of primitive reductions and pointwise operators. One function an operator.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>

#include "propose/playbook/rewrite.h"

namespace cutegen::playbook {
namespace {

using Moved = std::vector<ValueRef>;
using Rule = Result<std::optional<Moved>> (*)(GraphBuilder&, const Node&);

constexpr ValueRef kNone{-1, 0};

ValueRef tensor(const Node& node, size_t i) {
  if (i >= node.args.size()) return kNone;
  const auto* v = std::get_if<ValueRef>(&node.args[i]);
  return v != nullptr ? *v : kNone;
}

double number(const Node& node, const char* name, double fallback) {
  const auto it = node.attrs.find(name);
  if (it != node.attrs.end() && it->is_number()) return it->get<double>();
  if (it != node.attrs.end() && it->is_string()) {
    if (*it == "inf") return std::numeric_limits<double>::infinity();
    if (*it == "-inf") return -std::numeric_limits<double>::infinity();
  }
  return fallback;
}

// A reduced value in the shape that the operator promised (keepdim or not).
ValueRef shaped(GraphBuilder& b, const Node& node, ValueRef v, size_t output = 0) {
  const TensorSpec& want = node.outputs.at(output);
  if (b.spec(v).shape != want.shape) v = b.view(v, want.shape);
  return b.cast(v, want.dtype);
}

// The reduction's argument in the dtype that it computes in ("dtype" of sum; integers sum as int64).
ValueRef argument(GraphBuilder& b, const Node& node) {
  const ValueRef x = tensor(node, 0);
  const DType to = node.outputs.at(0).dtype;
  const bool widens = is_floating(to) != is_floating(b.spec(x).dtype) || to == DType::f64;
  return (node.op == "amax" || node.op == "amin" || !widens) ? x : b.cast(x, to);
}

Result<std::optional<Moved>> plain_reduction(GraphBuilder& b, const Node& node) {
  if (node.attrs.contains("axes")) return std::optional<Moved>{};  // already a primitive
  const ValueRef x = argument(b, node);
  const auto axes = reduction_axes(node, b.spec(x).shape.size());
  return std::optional<Moved>{{shaped(b, node, b.reduce(node.op, x, axes))}};
}

// The values of max and min are amax and amin. With a dim they also return positions, which this family does not have: kNone is refused
// where something reads it.
Result<std::optional<Moved>> extreme(GraphBuilder& b, const Node& node) {
  const ValueRef x = tensor(node, 0);
  if (tensor(node, 1).node >= 0) return std::optional<Moved>{{b.pointwise(node.op == "max" ? "maximum" : "minimum", {x, tensor(node, 1)})}};
  Moved out{shaped(b, node, b.reduce("a" + node.op, x, reduction_axes(node, b.spec(x).shape.size())))};
  if (node.outputs.size() > 1) out.push_back(kNone);
  return std::optional<Moved>{out};
}

Result<std::optional<Moved>> softmax(GraphBuilder& b, const Node& node) {
  const ValueRef x = tensor(node, 0);
  const ValueRef stats = b.reduce("softmax_stats", x, reduction_axes(node, b.spec(x).shape.size()), 2);
  const ValueRef shifted = b.pointwise("sub", {x, ValueRef{stats.node, 0}});
  const ValueRef sum{stats.node, 1};
  const ValueRef y = node.op == "_log_softmax" ? b.pointwise("sub", {shifted, b.pointwise("log", {sum})})
                                               : b.pointwise("div", {b.pointwise("exp", {shifted}), sum});
  return std::optional<Moved>{{shaped(b, node, y)}};
}

Result<std::optional<Moved>> logsumexp(GraphBuilder& b, const Node& node) {
  const ValueRef x = tensor(node, 0);
  const ValueRef stats = b.reduce("softmax_stats", x, reduction_axes(node, b.spec(x).shape.size()), 2);
  return std::optional<Moved>{
      {shaped(b, node, b.pointwise("add", {ValueRef{stats.node, 0}, b.pointwise("log", {ValueRef{stats.node, 1}})}))}};
}

struct Normalised {
  ValueRef y, mean, rstd;
};

Normalised normalise(GraphBuilder& b, ValueRef x, const std::vector<int64_t>& axes, double eps) {
  const ValueRef moments = b.reduce("moments", x, axes, 2);
  const ValueRef mean{moments.node, 0};
  const ValueRef rstd = b.pointwise("rsqrt", {b.pointwise("add", {ValueRef{moments.node, 1}, eps})});
  return {b.pointwise("mul", {b.pointwise("sub", {x, mean}), rstd}), mean, rstd};
}

ValueRef affine(GraphBuilder& b, ValueRef y, ValueRef weight, ValueRef bias) {
  if (weight.node >= 0) y = b.pointwise("mul", {y, weight});
  if (bias.node >= 0) y = b.pointwise("add", {y, bias});
  return y;
}

Result<std::optional<Moved>> layer_norm(GraphBuilder& b, const Node& node) {
  const ValueRef x = tensor(node, 0);
  const auto rank = static_cast<int64_t>(b.spec(x).shape.size());
  const auto count = static_cast<int64_t>(json_or<std::vector<int64_t>>(node.attrs, "normalized_shape", {}).size());
  if (count == 0) return Error{Errc::unsupported, "native_layer_norm without a normalized_shape", "", ""};
  std::vector<int64_t> axes;
  for (int64_t i = rank - count; i < rank; ++i) axes.push_back(i);
  const Normalised n = normalise(b, x, axes, number(node, "eps", 1e-5));
  Moved out{shaped(b, node, affine(b, n.y, tensor(node, 1), tensor(node, 2)))};
  if (node.outputs.size() > 1) out.push_back(shaped(b, node, n.mean, 1));
  if (node.outputs.size() > 2) out.push_back(shaped(b, node, n.rstd, 2));
  return std::optional<Moved>{out};
}

Result<std::optional<Moved>> rms_norm(GraphBuilder& b, const Node& node) {
  const ValueRef x = tensor(node, 0);
  const auto rank = static_cast<int64_t>(b.spec(x).shape.size());
  const auto count = static_cast<int64_t>(json_or<std::vector<int64_t>>(node.attrs, "normalized_shape", {}).size());
  std::vector<int64_t> axes;
  for (int64_t i = rank - count; i < rank; ++i) axes.push_back(i);
  const double eps =
      number(node, "eps", is_floating(b.spec(x).dtype) && b.spec(x).dtype == DType::f64 ? 2.220446049250313e-16 : 1.1920928955078125e-07);
  const ValueRef mean = b.reduce("mean", b.pointwise("square", {x}), axes);
  const ValueRef rstd = b.pointwise("rsqrt", {b.pointwise("add", {mean, eps})});
  Moved out{shaped(b, node, affine(b, b.pointwise("mul", {x, rstd}), tensor(node, 1), kNone))};
  if (node.outputs.size() > 1) out.push_back(shaped(b, node, rstd, 1));
  return std::optional<Moved>{out};
}

// [N, C, *] in G groups is [N, G, C/G, *]; statistics over the last two.
Result<std::optional<Moved>> group_norm(GraphBuilder& b, const Node& node) {
  const ValueRef x = tensor(node, 0);
  const Shape shape = b.spec(x).shape;
  const auto groups = static_cast<int64_t>(number(node, "group", 1));
  if (shape.size() < 2 || groups <= 0 || shape[1] % groups != 0 || shape[0] * shape[1] == 0)
    return Error{Errc::unsupported, "native_group_norm of this shape", "", ""};
  const int64_t space = element_count(shape) / (shape[0] * shape[1]);
  const ValueRef grouped = b.view(x, {shape[0], groups, shape[1] / groups, space});
  Normalised n = normalise(b, grouped, {2, 3}, number(node, "eps", 1e-5));
  const Shape channel{1, groups, shape[1] / groups, 1};
  auto by_channel = [&](ValueRef p) { return p.node >= 0 ? b.view(p, channel) : p; };
  const ValueRef y = affine(b, n.y, by_channel(tensor(node, 1)), by_channel(tensor(node, 2)));
  Moved out{shaped(b, node, y)};
  if (node.outputs.size() > 1) out.push_back(shaped(b, node, n.mean, 1));
  if (node.outputs.size() > 2) out.push_back(shaped(b, node, n.rstd, 2));
  return std::optional<Moved>{out};
}

// Statistics over every axis but 1 when training. Running statistics are side effects that no output shows.
Result<std::optional<Moved>> batch_norm(GraphBuilder& b, const Node& node) {
  const ValueRef x = tensor(node, 0);
  const Shape shape = b.spec(x).shape;
  if (shape.size() < 2) return Error{Errc::unsupported, node.op + " of fewer than two dimensions", "", ""};
  Shape channel(shape.size(), 1);
  channel[1] = shape[1];
  auto by_channel = [&](ValueRef p) { return p.node >= 0 ? b.view(p, channel) : p; };
  std::vector<int64_t> axes;
  for (size_t i = 0; i < shape.size(); ++i)
    if (i != 1) axes.push_back(static_cast<int64_t>(i));
  const double eps = number(node, "eps", 1e-5);
  const bool training =
      json_or<bool>(node.attrs, "training", false) || node.op == "_native_batch_norm_legit_no_stats" || tensor(node, 3).node < 0;
  Moved out(std::max<size_t>(node.outputs.size(), 1), kNone);
  if (training) {
    const Normalised n = normalise(b, x, axes, eps);
    out[0] = shaped(b, node, affine(b, n.y, by_channel(tensor(node, 1)), by_channel(tensor(node, 2))));
    if (out.size() > 2) out[1] = shaped(b, node, n.mean, 1), out[2] = shaped(b, node, n.rstd, 2);
    return std::optional<Moved>{out};
  }
  const ValueRef rstd = b.pointwise("rsqrt", {b.pointwise("add", {by_channel(tensor(node, 4)), eps})});
  const ValueRef centred = b.pointwise("sub", {x, by_channel(tensor(node, 3))});
  out[0] = shaped(b, node, affine(b, b.pointwise("mul", {centred, rstd}), by_channel(tensor(node, 1)), by_channel(tensor(node, 2))));
  return std::optional<Moved>{out};
}

Result<std::optional<Moved>> variance(GraphBuilder& b, const Node& node) {
  const ValueRef x = tensor(node, 0);
  const auto axes = reduction_axes(node, b.spec(x).shape.size());
  double n = 1;
  for (const int64_t a : axes) n *= static_cast<double>(b.spec(x).shape[static_cast<size_t>(a)]);
  double correction = number(node, "correction", 1);
  if (node.attrs.contains("unbiased") && node.attrs["unbiased"].is_boolean()) correction = node.attrs["unbiased"].get<bool>() ? 1 : 0;
  const ValueRef moments = b.reduce("moments", x, axes, 2);
  ValueRef var{moments.node, 1};
  if (correction != 0) var = b.pointwise("mul", {var, n > correction ? n / (n - correction) : std::numeric_limits<double>::quiet_NaN()});
  if (node.op.starts_with("std")) var = b.pointwise("sqrt", {var});
  Moved out{shaped(b, node, var)};
  if (node.outputs.size() > 1) out.push_back(shaped(b, node, ValueRef{moments.node, 0}, 1));
  return std::optional<Moved>{out};
}

Result<std::optional<Moved>> vector_norm(GraphBuilder& b, const Node& node) {
  const ValueRef x = tensor(node, 0);
  const auto axes = reduction_axes(node, b.spec(x).shape.size());
  double p = number(node, "ord", number(node, "p", 2));
  if (node.args.size() > 1)
    if (const auto* scalar = std::get_if<double>(&node.args[1])) p = *scalar;
  const ValueRef magnitude = b.pointwise("abs", {x});
  ValueRef y;
  if (p == 2)
    y = b.pointwise("sqrt", {b.reduce("sum", b.pointwise("square", {x}), axes)});
  else if (p == 1)
    y = b.reduce("sum", magnitude, axes);
  else if (std::isinf(p))
    y = b.reduce(p > 0 ? "amax" : "amin", magnitude, axes);
  else if (p == 0)
    return Error{Errc::unsupported, node.op + " of order 0", "", ""};
  else
    y = b.pointwise("pow", {b.reduce("sum", b.pointwise("pow", {magnitude, p}), axes), 1 / p});
  return std::optional<Moved>{{shaped(b, node, y)}};
}

// The loss of each element, then none, mean or sum of them: at::Reduction is 0, 1, 2.
Result<std::optional<Moved>> reduced_loss(GraphBuilder& b, const Node& node, ValueRef each) {
  const auto reduction = static_cast<int64_t>(number(node, "reduction", 1));
  if (reduction == 0) return std::optional<Moved>{{shaped(b, node, each)}};
  std::vector<int64_t> axes;
  for (size_t i = 0; i < b.spec(each).shape.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  return std::optional<Moved>{{shaped(b, node, b.reduce(reduction == 1 ? "mean" : "sum", each, axes))}};
}

Result<std::optional<Moved>> mse_loss(GraphBuilder& b, const Node& node) {
  return reduced_loss(b, node, b.pointwise("square", {b.pointwise("sub", {tensor(node, 0), tensor(node, 1)})}));
}

// huber and smooth_l1 from pointwise pieces: z < d ? z*z/2 (/ d) : d (or 1) * (z - d/2).
Result<std::optional<Moved>> huber_loss(GraphBuilder& b, const Node& node) {
  const bool smooth = node.op == "smooth_l1_loss";
  const double d = number(node, smooth ? "beta" : "delta", 1.0);
  const ValueRef z = b.pointwise("abs", {b.pointwise("sub", {tensor(node, 0), tensor(node, 1)})});
  if (smooth && d == 0) return reduced_loss(b, node, z);
  ValueRef inner = b.pointwise("mul", {b.pointwise("square", {z}), 0.5});
  ValueRef outer = b.pointwise("sub", {z, 0.5 * d});
  if (smooth && d != 1) inner = b.pointwise("div", {inner, d});
  if (!smooth && d != 1) outer = b.pointwise("mul", {outer, d});
  return reduced_loss(b, node, b.pointwise("where", {b.pointwise("lt", {z, d}), inner, outer}));
}

const std::map<std::string, Rule>& rules() {
  static const std::map<std::string, Rule> table{
      {"sum", plain_reduction},
      {"mean", plain_reduction},
      {"amax", plain_reduction},
      {"amin", plain_reduction},
      {"prod", plain_reduction},
      {"max", extreme},
      {"min", extreme},
      {"_softmax", softmax},
      {"_log_softmax", softmax},
      {"logsumexp", logsumexp},
      {"native_layer_norm", layer_norm},
      {"_fused_rms_norm", rms_norm},
      {"rms_norm", rms_norm},
      {"native_group_norm", group_norm},
      {"native_batch_norm", batch_norm},
      {"_native_batch_norm_legit", batch_norm},
      {"_native_batch_norm_legit_functional", batch_norm},
      {"_native_batch_norm_legit_no_training", batch_norm},
      {"cudnn_batch_norm", batch_norm},
      {"var", variance},
      {"std", variance},
      {"var_mean", variance},
      {"std_mean", variance},
      {"linalg_vector_norm", vector_norm},
      {"norm", vector_norm},
      {"frobenius_norm", vector_norm},
      {"mse_loss", mse_loss},
      {"huber_loss", huber_loss},
      {"smooth_l1_loss", huber_loss},
  };
  return table;
}

}  // namespace

Result<std::optional<std::vector<ValueRef>>> rewrite_composite(GraphBuilder& b, const Node& node) {
  const auto rule = rules().find(node.op);
  if (rule == rules().end()) return std::optional<Moved>{};
  if (node.op != "max" && node.op != "min" && tensor(node, 0).node < 0) return std::optional<Moved>{};
  return rule->second(b, node);
}

}  // namespace cutegen::playbook
