#include "propose/playbook/fusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "propose/playbook/rewrite.h"

namespace cutegen::playbook {
namespace {

std::string memo_key(ValueRef v, const Layout& layout, bool per_row) {
  std::string key = fmt::format("{}.{}{}@{}", v.node, v.index, per_row ? "r" : "", layout.offset);
  for (const Mode& m : layout.modes) key += fmt::format(",{}:{}:{}", m.group, m.size, m.stride);
  return key;
}

bool varies_along_reduced(const Layout& layout) {
  return std::ranges::any_of(layout.modes, [](const Mode& m) { return m.group == kReduced && m.size > 1 && m.stride != 0; });
}

Layout without_reduced(const Layout& layout) {
  Layout out = layout;
  std::erase_if(out.modes, [](const Mode& m) { return m.group == kReduced; });
  return out;
}

Error unsupported(std::string message) { return {Errc::unsupported, std::move(message), "", ""}; }

// What a name may not be: C++ words, names that the templates use.
bool reserved(const std::string& name) {
  static const std::set<std::string> words{
      "e",     "row",    "o",       "i",       "r",      "k",      "u",      "j",      "task",   "map",    "float",    "double",
      "int",   "bool",   "char",    "auto",    "const",  "void",   "long",   "short",  "signed", "if",     "else",     "for",
      "while", "return", "switch",  "default", "new",    "delete", "this",   "true",   "false",  "and",    "or",       "not",
      "xor",   "Row",    "Element", "Result",  "Layout", "Tensor", "Shape",  "Stride", "exp",    "log",    "pow",      "sqrt",
      "tanh",  "sin",    "cos",     "floor",   "ceil",   "begin",  "finish", "batch",  "class",  "struct", "template", "operator",
      "y",     "acc",    "abs",     "max",     "min",    "size",   "copy",   "live"};
  return words.contains(name);
}

std::string identifier(const std::string& wanted) {
  std::string out;
  for (const char c : wanted) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  while (!out.empty() && out.front() == '_') out.erase(0, 1);
  for (size_t at; (at = out.find("__")) != std::string::npos;) out.erase(at, 1);
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0]))) out = "v" + out;
  return out;
}

}  // namespace

Domain linear_domain(const Shape& shape) {
  Domain d;
  d.shape = shape;
  d.whole = dense({element_count(shape)});
  d.outer = element_count(shape);
  return d;
}

Domain row_domain(const Shape& shape, const std::vector<int64_t>& axes) {
  Domain d;
  d.shape = shape;
  d.rows = true;
  const Shape strides = contiguous_strides(shape);
  auto reduced = [&](size_t i) { return std::ranges::find(axes, static_cast<int64_t>(i)) != axes.end(); };
  size_t last = 0;  // one past the last reduced axis
  for (size_t i = 0; i < shape.size(); ++i)
    if (reduced(i)) last = i + 1;
  Layout outer, middle, inner;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (reduced(i))
      middle.modes.push_back({shape[i], strides[i], kReduced}), d.reduced *= shape[i];
    else if (i >= last)
      inner.modes.push_back({shape[i], strides[i], kInner}), d.inner *= shape[i];
    else
      outer.modes.push_back({shape[i], strides[i], kOuter}), d.outer *= shape[i];
  }
  d.whole.modes = coalesce(outer).modes;
  for (const Layout* part : {&middle, &inner})
    for (const Mode& m : coalesce(*part).modes) d.whole.modes.push_back(m);
  d.row_identity = coalesce(Layout{{{d.outer, d.inner, kOuter}, {d.inner, 1, kInner}}, 0});
  return d;
}

int Fusion::levels() const {
  int n = 0;
  for (const Reduction& r : reductions_) n = std::max(n, r.level);
  return n;
}

std::string Fusion::unique(const std::string& wanted) {
  std::string name = identifier(wanted);
  if (reserved(name)) name += "_v";
  const int times = names_[name]++;
  return times == 0 ? name : unique(fmt::format("{}_{}", name, times + 1));
}

Result<int> Fusion::at(ValueRef v, const Layout& layout_in) {
  Layout layout = coalesce(layout_in);
  const Node& node = graph_.nodes.at(static_cast<size_t>(v.node));
  const Shape& shape = graph_.spec(v).shape;
  // With rows of one element nothing varies along them: only what a reduction gives is then a value of the row.
  const bool in_rows = domain_.rows && !varies_along_reduced(layout) && (domain_.reduced != 1 || is_reduction(node.op));
  if (in_rows) layout = coalesce(without_reduced(layout));
  const std::string key = memo_key(v, layout, in_rows);
  if (const auto known = memo_.find(key); known != memo_.end()) return known->second;

  if (is_view(node.op)) {
    const auto* source = std::get_if<ValueRef>(&node.args.at(0));
    if (source == nullptr) return unsupported(node.op + " of a number");
    const auto view = view_layout(node, graph_.spec(*source).shape);
    if (!view) return unsupported(fmt::format("{} with arguments that the layout algebra does not cover", node.op));
    const auto through = compose(*view, layout);
    if (!through) return unsupported(fmt::format("{} in a place where its result is not a strided view of its argument", node.op));
    CUTEGEN_TRY(const int id, at(*source, *through));
    memo_[key] = id;
    return id;
  }
  if (is_reduction(node.op) && node.attrs.contains("axes")) {
    if (!domain_.rows) return unsupported(fmt::format("the reduction {} is not pointwise", node.op));
    if (!in_rows) return unsupported(fmt::format("the result of {} is used along an axis that another reduction runs over", node.op));
    CUTEGEN_TRY(const int id, make_reduced(v, layout));
    memo_[key] = id;
    return id;
  }

  Expr expr;
  expr.ref = v;
  expr.dtype = graph_.spec(v).dtype;
  expr.layout = layout;
  expr.per_row = in_rows;
  if (node.op == "input" || node.op == "param") {
    expr.name = unique(graph_.spec(v).name.empty() ? node.op : graph_.spec(v).name);
    return memo_[key] = add(std::move(expr));
  }
  if (!is_pointwise(node.op)) return unsupported(fmt::format("the operator {} is not served", node.op));
  if (v.index != 0) return unsupported(fmt::format("output {} of {} is not served", v.index, node.op));
  expr.kind = Expr::Kind::op;
  for (const Arg& arg : node.args) {
    if (const auto* number = std::get_if<double>(&arg)) {
      expr.args.emplace_back(*number);
    } else if (const auto* operand = std::get_if<ValueRef>(&arg)) {
      const auto spread = broadcast(graph_.spec(*operand).shape, shape);
      if (!spread) return unsupported(fmt::format("{} of shapes that do not broadcast", node.op));
      const auto placed = compose(*spread, layout);
      if (!placed) return unsupported(fmt::format("{} under a view that splits its dimensions unevenly", node.op));
      CUTEGEN_TRY(const int id, at(*operand, *placed));
      expr.level = std::max(expr.level, exprs_[static_cast<size_t>(id)].level);
      expr.args.emplace_back(id);
    } else {
      expr.args.emplace_back(std::monostate{});
    }
  }
  expr.name = unique(graph_.spec(v).name.empty() ? node.op : graph_.spec(v).name);
  return memo_[key] = add(std::move(expr));
}

Result<int> Fusion::make_reduced(ValueRef v, const Layout& layout) {
  const Node& node = graph_.nodes.at(static_cast<size_t>(v.node));
  const auto input = std::get<ValueRef>(node.args.at(0));
  if (coalesce(layout) != domain_.row_identity)
    return unsupported(fmt::format("the result of {} is used in another order than that of the rows it came from", node.op));
  auto same = std::ranges::find_if(reductions_, [&](const Reduction& r) { return r.node == v.node; });
  int index = static_cast<int>(same - reductions_.begin());
  if (same == reductions_.end()) {
    Reduction reduction;
    reduction.node = v.node;
    CUTEGEN_TRY(reduction.input, at(input, domain_.whole));
    reduction.level = exprs_[static_cast<size_t>(reduction.input)].level + 1;
    reduction.name = unique(node.op + "_acc");
    index = static_cast<int>(reductions_.size());
    reductions_.push_back(reduction);
  }
  Expr expr;
  expr.kind = Expr::Kind::reduced;
  expr.ref = v;
  expr.dtype = graph_.spec(v).dtype;
  expr.layout = layout;
  expr.per_row = true;
  expr.reduction = index;
  expr.level = reductions_[static_cast<size_t>(index)].level;
  expr.name = unique(graph_.spec(v).name.empty() ? node.op : graph_.spec(v).name);
  return add(std::move(expr));
}

std::string Fusion::code(int id) const {
  const Expr& expr = exprs_[static_cast<size_t>(id)];
  if (expr.per_row) return "row." + expr.name;
  return expr.kind == Expr::Kind::leaf ? "e." + expr.name : expr.name;
}

Result<std::string> Fusion::statement(int id) const {
  const Expr& expr = exprs_[static_cast<size_t>(id)];
  const Node& node = graph_.nodes[static_cast<size_t>(expr.ref.node)];
  std::vector<Operand> operands;
  for (const auto& arg : expr.args) {
    Operand o;
    if (const int* other = std::get_if<int>(&arg)) {
      o.code = code(*other);
      o.dtype = exprs_[static_cast<size_t>(*other)].dtype;
    } else if (const double* number = std::get_if<double>(&arg)) {
      o = {literal(*number, expr.dtype), expr.dtype, true, *number};
    }
    operands.push_back(std::move(o));
  }
  CUTEGEN_TRY(const std::string value, pointwise_expression(node, operands));
  if (expr.per_row) return fmt::format("row.{} = {};", expr.name, value);
  return fmt::format("{} const {} = {};", value_type(expr.dtype), expr.name, value);
}

Fusion::Closure Fusion::closure(const std::vector<int>& targets) const {
  std::set<int> seen;
  std::vector<int> stack = targets;
  while (!stack.empty()) {
    const int id = stack.back();
    stack.pop_back();
    const Expr& expr = exprs_[static_cast<size_t>(id)];
    if (expr.per_row || !seen.insert(id).second) continue;
    for (const auto& arg : expr.args)
      if (const int* other = std::get_if<int>(&arg)) stack.push_back(*other);
  }
  Closure out;
  for (const int id : seen) (exprs_[static_cast<size_t>(id)].kind == Expr::Kind::leaf ? out.leaves : out.ops).push_back(id);
  return out;  // exprs are made after their arguments, so ascending ids are an order of evaluation
}

}  // namespace cutegen::playbook
