// Graph rewrites before a schema looks at a task: composite operators become reductions and pointwise operators, and algebra that
// saves work is applied. Each rewrite is one entry of a table; none changes what is computed beyond rounding.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "task/graph.h"

namespace cutegen::playbook {

// Builds the rewritten graph. Shapes are given by the caller or follow from the arguments.
class GraphBuilder {
 public:
  ValueRef add(Node node);
  // A pointwise node over broadcast operands; floating unless `dtype` says otherwise.
  ValueRef pointwise(const std::string& op, const std::vector<Arg>& args, Json attrs = Json::object());
  // A primitive reduction ("sum", "mean", "amax", "amin", "prod", "moments", "softmax_stats") that keeps its axes as size 1;
  // `results` outputs of that shape.
  ValueRef reduce(const std::string& op, ValueRef x, const std::vector<int64_t>& axes, int results = 1);
  ValueRef view(ValueRef x, const Shape& shape);
  ValueRef cast(ValueRef x, DType dtype);
  const TensorSpec& spec(ValueRef v) const { return graph.spec(v); }

  Graph graph;
};

// Rewrites one node whose arguments already live in the new graph. One ValueRef for each output of the node (an output that no one
// can ask for may be {-1, 0}). nullopt: this rewrite does not apply.
using NodeRewrite = std::function<Result<std::optional<std::vector<ValueRef>>>(GraphBuilder& b, const Node& node)>;

// The axes of a reduction, sorted and non-negative: attrs "dim" as a number, a list, null or [] (all).
std::vector<int64_t> reduction_axes(const Node& node, size_t rank);

// Names the primitive reductions.
bool is_reduction(const std::string& op);

// Names the primitive scans: attrs axis, reverse, exclusive.
bool is_scan(const std::string& op);

// The graph with every composite operator replaced, and nodes that no output needs removed.
Result<Graph> rewrite(const Graph& graph);

// The rewrites, by file.
Result<std::optional<std::vector<ValueRef>>> rewrite_composite(GraphBuilder& b, const Node& node);  // rewrite_composite.cc
Result<std::optional<std::vector<ValueRef>>> rewrite_scan(GraphBuilder& b, const Node& node);       // rewrite_scan.cc
Result<std::optional<std::vector<ValueRef>>> rewrite_diagonal(GraphBuilder& b, const Node& node);   // rewrite_diagonal.cc

}  // namespace cutegen::playbook
