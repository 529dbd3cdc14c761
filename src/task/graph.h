// The op graph of a module: ATen operators in execution order, as make_fx or torch.export gives them.
//
// Names are rule-made, so that nothing has to be listed twice: `op` is the ATen operator without its namespace and overload
// ("mul", "addmm", "native_layer_norm"); tensor arguments come first in `args` in schema order; every other schema
// argument is in `attrs` under its schema name, defaults filled in. A Python number where the schema has a tensor or Scalar
// operand that takes part in arithmetic ("other" of mul.Scalar) is an `args` entry of kind scalar.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "task/tensor.h"

namespace cutegen {

// A value: output number `index` of the node numbered `node`; graph inputs are nodes of op "input", parameters and
// buffers nodes of op "param".
struct ValueRef {
  int node = -1;
  int index = 0;
  bool operator==(const ValueRef&) const = default;
};

using Arg = std::variant<ValueRef, double, std::monostate>;  // monostate: an optional tensor that is absent

struct Node {
  std::string op;
  std::vector<Arg> args;
  Json attrs = Json::object();      // "input" and "param": {"index": i} into Task::inputs or Task::params
  std::vector<TensorSpec> outputs;  // most ops have one
  bool operator==(const Node&) const = default;
};

struct Graph {
  std::vector<Node> nodes;        // topologically ordered; a node refers to earlier ones only
  std::vector<ValueRef> outputs;  // in the order of Task::outputs

  const TensorSpec& spec(ValueRef v) const { return nodes.at(static_cast<size_t>(v.node)).outputs.at(static_cast<size_t>(v.index)); }
  // For each node, the nodes that read one of its outputs (each once).
  std::vector<std::vector<int>> readers() const;
};

// {"nodes": [{"op", "args": [{"node": 3, "index": 0} | {"scalar": 0.5} | null], "attrs": {...}, "outputs": [spec]}], "outputs": [{"node",
// "index"}]}
Json to_json(const Graph& graph);
// Rejects forward references, indices out of range and unknown argument kinds.
Result<Graph> graph_from_json(const Json& j);

}  // namespace cutegen
