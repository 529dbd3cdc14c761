#include "propose/playbook/gemm_match.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "propose/playbook/layout.h"
#include "propose/playbook/pointwise.h"

namespace cutegen::playbook {
namespace {

Error unsupported(std::string message) { return Error{Errc::unsupported, std::move(message), "", ""}; }

bool is_product(const std::string& op) { return op == "mm" || op == "addmm" || op == "linear"; }
bool is_leaf(const Node& node) { return node.op == "input" || node.op == "param"; }

const TensorSpec& spec_of(const Task& task, const Node& leaf) {
  const auto index = leaf.attrs.at("index").get<size_t>();
  return leaf.op == "input" ? task.inputs.at(index) : task.params.at(index);
}

std::string buffer_of(const Node& leaf) { return fmt::format("cutegen::{}({})", leaf.op, leaf.attrs.at("index").get<int>()); }

std::string text_of(const Task& task, const Node& leaf) {
  const TensorSpec& spec = spec_of(task, leaf);
  return fmt::format("{} {}[{}]", leaf.op, spec.name, fmt::join(spec.shape, ", "));
}

// A value followed back through views: the node that owns the memory, and row-major index of the value -> index of that memory.
struct Viewed {
  const Node* node;
  Layout layout;
};

Result<Viewed> look_through(const Graph& graph, ValueRef ref, Layout layout) {
  const Node* node = &graph.nodes.at(static_cast<size_t>(ref.node));
  while (is_view(node->op)) {
    const auto* from = node->args.empty() ? nullptr : std::get_if<ValueRef>(&node->args.front());
    if (from == nullptr) return unsupported(fmt::format("{} without a tensor", node->op));
    const auto view = view_layout(*node, graph.spec(*from).shape);
    const auto composed = view ? compose(*view, layout) : std::nullopt;
    if (!composed) return unsupported(fmt::format("the view {} is not a layout of its argument", node->op));
    layout = coalesce(*composed);
    node = &graph.nodes.at(static_cast<size_t>(from->node));
  }
  return Viewed{node, layout};
}

// Writes the epilogue: a memo of statements, each for one node under one indexing of its elements.
class EpilogueWriter {
 public:
  EpilogueWriter(const Task& task, int product, GemmProblem& problem)
      : task_(task), graph_(*task.graph), product_(product), problem_(problem) {}

  Result<Operand> value(ValueRef ref, const Layout& indexing) {
    CUTEGEN_TRY(const Viewed viewed, look_through(graph_, ref, coalesce(indexing)));
    const Node& node = *viewed.node;
    const DType dtype = node.outputs.at(static_cast<size_t>(node_number(node) == ref.node ? ref.index : 0)).dtype;
    const auto key = std::pair(node_number(node), index_code(viewed.layout));
    if (const auto known = names_.find(key); known != names_.end()) return Operand{known->second, dtype};
    Result<Operand> made = key.first == product_ ? product(viewed) : is_leaf(node) ? load(viewed) : apply(viewed);
    if (made.ok()) names_[key] = made->code;
    return made;
  }

  // The product's own value for addmm and linear: c plus a bias that broadcasts.
  Result<Operand> biased(const Arg& bias, const Node& node) {
    const auto* ref = std::get_if<ValueRef>(&bias);
    const double alpha = json_or<double>(node.attrs, "alpha", 1.0), beta = json_or<double>(node.attrs, "beta", 1.0);
    std::string code = alpha == 1 ? "c" : fmt::format("{} * c", literal(alpha, DType::f32));
    if (ref != nullptr && beta != 0) {
      const Shape& shape = node.outputs.front().shape;
      const auto layout = broadcast(graph_.spec(*ref).shape, shape);
      if (!layout) return unsupported(fmt::format("the bias of {} does not broadcast to its result", node.op));
      CUTEGEN_TRY(const Operand other, value(*ref, *layout));
      if (other.dtype != DType::f32) return unsupported(fmt::format("a bias of {} in {}", to_string(other.dtype), node.op));
      code += beta == 1 ? " + " + other.code : fmt::format(" + {} * {}", literal(beta, DType::f32), other.code);
    }
    if (code == "c") return Operand{"c", DType::f32};
    return statement(node.op, DType::f32, code);
  }

 private:
  int node_number(const Node& node) const { return static_cast<int>(&node - graph_.nodes.data()); }

  Result<Operand> product(const Viewed& viewed) {
    const Node& node = *viewed.node;
    const Layout whole = coalesce(dense(node.outputs.front().shape));
    if (!(viewed.layout == whole))
      return unsupported(fmt::format("the result of {} is rearranged before the pointwise operators", node.op));
    if (node.op == "addmm") return biased(node.args.at(0), node);
    if (node.op == "linear" && node.args.size() > 2) return biased(node.args.at(2), node);
    return Operand{"c", DType::f32};
  }

  Result<Operand> load(const Viewed& viewed) {
    const Node& leaf = *viewed.node;
    const TensorSpec& spec = spec_of(task_, leaf);
    const std::string buffer = buffer_of(leaf);
    auto at = std::ranges::find(problem_.operands, buffer, &EpilogueOperand::buffer);
    if (at == problem_.operands.end()) {
      const auto number = problem_.operands.size();
      problem_.operands.push_back({fmt::format("p{}", number), cuda_type(spec.dtype), buffer, text_of(task_, leaf)});
      at = problem_.operands.end() - 1;
    }
    const std::string element = fmt::format("{}[{}]", at->name, index_code(viewed.layout));
    return statement(spec.name.empty() ? leaf.op : spec.name, spec.dtype,
                     fmt::format("static_cast<{}>({})", value_type(spec.dtype), element));
  }

  Result<Operand> apply(const Viewed& viewed) {
    const Node& node = *viewed.node;
    if (is_product(node.op)) return unsupported(fmt::format("a second {} in the graph", node.op));
    if (!is_pointwise(node.op)) return unsupported(fmt::format("{} is not a pointwise operator", node.op));
    if (node.outputs.size() != 1) return unsupported(fmt::format("{} has several results", node.op));
    std::vector<Operand> operands;
    for (const Arg& arg : node.args) {
      CUTEGEN_TRY(Operand operand, argument(arg, node, viewed.layout));
      operands.push_back(std::move(operand));
    }
    CUTEGEN_TRY(const std::string expression, pointwise_expression(node, operands));
    problem_.ops.push_back(node.op);
    return statement(node.op, node.outputs.front().dtype, expression);
  }

  Result<Operand> argument(const Arg& arg, const Node& node, const Layout& indexing) {
    if (const auto* number = std::get_if<double>(&arg))
      return Operand{literal(*number, node.outputs.front().dtype), node.outputs.front().dtype, true, *number};
    const auto* ref = std::get_if<ValueRef>(&arg);
    if (ref == nullptr) return Operand{};
    const auto layout = broadcast(graph_.spec(*ref).shape, node.outputs.front().shape);
    const auto composed = layout ? compose(*layout, indexing) : std::nullopt;
    if (!composed) return unsupported(fmt::format("an operand of {} is not a layout over the product", node.op));
    return value(*ref, *composed);
  }

  Operand statement(const std::string& comment, DType dtype, const std::string& expression) {
    const std::string name = fmt::format("v{}", problem_.values.size());
    problem_.values.push_back({name, value_type(dtype), expression, comment});
    return Operand{name, dtype};
  }

  // C++ for the index of an element, from m and n. `layout` is over the row-major [M, N].
  std::string index_code(const Layout& layout) const {
    const Layout l = coalesce(layout);
    const std::string offset = l.offset == 0 ? "" : fmt::format(" + {}", l.offset);
    if (l == coalesce(Layout{{{problem_.m, problem_.n}, {problem_.n, 1}}, l.offset})) return "m * N + n" + offset;
    if (l == coalesce(Layout{{{problem_.m, 0}, {problem_.n, 1}}, l.offset})) return "n" + offset;
    if (l == coalesce(Layout{{{problem_.m, 1}, {problem_.n, 0}}, l.offset})) return "m" + offset;
    if (std::ranges::all_of(l.modes, [](const Mode& mode) { return mode.stride == 0; })) return fmt::format("{}", l.offset);
    return fmt::format("cute::Layout<{}, {}>{{}}(m * N + n){}", in_cute(cute_shape(l.modes)), in_cute(cute_stride(l.modes)), offset);
  }

  // CuTe's names qualified: the templates do not open its namespace.
  static std::string in_cute(const std::string& type) {
    std::string out;
    for (size_t i = 0; i < type.size(); ++i) {
      const bool starts = (i == 0 || type[i - 1] == '<' || type[i - 1] == ' ') && std::isalpha(static_cast<unsigned char>(type[i])) != 0;
      out += starts ? std::string("cute::") + type[i] : std::string(1, type[i]);
    }
    return out;
  }

  const Task& task_;
  const Graph& graph_;
  int product_;
  GemmProblem& problem_;
  std::map<std::pair<int, std::string>, std::string> names_;
};

// An operand of the product, whose rows are the product's rows (A) or columns (B).
Result<GemmOperand> operand(const Task& task, ValueRef ref, bool rows_first, const std::string& op) {
  const Graph& graph = *task.graph;
  const Shape& shape = graph.spec(ref).shape;
  CUTEGEN_TRY(const Viewed viewed, look_through(graph, ref, coalesce(dense(shape))));
  if (!is_leaf(*viewed.node)) return unsupported(fmt::format("an operand of {} is computed by {}, not given", op, viewed.node->op));
  if (graph.spec(ref).dtype != DType::f32)
    return unsupported(fmt::format("{} of {} tensors; the gemm family serves float32", op, to_string(graph.spec(ref).dtype)));
  const int64_t inner = shape.back(), outer = element_count(shape) / std::max<int64_t>(inner, 1);
  const bool straight = viewed.layout == coalesce(dense(shape));
  const bool turned = viewed.layout == coalesce(Layout{{{outer, 1}, {inner, outer}}, 0});
  if (!straight && !turned) return unsupported(fmt::format("an operand of {} is neither a dense matrix nor the transpose of one", op));
  return GemmOperand{buffer_of(*viewed.node), straight == rows_first, text_of(task, *viewed.node)};
}

Result<void> check_graph(const Task& task) {
  if (!task.graph) return unsupported("the module could not be traced: " + task.opaque_reason);
  if (task.graph->outputs.size() != 1)
    return unsupported(fmt::format("{} outputs; the gemm family writes one", task.graph->outputs.size()));
  return {};
}

Result<int> find_product(const Graph& graph) {
  int found = -1;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!is_product(graph.nodes[i].op)) continue;
    if (found >= 0)
      return unsupported(fmt::format("two matrix products ({} and {})", graph.nodes[static_cast<size_t>(found)].op, graph.nodes[i].op));
    found = static_cast<int>(i);
  }
  if (found < 0) return unsupported("no matrix product (mm, addmm or linear) in the graph");
  return found;
}

}  // namespace

Result<GemmProblem> match_gemm(const Task& task) {
  CUTEGEN_CHECK(check_graph(task));
  const Graph& graph = *task.graph;
  CUTEGEN_TRY(const int at, find_product(graph));
  const Node& node = graph.nodes[static_cast<size_t>(at)];
  const size_t first = node.op == "addmm" ? 1 : 0;
  if (node.args.size() < first + 2) return unsupported(node.op + " without two tensors");
  const auto* a = std::get_if<ValueRef>(&node.args[first]);
  const auto* b = std::get_if<ValueRef>(&node.args[first + 1]);
  if (a == nullptr || b == nullptr) return unsupported(node.op + " without two tensors");

  GemmProblem problem;
  const Shape& a_shape = graph.spec(*a).shape;
  const Shape& b_shape = graph.spec(*b).shape;
  if (a_shape.empty() || b_shape.size() != 2) return unsupported(node.op + " of tensors that are not matrices");
  problem.k = a_shape.back();
  problem.m = problem.k == 0 ? 0 : element_count(a_shape) / problem.k;
  problem.n = node.op == "linear" ? b_shape[0] : b_shape[1];
  if (problem.m == 0 || problem.n == 0 || problem.k == 0) return unsupported(node.op + " of an empty tensor");
  CUTEGEN_TRY(problem.a, operand(task, *a, true, node.op));
  CUTEGEN_TRY(problem.b, operand(task, *b, node.op == "linear", node.op));

  const ValueRef out = graph.outputs.front();
  const TensorSpec& spec = graph.spec(out);
  if (spec.elements() != problem.m * problem.n)
    return unsupported(fmt::format("the output has {} elements, the product {}", spec.elements(), problem.m * problem.n));
  EpilogueWriter writer(task, at, problem);
  CUTEGEN_TRY(const Operand result, writer.value(out, dense(spec.shape)));
  problem.result = result.code;
  problem.output_type = cuda_type(spec.dtype);
  if (result.code == "c" || !problem.values.empty()) return problem;
  return Error{Errc::internal, "an epilogue without a value", "", ""};
}

}  // namespace cutegen::playbook
