// Scans as one primitive, "scan_sum" or "scan_product", with attrs axis, reverse and exclusive. Reversed and exclusive scans are spelt with
// flip, slice and cat around a cumsum; both identities are exact.
#include "propose/playbook/rewrite.h"

namespace cutegen::playbook {
namespace {

using Rewritten = Result<std::optional<std::vector<ValueRef>>>;

std::optional<int64_t> wrapped(const Json& dim, size_t rank) {
  if (!dim.is_number_integer() || rank == 0) return std::nullopt;
  const auto axis = dim.get<int64_t>();
  return axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
}

const Node* node_of(const GraphBuilder& b, const Node& reader, size_t arg) {
  const auto* v = arg < reader.args.size() ? std::get_if<ValueRef>(&reader.args[arg]) : nullptr;
  return v == nullptr ? nullptr : &b.graph.nodes[static_cast<size_t>(v->node)];
}

bool is_scan_node(const Node* node) { return node != nullptr && is_scan(node->op); }

// flip along exactly `axis`.
bool flips(const Node* node, int64_t axis) {
  if (node == nullptr || node->op != "flip") return false;
  const Json& dims = node->attrs.value("dims", Json::array());
  return dims.is_array() && dims.size() == 1 && wrapped(dims[0], node->outputs.front().shape.size()) == axis;
}

ValueRef scan(GraphBuilder& b, const std::string& op, ValueRef x, int64_t axis, bool reverse, bool exclusive, const TensorSpec& out) {
  return b.add({op, {x}, Json{{"axis", axis}, {"reverse", reverse}, {"exclusive", exclusive}}, {out}});
}

Rewritten cumulative(GraphBuilder& b, const Node& node, const char* op) {
  const auto axis = wrapped(node.attrs.value("dim", Json()), node.outputs.front().shape.size());
  if (!axis) return std::optional<std::vector<ValueRef>>();
  return std::optional(std::vector{scan(b, op, std::get<ValueRef>(node.args.at(0)), *axis, false, false, node.outputs.front())});
}

// flip(scan(flip(x))) is the scan from the other end.
Rewritten reversed(GraphBuilder& b, const Node& node) {
  const Node* inner = node_of(b, node, 0);
  if (!is_scan_node(inner)) return std::optional<std::vector<ValueRef>>();
  const auto axis = inner->attrs["axis"].get<int64_t>();
  const Node* first = node_of(b, *inner, 0);
  if (!flips(&node, axis) || !flips(first, axis)) return std::optional<std::vector<ValueRef>>();
  const std::string op = inner->op;
  const bool reverse = inner->attrs["reverse"].get<bool>(), exclusive = inner->attrs["exclusive"].get<bool>();
  return std::optional(std::vector{scan(b, op, std::get<ValueRef>(first->args.at(0)), axis, !reverse, exclusive, node.outputs.front())});
}

// A constant of extent 1 along `axis`.
bool is_border(const Node* node, int64_t axis, double value) {
  if (node == nullptr || node->outputs.front().shape.at(static_cast<size_t>(axis)) != 1) return false;
  if (node->op == "zeros" || node->op == "zeros_like") return value == 0;
  if (node->op == "ones" || node->op == "ones_like") return value == 1;
  return (node->op == "full" || node->op == "full_like") && json_or(node->attrs, "fill_value", -value - 1) == value;
}

// cat(neutral, scan(x without its last element)) is the exclusive scan of x.
Rewritten exclusive(GraphBuilder& b, const Node& node) {
  const auto axis = wrapped(node.attrs.value("dim", Json()), node.outputs.front().shape.size());
  const Node* inner = node_of(b, node, 1);
  if (!axis || node.args.size() != 2 || !is_scan_node(inner) || inner->attrs["axis"] != *axis)
    return std::optional<std::vector<ValueRef>>();
  if (inner->attrs["reverse"].get<bool>() || inner->attrs["exclusive"].get<bool>()) return std::optional<std::vector<ValueRef>>();
  const Node* cut = node_of(b, *inner, 0);
  const auto at = static_cast<size_t>(*axis);
  if (cut == nullptr || cut->op != "slice" || !is_border(node_of(b, node, 0), *axis, inner->op == "scan_sum" ? 0 : 1))
    return std::optional<std::vector<ValueRef>>();
  const ValueRef whole = std::get<ValueRef>(cut->args.at(0));
  const bool last_missing = wrapped(cut->attrs.value("dim", Json()), b.spec(whole).shape.size()) == *axis &&
                            json_or<int64_t>(cut->attrs, "start", -1) == 0 && json_or<int64_t>(cut->attrs, "step", 1) == 1 &&
                            cut->outputs.front().shape[at] + 1 == b.spec(whole).shape[at];
  if (!last_missing || node.outputs.front().dtype != inner->outputs.front().dtype) return std::optional<std::vector<ValueRef>>();
  const std::string op = inner->op;
  return std::optional(std::vector{scan(b, op, whole, *axis, false, true, node.outputs.front())});
}

}  // namespace

bool is_scan(const std::string& op) { return op == "scan_sum" || op == "scan_product"; }

Result<std::optional<std::vector<ValueRef>>> rewrite_scan(GraphBuilder& b, const Node& node) {
  if (node.op == "cumsum") return cumulative(b, node, "scan_sum");
  if (node.op == "cumprod") return cumulative(b, node, "scan_product");
  if (node.op == "flip") return reversed(b, node);
  if (node.op == "cat") return exclusive(b, node);
  return std::optional<std::vector<ValueRef>>();
}

}  // namespace cutegen::playbook
