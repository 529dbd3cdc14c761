// The scan family: a cumulative sum or product along one axis, from either end, inclusive or exclusive, of a pointwise graph.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "propose/playbook/emit.h"
#include "propose/playbook/families.h"
#include "propose/playbook/rewrite.h"

namespace cutegen::playbook {
namespace {

class ScanMatch : public Match {
 public:
  static Result<std::unique_ptr<Match>> make(const MatchContext& context) {
    auto match = std::unique_ptr<ScanMatch>(new ScanMatch(context.task, context.kernels_dir));
    CUTEGEN_CHECK(match->analyse());
    return std::unique_ptr<Match>(std::move(match));
  }

  Json default_config() const override {
    const int vec = best_vec_;
    if (column()) return {{"schema", "scan"}, {"strategy", "scan_column"}, {"threads", 128}, {"vec", vec}, {"unroll", 8}};
    // A tile no longer than the row, so that no thread of a short row is idle.
    int threads = 128;  // measured (docs/playbook.md)
    while (threads > 32 && int64_t{threads / 2} * vec * 4 >= reduced()) threads /= 2;
    return {{"schema", "scan"}, {"strategy", "scan_row"}, {"threads", threads}, {"vec", vec}, {"unroll", 4}};
  }

  std::vector<Axis> axes(const Json&) const override {
    std::vector<Json> widths;
    if (best_vec_ > 1) widths.emplace_back(best_vec_ / 2);
    widths.emplace_back(best_vec_);
    if (column())
      return {{"unroll", {4, 8, 16}, "rows in flight a thread against registers"},
              {"threads", {32, 64, 128, 256}, "CTAs to spread over the SMs against CTA overhead"},
              {"vec", widths, "bytes an access against the number of threads"}};
    return {{"threads", {64, 128, 256, 512}, "rows in flight an SM against barriers a row"},
            {"unroll", {2, 4, 8}, "bytes in flight a thread against registers"},
            {"vec", widths, "bytes an access"}};
  }

  Result<Json> with(const Json& config, const std::string& axis, const Json& value) const override {
    Json out = config;
    out[axis] = value;
    const int64_t tile = int64_t{out.value("threads", 256)} * out.value("vec", 1) * out.value("unroll", 1);
    if (!column() && tile >= 2 * std::max<int64_t>(reduced(), 1) && out.value("threads", 256) > 32)
      return Error{Errc::unsupported, "a tile of more than twice the row", "", ""};
    return out;
  }

  std::string describe(const Json& config) const override {
    return fmt::format("{}{}{} over {} of {} rows, {}", reverse_ ? "reversed " : "", exclusive_ ? "exclusive " : "",
                       op_ == "scan_sum" ? "sum scan" : "product scan", reduced(), outer() * inner(),
                       column() ? fmt::format("a thread for {} neighbouring columns", config.value("vec", 1)) : "a CTA a row");
  }

  Result<std::string> render(const Json& config) const override;

 private:
  ScanMatch(const Task& task, std::filesystem::path kernels) : task_(task), kernels_(std::move(kernels)) {}
  Result<void> analyse();
  const Expr& expr(int id) const { return fusion_->exprs()[static_cast<size_t>(id)]; }
  int64_t outer() const { return fusion_->domain().outer; }
  int64_t reduced() const { return fusion_->domain().reduced; }
  int64_t inner() const { return fusion_->domain().inner; }
  bool column() const { return inner() > 1; }
  int vec_group() const { return column() ? kInner : kReduced; }

  Task task_;
  std::filesystem::path kernels_;
  Graph graph_;  // rewritten; fusion_ refers to it
  std::unique_ptr<Fusion> fusion_;
  std::string op_;
  bool reverse_ = false, exclusive_ = false;
  int term_ = -1;  // expr that is scanned
  std::vector<int> ops_, leaves_;
  int best_vec_ = 1;
};

Result<void> ScanMatch::analyse() {
  CUTEGEN_TRY(graph_, rewrite(*task_.graph));
  const bool any = std::ranges::any_of(graph_.nodes, [](const Node& n) { return is_scan(n.op); });
  if (!any) return Error{Errc::unsupported, "the graph has no scan", "", ""};
  if (graph_.outputs.size() != 1) return Error{Errc::unsupported, "a scan beside other outputs", "", ""};
  const Node& node = graph_.nodes[static_cast<size_t>(graph_.outputs.front().node)];
  if (!is_scan(node.op)) return Error{Errc::unsupported, fmt::format("{} of a scan's result is not served", node.op), "", ""};
  op_ = node.op;
  reverse_ = node.attrs["reverse"].get<bool>(), exclusive_ = node.attrs["exclusive"].get<bool>();
  const auto input = std::get<ValueRef>(node.args.at(0));
  Domain domain = row_domain(graph_.spec(input).shape, {node.attrs["axis"].get<int64_t>()});
  domain.rows = false;  // nothing is computed once a row
  fusion_ = std::make_unique<Fusion>(graph_, std::move(domain));
  CUTEGEN_TRY(term_, fusion_->at(input, fusion_->domain().whole));
  const auto closure = fusion_->closure({term_});
  ops_ = closure.ops, leaves_ = closure.leaves;
  int64_t widest = size_bytes(node.outputs.front().dtype);
  for (const int id : leaves_) widest = std::max(widest, size_bytes(expr(id).dtype));
  best_vec_ = static_cast<int>(16 / widest);
  const int64_t along = column() ? inner() : reduced();
  while (best_vec_ > 1 && (along % best_vec_ != 0 || access_of(fusion_->domain().whole, vec_group(), best_vec_) != Access::vector))
    best_vec_ /= 2;
  return {};
}

Result<std::string> ScanMatch::render(const Json& config) const {
  const int threads = config.value("threads", 256), vec = config.value("vec", 1), unroll = config.value("unroll", 1);
  const Domain& d = fusion_->domain();
  Json leaves = Json::array();
  for (const int id : leaves_) leaves.push_back(rows_leaf(*fusion_, expr(id), vec_group(), vec));
  CUTEGEN_TRY(const Json body, statements(*fusion_, ops_));
  const int64_t columns = (d.inner + int64_t{threads} * vec - 1) / (int64_t{threads} * vec);
  const Buffers bufs = buffers(task_, *fusion_);
  Json params = head(task_, describe(config), config);
  params.update({{"index", index_type(d.reduced * d.inner + int64_t{threads} * vec * unroll)},
                 {"op", op_ == "scan_sum" ? "ScanSum" : "ScanProduct"},
                 {"value_type", value_type(task_.outputs.front().dtype)},
                 {"outer", d.outer},
                 {"reduced", d.reduced},
                 {"inner", d.inner},
                 {"leaves", leaves},
                 {"out_shape", rows_tuple(d.whole, "Shape")},
                 {"out_stride", rows_tuple(d.whole, "Stride")},
                 {"body", body},
                 {"term", fusion_->code(term_)},
                 {"threads", threads},
                 {"vec", vec},
                 {"unroll", unroll},
                 {"reverse", reverse_},
                 {"store", access_of(d.whole, vec_group(), vec) == Access::vector ? "Streaming" : "Gather"},
                 {"kernel", kernel_name(task_)},
                 {"params", bufs.params},
                 {"args", bufs.args},
                 {"grid", std::max<int64_t>(1, column() ? d.outer * columns : d.outer)}});
  if (column())
    params["exclusive"] = exclusive_;
  else
    params["exclusive"] = exclusive_ ? "true" : "false";
  return render_file(kernels_ / "scan" / (column() ? "column.cu.mustache" : "row.cu.mustache"), params);
}

}  // namespace

Schema scan_schema() { return {"scan", ScanMatch::make}; }

}  // namespace cutegen::playbook
