#include "propose/playbook/rewrite.h"

#include <algorithm>

#include "propose/playbook/pointwise.h"

namespace cutegen::playbook {
namespace {

Shape broadcast_shape(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

// Drops nodes from which no output can be reached; inputs and parameters stay.
Graph without_dead_nodes(const Graph& graph) {
  std::vector<bool> live(graph.nodes.size(), false);
  for (const ValueRef v : graph.outputs) live.at(static_cast<size_t>(v.node)) = true;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const bool leaf = graph.nodes[i].op == "input" || graph.nodes[i].op == "param";
    if (leaf) live[i] = true;
    if (!live[i]) continue;
    for (const Arg& arg : graph.nodes[i].args)
      if (const auto* v = std::get_if<ValueRef>(&arg)) live[static_cast<size_t>(v->node)] = true;
  }
  std::vector<int> number(graph.nodes.size(), -1);
  Graph out;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!live[i]) continue;
    Node node = graph.nodes[i];
    for (Arg& arg : node.args)
      if (auto* v = std::get_if<ValueRef>(&arg)) v->node = number[static_cast<size_t>(v->node)];
    number[i] = static_cast<int>(out.nodes.size());
    out.nodes.push_back(std::move(node));
  }
  for (const ValueRef v : graph.outputs) out.outputs.push_back({number[static_cast<size_t>(v.node)], v.index});
  return out;
}

Error not_served(const Graph& graph, ValueRef v) {
  return {Errc::unsupported, "output " + std::to_string(v.index) + " of " + graph.nodes[static_cast<size_t>(v.node)].op + " is not served",
          "", ""};
}

}  // namespace

ValueRef GraphBuilder::add(Node node) {
  graph.nodes.push_back(std::move(node));
  return {static_cast<int>(graph.nodes.size()) - 1, 0};
}

ValueRef GraphBuilder::pointwise(const std::string& op, const std::vector<Arg>& args, Json attrs) {
  TensorSpec out;
  bool first = true;
  for (const Arg& arg : args) {
    const auto* v = std::get_if<ValueRef>(&arg);
    if (v == nullptr) continue;
    out.shape = first ? spec(*v).shape : broadcast_shape(out.shape, spec(*v).shape);
    if (first || (is_floating(spec(*v).dtype) && !is_floating(out.dtype))) out.dtype = spec(*v).dtype;
    first = false;
  }
  out.name = op + "_" + std::to_string(graph.nodes.size());
  return add({op, args, std::move(attrs), {out}});
}

ValueRef GraphBuilder::reduce(const std::string& op, ValueRef x, const std::vector<int64_t>& axes, int results) {
  TensorSpec out = spec(x);
  for (const int64_t a : axes) out.shape.at(static_cast<size_t>(a)) = 1;
  std::vector<TensorSpec> outs;
  for (int i = 0; i < results; ++i) {
    outs.push_back(out);
    outs.back().name = op + "_" + std::to_string(graph.nodes.size()) + (results > 1 ? "_" + std::to_string(i) : "");
  }
  return add({op, {x}, Json{{"axes", axes}, {"keepdim", true}}, outs});
}

ValueRef GraphBuilder::view(ValueRef x, const Shape& shape) {
  TensorSpec out = spec(x);
  out.shape = shape;
  return add({"view", {x}, Json{{"size", shape}}, {out}});
}

ValueRef GraphBuilder::cast(ValueRef x, DType dtype) {
  TensorSpec out = spec(x);
  if (out.dtype == dtype) return x;
  out.dtype = dtype;
  return add({"_to_copy", {x}, Json::object(), {out}});
}

std::vector<int64_t> reduction_axes(const Node& node, size_t rank) {
  std::vector<int64_t> axes;
  const auto it = node.attrs.find("dim");
  if (it != node.attrs.end() && it->is_number_integer()) axes.push_back(it->get<int64_t>());
  if (it != node.attrs.end() && it->is_array()) axes = it->get<std::vector<int64_t>>();
  if (axes.empty())
    for (size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  for (int64_t& a : axes)
    if (a < 0) a += static_cast<int64_t>(rank);
  std::ranges::sort(axes);
  if (rank == 0) axes.clear();
  return axes;
}

bool is_reduction(const std::string& op) {
  static const std::vector<std::string> names{"sum", "mean", "amax", "amin", "prod", "moments", "softmax_stats"};
  return std::ranges::find(names, op) != names.end();
}

Result<Graph> rewrite(const Graph& graph) {
  GraphBuilder b;
  std::vector<std::vector<ValueRef>> moved(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    Node node = graph.nodes[i];
    for (Arg& arg : node.args) {
      auto* v = std::get_if<ValueRef>(&arg);
      if (v == nullptr) continue;
      const ValueRef from = *v;
      const auto& to = moved.at(static_cast<size_t>(from.node));
      if (static_cast<size_t>(from.index) >= to.size() || to[static_cast<size_t>(from.index)].node < 0) return not_served(graph, from);
      *v = to[static_cast<size_t>(from.index)];
    }
    for (const NodeRewrite& one : {NodeRewrite(rewrite_diagonal), NodeRewrite(rewrite_scan), NodeRewrite(rewrite_composite)}) {
      CUTEGEN_TRY(auto replaced, one(b, node));
      if (!replaced) continue;
      moved[i] = std::move(*replaced);
      break;
    }
    if (!moved[i].empty()) continue;
    const size_t outputs = node.outputs.size();
    const ValueRef at = b.add(std::move(node));
    for (size_t k = 0; k < std::max<size_t>(outputs, 1); ++k) moved[i].push_back({at.node, static_cast<int>(k)});
  }
  for (const ValueRef v : graph.outputs) {
    const auto& all = moved.at(static_cast<size_t>(v.node));
    if (static_cast<size_t>(v.index) >= all.size() || all[static_cast<size_t>(v.index)].node < 0) return not_served(graph, v);
    b.graph.outputs.push_back(all[static_cast<size_t>(v.index)]);
  }
  return without_dead_nodes(b.graph);
}

}  // namespace cutegen::playbook
