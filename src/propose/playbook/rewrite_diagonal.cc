// diag(a) @ B scales the rows of B, and B @ diag(a) its columns: N*M products in place of an N*N*M contraction. Exact for finite
// operands (the other terms of each sum are products with zero).
#include "propose/playbook/rewrite.h"

namespace cutegen::playbook {
namespace {

// The vector from which a value was made by torch.diag, if it was.
std::optional<ValueRef> diagonal_of(const GraphBuilder& b, const Arg& arg) {
  const auto* v = std::get_if<ValueRef>(&arg);
  if (v == nullptr) return std::nullopt;
  const Node& node = b.graph.nodes.at(static_cast<size_t>(v->node));
  if ((node.op != "diag" && node.op != "diag_embed") || node.args.empty()) return std::nullopt;
  const auto* vector = std::get_if<ValueRef>(&node.args[0]);
  if (vector == nullptr || b.spec(*vector).shape.size() != 1) return std::nullopt;
  if (json_or<int64_t>(node.attrs, node.op == "diag" ? "diagonal" : "offset", 0) != 0) return std::nullopt;
  return *vector;
}

}  // namespace

Result<std::optional<std::vector<ValueRef>>> rewrite_diagonal(GraphBuilder& b, const Node& node) {
  using Moved = std::optional<std::vector<ValueRef>>;
  if ((node.op != "mm" && node.op != "matmul") || node.args.size() < 2 || node.outputs.size() != 1) return Moved{};
  if (node.outputs[0].shape.size() != 2) return Moved{};
  if (const auto left = diagonal_of(b, node.args[0])) {
    const int64_t rows = b.spec(*left).elements();
    return Moved{{b.pointwise("mul", {b.view(*left, {rows, 1}), node.args[1]})}};
  }
  if (const auto right = diagonal_of(b, node.args[1])) return Moved{{b.pointwise("mul", {node.args[0], *right})}};
  return Moved{};
}

}  // namespace cutegen::playbook
