#include "task/analysis.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace cutegen {
namespace {

// Copy bandwidths and dense rates. The H200's row is measured (docs/benchmarks.md); the others are vendors' figures, bandwidth
// lowered by a tenth for what a copy reaches.
const std::array<GpuRates, 4> kRates = {{
    {"H200", 4.3e12, 67e12, 400e12, 790e12},
    {"H100", 3.0e12, 67e12, 400e12, 790e12},
    {"A100", 1.8e12, 19.5e12, 156e12, 312e12},
    {"RTX 4090", 0.92e12, 82e12, 82e12, 165e12},
}};

bool is_one_of(std::string_view op, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

bool is_data(const Node& node) { return node.op == "input" || node.op == "param"; }

bool is_view(std::string_view op) {
  return is_one_of(op, {"t", "transpose", "permute", "view", "_unsafe_view", "reshape", "expand", "unsqueeze", "squeeze", "slice", "select",
                        "alias", "detach", "clone", "diag", "diag_embed"});
}

const TensorSpec* tensor_arg(const Graph& graph, const Node& node, size_t i) {
  if (i >= node.args.size()) return nullptr;
  const auto* ref = std::get_if<ValueRef>(&node.args[i]);
  return ref != nullptr ? &graph.spec(*ref) : nullptr;
}

// 2*M*N*K of a contraction; 0 for anything else. The right operand of a product is [K, N] or [B, K, N].
double contraction_flops(const Graph& graph, const Node& node) {
  if (node.outputs.empty()) return 0;
  const auto out = static_cast<double>(node.outputs[0].elements());
  if (is_one_of(node.op, {"mm", "bmm", "mv", "dot"})) {
    const TensorSpec* a = tensor_arg(graph, node, 0);
    return a != nullptr && !a->shape.empty() ? 2 * out * static_cast<double>(a->shape.back()) : 0;
  }
  if (is_one_of(node.op, {"addmm", "baddbmm", "addmv"})) {
    const TensorSpec* a = tensor_arg(graph, node, 1);
    return a != nullptr && !a->shape.empty() ? 2 * out * static_cast<double>(a->shape.back()) : 0;
  }
  if (node.op == "convolution") {
    const TensorSpec* x = tensor_arg(graph, node, 0);
    const TensorSpec* w = tensor_arg(graph, node, 1);
    if (x == nullptr || w == nullptr || w->shape.empty()) return 0;
    const bool transposed = json_or(node.attrs, "transposed", false);
    const auto per_element = static_cast<double>(w->elements()) / static_cast<double>(std::max<int64_t>(1, w->shape[0]));
    return 2 * per_element * (transposed ? static_cast<double>(x->elements()) : out);
  }
  return 0;
}

// A diagonal times a matrix is a row scale: its zeros are no work that must be done.
bool is_diagonal_product(const Graph& graph, const Node& node) {
  for (const Arg& arg : node.args) {
    const auto* ref = std::get_if<ValueRef>(&arg);
    if (ref != nullptr && is_one_of(graph.nodes[static_cast<size_t>(ref->node)].op, {"diag", "diag_embed"})) return true;
  }
  return false;
}

std::vector<bool> used_nodes(const Graph& graph) {
  std::vector<bool> used(graph.nodes.size(), false);
  for (const ValueRef& v : graph.outputs) used[static_cast<size_t>(v.node)] = true;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    if (!used[i]) continue;
    for (const Arg& arg : graph.nodes[i].args)
      if (const auto* ref = std::get_if<ValueRef>(&arg)) used[static_cast<size_t>(ref->node)] = true;
  }
  return used;
}

std::string classify(const Graph& graph, const std::vector<bool>& used) {
  struct Rule {
    const char* op_class;
    std::initializer_list<std::string_view> ops;
  };
  // First rule that matches any used node names the class: the costliest kind of work decides.
  static const std::initializer_list<Rule> rules = {
      {"attention",
       {"_scaled_dot_product_flash_attention", "_scaled_dot_product_efficient_attention", "_scaled_dot_product_attention_math",
        "scaled_dot_product_attention"}},
      {"convolution", {"convolution", "_convolution"}},
      {"matmul", {"mm", "addmm", "bmm", "baddbmm", "mv", "addmv", "dot"}},
      {"scan", {"cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"}},
      {"pool",
       {"max_pool2d_with_indices", "max_pool3d_with_indices", "avg_pool2d", "avg_pool3d", "_adaptive_avg_pool2d", "_adaptive_avg_pool3d"}},
      {"softmax", {"_softmax", "_log_softmax"}},
      {"norm",
       {"native_layer_norm", "native_group_norm", "native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_functional",
        "cudnn_batch_norm"}},
      {"loss", {"mse_loss", "smooth_l1_loss", "huber_loss", "nll_loss_forward", "binary_cross_entropy"}},
  };
  for (const Rule& rule : rules)
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      if (used[i] && is_one_of(graph.nodes[i].op, rule.ops) && !is_diagonal_product(graph, graph.nodes[i])) return rule.op_class;
  bool reduces = false;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    reduces |= used[i] && is_one_of(graph.nodes[i].op, {"sum", "mean", "amax", "amin", "max", "min", "prod", "var", "std", "norm",
                                                        "linalg_vector_norm", "argmax", "argmin", "logsumexp", "var_mean", "any", "all"});
  if (!reduces) return "elementwise";
  for (const ValueRef& v : graph.outputs)
    if (graph.spec(v).elements() == 1) return "loss";
  for (const ValueRef& v : graph.outputs)
    for (const Node& node : graph.nodes)
      if (node.op == "input" && node.outputs[0].shape == graph.spec(v).shape) return "norm";
  return "reduction";
}

}  // namespace

const GpuRates& rates_for(const std::string& device_name) {
  for (const GpuRates& rates : kRates)
    if (device_name.find(rates.name) != std::string::npos) return rates;
  return kRates[0];
}

Analysis analyse(const Task& task, const GpuRates& rates) {
  Analysis a;
  for (const TensorSpec& out : task.outputs) a.output_bytes += out.bytes();
  if (!task.graph) {
    for (const TensorSpec& in : task.inputs) a.input_bytes += in.bytes();
    for (const TensorSpec& p : task.params) a.input_bytes += p.bytes();
    a.op_class = "opaque";
  } else {
    const Graph& graph = *task.graph;
    const std::vector<bool> used = used_nodes(graph);
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      if (!used[i]) continue;
      if (is_data(node)) {
        a.input_bytes += node.outputs[0].bytes();
        continue;
      }
      if (is_view(node.op)) continue;
      const double contraction = is_diagonal_product(graph, node) ? 0 : contraction_flops(graph, node);
      a.contraction_flops += contraction;
      a.flops += contraction > 0 || node.outputs.empty() ? contraction : static_cast<double>(node.outputs[0].elements());
    }
    a.op_class = classify(graph, used);
  }
  a.memory_floor_s = static_cast<double>(a.input_bytes + a.output_bytes) / rates.dram_bytes_per_s;
  a.compute_floor_s = a.contraction_flops / rates.half_flops + (a.flops - a.contraction_flops) / rates.fp32_flops;
  return a;
}

std::vector<Warning> graph_warnings(const Task& task) {
  std::vector<Warning> warnings;
  if (!task.graph) return warnings;
  const Graph& graph = *task.graph;
  const std::vector<bool> used = used_nodes(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (!is_data(node) || used[i]) continue;
    const char* kind = node.op == "input" ? "input" : "parameter";
    warnings.push_back({std::string("unused_") + kind, std::string("no output depends on ") + kind + " '" + node.outputs[0].name + "'"});
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const Node& node = graph.nodes[static_cast<size_t>(graph.outputs[i].node)];
    if (is_data(node)) warnings.push_back({"output_is_input", "output " + std::to_string(i) + " is '" + node.outputs[0].name + "' itself"});
  }
  bool depends = false;
  for (size_t i = 0; i < graph.nodes.size(); ++i) depends |= used[i] && graph.nodes[i].op == "input";
  if (!depends && !task.inputs.empty()) warnings.push_back({"constant_output", "no output depends on any input"});
  return warnings;
}

}  // namespace cutegen
