#include "task/graph.h"

#include <algorithm>
#include <limits>

namespace cutegen {
namespace {

Json arg_to_json(const Arg& arg) {
  if (const auto* v = std::get_if<ValueRef>(&arg)) return Json{{"node", v->node}, {"index", v->index}};
  if (const auto* s = std::get_if<double>(&arg)) return Json{{"scalar", *s}};
  return nullptr;
}

Result<ValueRef> ref_from_json(const Json& j, const std::vector<Node>& nodes) {
  CUTEGEN_TRY(const int node, json_get<int>(j, "node"));
  const int index = json_or<int>(j, "index", 0);
  if (node < 0 || node >= static_cast<int>(nodes.size()))
    return Error{Errc::protocol, "graph refers to node " + std::to_string(node) + " before it is defined", "", ""};
  const auto outputs = static_cast<int>(nodes[static_cast<size_t>(node)].outputs.size());
  if (index < 0 || index >= outputs)
    return Error{
        Errc::protocol,
        "graph refers to output " + std::to_string(index) + " of node " + std::to_string(node) + ", which has " + std::to_string(outputs),
        "", ""};
  return ValueRef{node, index};
}

// JSON has no infinity: the oracle writes "inf", "-inf" and "nan".
Result<double> scalar_from_json(const Json& j) {
  if (j.is_number()) return j.get<double>();
  if (j.is_boolean()) return j.get<bool>() ? 1.0 : 0.0;
  if (j.is_string()) {
    const auto text = j.get<std::string>();
    if (text == "inf") return std::numeric_limits<double>::infinity();
    if (text == "-inf") return -std::numeric_limits<double>::infinity();
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  }
  return Error{Errc::protocol, "graph has a scalar that is no number: " + j.dump(), "", ""};
}

Result<Arg> arg_from_json(const Json& j, const std::vector<Node>& nodes) {
  if (j.is_null()) return Arg{std::monostate{}};
  if (j.is_object() && j.contains("scalar")) {
    CUTEGEN_TRY(const double value, scalar_from_json(j["scalar"]));
    return Arg{value};
  }
  CUTEGEN_TRY(const ValueRef ref, ref_from_json(j, nodes));
  return Arg{ref};
}

Result<Node> node_from_json(const Json& j, const std::vector<Node>& earlier) {
  Node node;
  CUTEGEN_TRY(node.op, json_get<std::string>(j, "op"));
  if (const auto args = j.find("args"); args != j.end()) {
    for (const Json& a : *args) {
      CUTEGEN_TRY(Arg arg, arg_from_json(a, earlier));
      node.args.push_back(arg);
    }
  }
  if (const auto attrs = j.find("attrs"); attrs != j.end()) node.attrs = *attrs;
  const auto outputs = j.find("outputs");
  if (outputs == j.end() || !outputs->is_array()) return Error{Errc::protocol, "graph node '" + node.op + "' has no outputs", "", ""};
  for (const Json& o : *outputs) {
    CUTEGEN_TRY(TensorSpec spec, tensor_spec_from_json(o));
    node.outputs.push_back(std::move(spec));
  }
  return node;
}

}  // namespace

std::vector<std::vector<int>> Graph::readers() const {
  std::vector<std::vector<int>> result(nodes.size());
  for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
    for (const Arg& arg : nodes[static_cast<size_t>(i)].args) {
      const auto* ref = std::get_if<ValueRef>(&arg);
      if (ref == nullptr) continue;
      auto& list = result[static_cast<size_t>(ref->node)];
      if (std::find(list.begin(), list.end(), i) == list.end()) list.push_back(i);
    }
  }
  return result;
}

Json to_json(const Graph& graph) {
  Json nodes = Json::array();
  for (const Node& node : graph.nodes) {
    Json args = Json::array();
    for (const Arg& arg : node.args) args.push_back(arg_to_json(arg));
    nodes.push_back(Json{{"op", node.op}, {"args", args}, {"attrs", node.attrs}, {"outputs", node.outputs}});
  }
  Json outputs = Json::array();
  for (const ValueRef& v : graph.outputs) outputs.push_back(arg_to_json(Arg{v}));
  return Json{{"nodes", nodes}, {"outputs", outputs}};
}

Result<Graph> graph_from_json(const Json& j) {
  Graph graph;
  const auto nodes = j.find("nodes");
  if (nodes == j.end() || !nodes->is_array()) return Error{Errc::protocol, "a graph needs an array 'nodes'", "", ""};
  for (const Json& n : *nodes) {
    CUTEGEN_TRY(Node node, node_from_json(n, graph.nodes));
    graph.nodes.push_back(std::move(node));
  }
  const auto outputs = j.find("outputs");
  if (outputs == j.end() || !outputs->is_array()) return Error{Errc::protocol, "a graph needs an array 'outputs'", "", ""};
  for (const Json& o : *outputs) {
    CUTEGEN_TRY(const ValueRef ref, ref_from_json(o, graph.nodes));
    graph.outputs.push_back(ref);
  }
  return graph;
}

}  // namespace cutegen
