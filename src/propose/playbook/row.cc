// The row family: reductions over the same axes with pointwise code before, between and after them.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "propose/playbook/emit.h"
#include "propose/playbook/families.h"
#include "propose/playbook/rewrite.h"
#include "propose/playbook/row_plan.h"

namespace cutegen::playbook {
namespace {

// The primitive reductions: the accumulator (reduce.cuh; $T is the value type of what is reduced) and each result of it.
struct ReductionKind {
  const char* op;
  const char* accumulator;
  const char* results[2];  // $a is the accumulator
};
constexpr ReductionKind kReductions[] = {
    {"sum", "Sum<$T>", {"$a.value()", nullptr}},
    {"mean", "Sum<$T>", {"$a.value() / kCount", nullptr}},
    {"amax", "Max<$T>", {"$a.value()", nullptr}},
    {"amin", "Min<$T>", {"$a.value()", nullptr}},
    {"prod", "Product<$T>", {"$a.value()", nullptr}},
    {"moments", "Moments<$T>", {"$a.mean(kCount)", "$a.variance(kCount)"}},
    {"softmax_stats", "OnlineSoftmax<$T>", {"$a.largest()", "$a.sum()"}},
};

const ReductionKind* kind_of(const std::string& op) {
  const auto* it = std::ranges::find_if(kReductions, [&](const ReductionKind& k) { return op == k.op; });
  return it == std::end(kReductions) ? nullptr : it;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
  return text;
}

class RowMatch : public Match {
 public:
  static Result<std::unique_ptr<Match>> make(const MatchContext& context) {
    auto match = std::unique_ptr<RowMatch>(new RowMatch(context));
    CUTEGEN_CHECK(match->analyse());
    return std::unique_ptr<Match>(std::move(match));
  }

  Json default_config() const override {
    for (const std::string& s : row_strategies(facts_)) {
      Json config = row_config(facts_, s);
      if (check_row_config(facts_, config).ok()) return config;
    }
    return row_config(facts_, facts_.inner == 1 ? "stream" : "column_stream");
  }
  std::vector<Axis> axes(const Json& config) const override { return row_axes(facts_, config); }
  std::string describe(const Json& config) const override { return describe_row(facts_, config); }
  Result<Json> with(const Json& config, const std::string& axis, const Json& value) const override {
    Json out = config;
    if (axis == "strategy")
      out = row_config(facts_, value.get<std::string>());
    else
      out[axis] = value;
    if (axis == "threads_per_row") out["rows_per_cta"] = std::max(1, 128 / value.get<int>());
    if (axis == "threads_per_row" && value.get<int>() > 32) out["rows_per_cta"] = 1;
    CUTEGEN_CHECK(check_row_config(facts_, out));
    return out;
  }
  Result<std::string> render(const Json& config) const override;

 private:
  explicit RowMatch(const MatchContext& c) : task_(c.task), kernels_(c.kernels_dir) { facts_.sm_count = c.sm_count; }
  Result<void> analyse();
  Result<void> find_domain();
  void gather_facts();

  // Template parameters.
  Json loads(const std::vector<int>& leaves, int vec) const;
  Json pointers(const std::vector<int>& leaves, bool args) const;
  Result<Json> level_json(int n, int vec) const;
  Result<void> add_problem(Json& params, int vec) const;
  void add_cluster(Json& params, int vec) const;
  void add_geometry(Json& params, const Json& config) const;
  Json row_results(bool column) const;

  const Expr& expr(int id) const { return fusion_->exprs()[static_cast<size_t>(id)]; }
  std::vector<int> level_inputs(int n) const;
  int vec_group() const { return facts_.inner == 1 ? kReduced : kInner; }
  bool column() const { return facts_.inner > 1; }

  Task task_;
  std::filesystem::path kernels_;
  Graph graph_;  // rewritten; fusion_ refers to it
  std::unique_ptr<Fusion> fusion_;
  RowFacts facts_;
  std::vector<std::pair<size_t, int>> full_, per_row_;  // output number and expr: those that vary along the row, those that do not
  std::vector<int> full_leaves_, row_leaves_;
};

// All reductions that outputs need must run over the same axes of the same shape.
Result<void> RowMatch::find_domain() {
  const Node* first = nullptr;
  for (const Node& node : graph_.nodes) {
    if (!is_reduction(node.op) || !node.attrs.contains("axes")) continue;
    const Shape& shape = graph_.spec(std::get<ValueRef>(node.args.at(0))).shape;
    if (first == nullptr) {
      first = &node;
      fusion_ = std::make_unique<Fusion>(graph_, row_domain(shape, node.attrs["axes"].get<std::vector<int64_t>>()));
      continue;
    }
    if (shape != fusion_->domain().shape || node.attrs["axes"] != first->attrs["axes"])
      return Error{Errc::unsupported, fmt::format("{} reduces over other axes than {} does", node.op, first->op), "", ""};
  }
  if (first == nullptr) {
    for (const Node& node : graph_.nodes)
      if (node.op != "input" && node.op != "param" && !is_view(node.op) && !is_pointwise(node.op))
        return Error{Errc::unsupported, fmt::format("the operator {} is not served", node.op), "", ""};
    return Error{Errc::unsupported, "the graph has no reduction", "", ""};
  }
  return {};
}

Result<void> RowMatch::analyse() {
  CUTEGEN_TRY(graph_, rewrite(*task_.graph));
  CUTEGEN_CHECK(find_domain());
  const Domain& d = fusion_->domain();
  for (size_t i = 0; i < graph_.outputs.size(); ++i) {
    const ValueRef v = graph_.outputs[i];
    const int64_t elements = graph_.spec(v).elements();
    if (elements == d.outer * d.reduced * d.inner && elements != 0) {
      CUTEGEN_TRY(const int id, fusion_->at(v, d.whole));
      full_.emplace_back(i, id);
    } else if (elements == d.outer * d.inner) {
      CUTEGEN_TRY(const int id, fusion_->at(v, d.row_identity));
      per_row_.emplace_back(i, id);
    } else {
      return Error{Errc::unsupported, fmt::format("output {} has neither the shape of the reduced tensor nor of its rows", i), "", ""};
    }
  }
  if (fusion_->reductions().empty()) return Error{Errc::unsupported, "no output needs a reduction", "", ""};
  for (const Reduction& r : fusion_->reductions())
    if (expr(r.input).per_row) return Error{Errc::unsupported, "a reduction over copies of one value", "", ""};
  gather_facts();
  return {};
}

void RowMatch::gather_facts() {
  const Domain& d = fusion_->domain();
  facts_.outer = d.outer, facts_.reduced = d.reduced, facts_.inner = d.inner;
  facts_.passes = fusion_->levels();
  facts_.has_map = !full_.empty();
  std::vector<int> targets;
  for (const Reduction& r : fusion_->reductions()) targets.push_back(r.input);
  for (const auto& [i, id] : full_) targets.push_back(id);
  full_leaves_ = fusion_->closure(targets).leaves;
  for (size_t id = 0; id < fusion_->exprs().size(); ++id)
    if (expr(static_cast<int>(id)).kind == Expr::Kind::leaf && expr(static_cast<int>(id)).per_row)
      row_leaves_.push_back(static_cast<int>(id));
  facts_.leaves = static_cast<int>(full_leaves_.size());
  facts_.kept_bytes = 0, facts_.widest = 1;
  for (const int id : full_leaves_) {
    facts_.widest = std::max<int>(facts_.widest, static_cast<int>(size_bytes(expr(id).dtype)));
    if (load_how(*fusion_, expr(id), vec_group(), 1) == "Streaming") facts_.kept_bytes += size_bytes(expr(id).dtype);
  }
  facts_.kept_bytes = std::max<int64_t>(facts_.kept_bytes, 1);
  // The widest access that suits the operand that is read most.
  const int64_t along = column() ? d.inner : d.reduced;
  facts_.best_vec = 16 / facts_.widest;
  auto suits = [&](int vec) {
    if (along % vec != 0 || along == 0) return false;
    return std::ranges::any_of(full_leaves_, [&](int id) { return access_of(expr(id).layout, vec_group(), vec) == Access::vector; });
  };
  while (facts_.best_vec > 1 && !suits(facts_.best_vec)) facts_.best_vec /= 2;
}

std::vector<int> RowMatch::level_inputs(int n) const {
  std::vector<int> out;
  for (const Reduction& r : fusion_->reductions())
    if (r.level == n) out.push_back(r.input);
  return out;
}

Json RowMatch::loads(const std::vector<int>& leaves, int vec) const {
  Json out = Json::array();
  for (const int id : leaves) out.push_back({{"name", expr(id).name}, {"how", load_how(*fusion_, expr(id), vec_group(), vec)}});
  return out;
}

// Kernel parameters (or plan arguments) for the buffers of `leaves`, each once, in their order.
Json RowMatch::pointers(const std::vector<int>& leaves, bool args) const {
  Json out = Json::array();
  std::set<std::string> seen;
  for (const int id : leaves) {
    const Expr& leaf = expr(id);
    const std::string name = buffer_name(*fusion_, leaf.ref);
    if (!seen.insert(name).second) continue;
    const Node& node = graph_.nodes[static_cast<size_t>(leaf.ref.node)];
    if (args)
      out.push_back({{"arg", fmt::format("cutegen::{}({})", node.op, json_or<int>(node.attrs, "index", 0))}});
    else
      out.push_back({{"name", name}, {"declaration", fmt::format("{} const* __restrict__ {}", cuda_type(leaf.dtype), name)}});
  }
  return out;
}

Result<Json> RowMatch::level_json(int n, int vec) const {
  const auto closure = fusion_->closure(level_inputs(n));
  Json accumulators = Json::array();
  std::vector<std::string> finish, what;
  for (size_t k = 0; k < fusion_->reductions().size(); ++k) {
    const Reduction& r = fusion_->reductions()[k];
    if (r.level != n) continue;
    const std::string op = graph_.nodes[static_cast<size_t>(r.node)].op, type = value_type(expr(r.input).dtype);
    accumulators.push_back(
        {{"kind", replaced(kind_of(op)->accumulator, "$T", type)}, {"name", r.name}, {"type", type}, {"term", fusion_->code(r.input)}});
    what.push_back(fmt::format("{} of {}", op, expr(r.input).name));
  }
  for (size_t id = 0; id < fusion_->exprs().size(); ++id) {
    const Expr& x = expr(static_cast<int>(id));
    if (!x.per_row || x.level != n) continue;
    if (x.kind == Expr::Kind::op) {
      CUTEGEN_TRY(std::string line, fusion_->statement(static_cast<int>(id)));
      finish.push_back(std::move(line));
    } else if (x.kind == Expr::Kind::reduced) {
      const Reduction& r = fusion_->reductions()[static_cast<size_t>(x.reduction)];
      const char* result = kind_of(graph_.nodes[static_cast<size_t>(r.node)].op)->results[x.ref.index];
      finish.push_back(fmt::format("row.{} = static_cast<{}>({});", x.name, value_type(x.dtype), replaced(result, "$a", r.name)));
    }
  }
  CUTEGEN_TRY(const Json body, statements(*fusion_, closure.ops));
  return Json{{"n", n},
              {"what", fmt::format("{}", fmt::join(what, ", "))},
              {"accumulators", accumulators},
              {"lines", body},
              {"finish", lines(finish)},
              {"loads", loads(closure.leaves, vec)}};
}

Json RowMatch::row_results(bool of_columns) const {
  Json out = Json::array();
  for (const auto& [i, id] : per_row_) {
    const std::string code = fusion_->code(id);  // "row.mean_2"
    out.push_back(
        {{"name", output_name(i)}, {"type", cuda_type(task_.outputs[i].dtype)}, {"value", of_columns ? "row[v]" + code.substr(3) : code}});
  }
  return out;
}

// What problem.mustache needs.
Result<void> RowMatch::add_problem(Json& params, int vec) const {
  const Domain& d = fusion_->domain();
  Json leaves = Json::array(), row_leaves = Json::array(), fields = Json::array(), levels = Json::array(), results = Json::array();
  for (const int id : full_leaves_) leaves.push_back(rows_leaf(*fusion_, expr(id), vec_group(), vec));
  for (const int id : row_leaves_) row_leaves.push_back(rows_leaf(*fusion_, expr(id), vec_group(), vec));
  std::vector<std::string> begin;
  for (size_t id = 0; id < fusion_->exprs().size(); ++id) {
    const Expr& x = expr(static_cast<int>(id));
    if (!x.per_row) continue;
    fields.push_back({{"name", x.name}, {"type", value_type(x.dtype)}});
    if (x.kind != Expr::Kind::op || x.level != 0) continue;
    CUTEGEN_TRY(std::string line, fusion_->statement(static_cast<int>(id)));
    begin.push_back(std::move(line));
  }
  for (int n = 1; n <= facts_.passes; ++n) {
    CUTEGEN_TRY(Json level, level_json(n, vec));
    levels.push_back(std::move(level));
  }
  std::vector<int> targets;
  const std::string how = access_of(d.whole, vec_group(), vec) == Access::vector ? "Streaming" : "Gather";
  for (const auto& [i, id] : full_) {
    results.push_back({{"name", output_name(i)}, {"type", value_type(expr(id).dtype)}, {"value", fusion_->code(id)}, {"how", how}});
    targets.push_back(id);
  }
  const auto closure = fusion_->closure(targets);
  CUTEGEN_TRY(const Json map_lines, statements(*fusion_, closure.ops));
  params.update({{"outer", d.outer},
                 {"reduced", d.reduced},
                 {"inner", d.inner},
                 {"leaves", leaves},
                 {"row_leaves", row_leaves},
                 {"row_fields", fields},
                 {"levels", levels},
                 {"row_params", pointers(row_leaves_, false)},
                 {"begin", lines(begin)},
                 {"has_map", facts_.has_map},
                 {"results", results},
                 {"map_lines", map_lines},
                 {"out_shape", rows_tuple(d.whole, "Shape")},
                 {"out_stride", rows_tuple(d.whole, "Stride")}});
  return {};
}

// Which operands stay in shared memory: those that a pass reads and that lie there as they do in memory.
void RowMatch::add_cluster(Json& params, int vec) const {
  std::vector<int> inputs;
  for (const Reduction& r : fusion_->reductions()) inputs.push_back(r.input);
  Json kept = Json::array();
  std::set<std::string> keep;
  for (const int id : fusion_->closure(inputs).leaves) {
    if (load_how(*fusion_, expr(id), kReduced, vec) != "Streaming") continue;
    keep.insert(expr(id).name);
    kept.push_back({{"name", expr(id).name}, {"storage", cuda_type(expr(id).dtype)}});
  }
  auto divide = [&](const Json& all, const char* far, const char* near, Json& into) {
    Json from_gmem = Json::array(), from_smem = Json::array();
    for (const Json& load : all) {
      if (keep.contains(load["name"].get<std::string>()))
        from_smem.push_back({{"name", load["name"]}});
      else
        from_gmem.push_back(load);
    }
    into[far] = from_gmem, into[near] = from_smem;
  };
  for (Json& level : params["levels"]) {
    divide(level["loads"], "from_gmem", "from_smem", level);
    level.erase("loads");
  }
  std::vector<int> targets;
  for (const auto& [i, id] : full_) targets.push_back(id);
  divide(loads(fusion_->closure(targets).leaves, vec), "map_gmem", "map_smem", params);
  params["kept"] = kept;
}

// Grid, arguments and sizes of the configuration's strategy.
void RowMatch::add_geometry(Json& params, const Json& config) const {
  const std::string s = config.value("strategy", "");
  const int vec = config.value("vec", 1);
  auto copy = [&](const char* key) { params[key] = config.value(key, 1); };
  auto ceil_div = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  params["vec"] = vec;
  std::vector<int> map_targets;
  for (const auto& [i, id] : full_) map_targets.push_back(id);
  if (s == "registers") {
    copy("threads_per_row"), copy("rows_per_cta");
    params["steps"] = std::max<int64_t>(1, ceil_div(facts_.reduced, int64_t{config.value("threads_per_row", 32)} * vec));
    params["grid"] = std::max<int64_t>(1, ceil_div(facts_.outer, config.value("rows_per_cta", 1)));
  } else if (!column()) {
    copy("threads"), copy("unroll");
    params["grid"] = std::max<int64_t>(1, facts_.outer);
  } else {
    copy("threads_x"), copy("threads_y");
    params["grid"] = std::max<int64_t>(1, facts_.outer * ceil_div(facts_.inner, int64_t{config.value("threads_x", 32)} * vec));
    if (s == "column_registers")
      params["steps"] = std::max<int64_t>(1, ceil_div(facts_.reduced, config.value("threads_y", 1)));
    else
      copy("unroll");
    if (s != "column_split") params["resident"] = s == "column_registers";
  }
  if (s == "cluster") {
    copy("cluster");
    params["grid"] = std::max<int64_t>(1, facts_.outer) * config.value("cluster", 1);
    add_cluster(params, vec);
  } else if (s != "registers" && s != "column_registers") {
    params["map_loads"] = loads(fusion_->closure(map_targets).leaves, vec);
  }
  if (s == "split" || s == "column_split") {
    copy("splits");
    params["depth"] = facts_.passes;
    params["finish_splits"] = facts_.has_map ? config.value("splits", 1) : 1;
    if (s == "split") params.erase("grid");
    Json earlier = Json::array();
    for (Json& level : params["levels"]) {
      const int n = level["n"].get<int>();
      const auto used = fusion_->closure(level_inputs(n)).leaves;
      std::vector<int> all = row_leaves_;
      all.insert(all.end(), used.begin(), used.end());
      level["before"] = n - 1;
      level["earlier"] = earlier;
      level["level_params"] = pointers(all, false);
      level["level_args"] = pointers(all, true);
      level["level_leaves"] = Json::array();
      for (const int id : used) level["level_leaves"].push_back(rows_leaf(*fusion_, expr(id), vec_group(), vec));
      earlier.push_back({{"m", n}});
    }
  }
  if (s == "registers" || s == "column_registers")
    for (Json& level : params["levels"]) level.erase("loads");
}

Result<std::string> RowMatch::render(const Json& config) const {
  CUTEGEN_CHECK(check_row_config(facts_, config));
  const std::string s = config.value("strategy", "");
  Json params = head(task_, describe(config), config);
  CUTEGEN_CHECK(add_problem(params, config.value("vec", 1)));
  add_geometry(params, config);
  const Buffers bufs = buffers(task_, *fusion_);
  // A row's own index reaches R elements of the operand with the largest stride; columns also reach kInner.
  params.update({{"kernel", kernel_name(task_)},
                 {"params", bufs.params},
                 {"args", bufs.args},
                 {"index", index_type(facts_.reduced * facts_.inner)},
                 {"row_results", row_results(column())}});
  const std::string file = s.starts_with("column") ? (s == "column_split" ? s : "column") : "row_" + s;
  return render_file(kernels_ / "row" / (file + ".cu.mustache"), params);
}

}  // namespace

Schema row_schema() { return {"row", RowMatch::make}; }

}  // namespace cutegen::playbook
