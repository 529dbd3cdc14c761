// The map family: any graph of pointwise operators over operands that broadcast to one shape, fused into one pass.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "propose/playbook/emit.h"
#include "propose/playbook/families.h"
#include "propose/playbook/rewrite.h"

namespace cutegen::playbook {
namespace {

constexpr int64_t kLarge = int64_t{1} << 25;  // elements: 128 MB of floats

class MapMatch : public Match {
 public:
  static Result<std::unique_ptr<Match>> make(const MatchContext& context) {
    auto match = std::unique_ptr<MapMatch>(new MapMatch(context.task, context.kernels_dir));
    CUTEGEN_CHECK(match->analyse());
    return std::unique_ptr<Match>(std::move(match));
  }

  Json default_config() const override {
    // Measured (docs/playbook.md): one access a thread beats several, as the GPU hides latency with threads, and loads through the L1 beat
    // others, both at every size; small CTAs and plain stores are faster where the tensors are larger than the L2.
    const bool large = elements_ > kLarge;
    return {{"schema", "map"},   {"threads", large ? 128 : 256},           {"vec", widest_}, {"unroll", 1},
            {"loads", "cached"}, {"stores", large ? "plain" : "streaming"}};
  }

  std::vector<Axis> axes(const Json&) const override {
    std::vector<Json> widths;  // no wider than the 16 bytes of one access
    if (widest_ > 1) widths.emplace_back(widest_ / 2);
    widths.emplace_back(widest_);
    return {{"stores", {"streaming", "plain"}, "results that leave the L2 first against results that may stay there"},
            {"threads", {128, 256, 512, 1024}, "CTA size: scheduling granularity"},
            {"loads", {"streaming", "cached"}, "whether operands that are read once pass by the L1"},
            {"unroll", {1, 2, 4, 8}, "independent accesses in flight a thread, against registers and tail waste"},
            {"vec", widths, "bytes an access"}};
  }

  Result<Json> with(const Json& config, const std::string& axis, const Json& value) const override {
    Json out = config;
    out[axis] = value;
    return out;
  }

  std::string describe(const Json& config) const override {
    return fmt::format("{} fused pointwise operator{} over {} elements in one pass, {} x {} elements a thread", ops_.size(),
                       ops_.size() == 1 ? "" : "s", elements_, config.value("unroll", 1), config.value("vec", 1));
  }

  Result<std::string> render(const Json& config) const override;

 private:
  MapMatch(const Task& task, std::filesystem::path kernels) : task_(task), kernels_(std::move(kernels)) {}
  Result<void> analyse();
  std::string how(const Expr& leaf, int vec) const;

  Task task_;
  std::filesystem::path kernels_;
  Graph graph_;  // rewritten; fusion_ refers to it
  std::unique_ptr<Fusion> fusion_;
  std::vector<int> results_;  // expr of each output
  std::vector<int> ops_, leaves_;
  int64_t elements_ = 0;
  int widest_ = 4;  // elements in 16 bytes of the widest type
};

Result<void> MapMatch::analyse() {
  CUTEGEN_TRY(graph_, rewrite(*task_.graph));
  if (graph_.outputs.empty()) return Error{Errc::unsupported, "a task without outputs", "", ""};
  const Shape& shape = graph_.spec(graph_.outputs.front()).shape;
  elements_ = element_count(shape);
  fusion_ = std::make_unique<Fusion>(graph_, linear_domain(shape));
  for (const ValueRef v : graph_.outputs) {
    if (graph_.spec(v).elements() != elements_)
      return Error{Errc::unsupported, "outputs of different sizes are not one pointwise pass", "", ""};
    CUTEGEN_TRY(const int id, fusion_->at(v, fusion_->domain().whole));
    results_.push_back(id);
  }
  const auto closure = fusion_->closure(results_);
  ops_ = closure.ops, leaves_ = closure.leaves;
  int64_t widest = 1;
  for (const TensorSpec& s : task_.outputs) widest = std::max(widest, size_bytes(s.dtype));
  for (const int id : leaves_)
    if (fusion_->exprs()[static_cast<size_t>(id)].layout.size() > 1)
      widest = std::max(widest, size_bytes(fusion_->exprs()[static_cast<size_t>(id)].dtype));
  widest_ = static_cast<int>(16 / widest);
  return {};
}

// A leaf that runs on over the whole index may be read wide whatever the number of elements: the tail is scalar anyway.
std::string MapMatch::how(const Expr& leaf, int vec) const {
  const Layout& l = leaf.layout;
  if (l.modes.size() == 1 && l.modes[0].stride == 1 && l.offset % vec == 0) return "Streaming";
  if (l.modes.size() == 1 && l.modes[0].stride == 0) return "Splat";
  return load_how(*fusion_, leaf, kOuter, vec);
}

Result<std::string> MapMatch::render(const Json& config) const {
  const int threads = config.value("threads", 256), vec = config.value("vec", 4), unroll = config.value("unroll", 1);
  const bool cached = config.value("loads", "streaming") == "cached", plain = config.value("stores", "streaming") == "plain";
  const int64_t tile = int64_t{threads} * vec * unroll;
  Json leaves = Json::array();
  for (const int id : leaves_) {
    const Expr& leaf = fusion_->exprs()[static_cast<size_t>(id)];
    const std::string access = how(leaf, vec);
    leaves.push_back({{"name", leaf.name},
                      {"type", value_type(leaf.dtype)},
                      {"shape", cute_shape(leaf.layout.modes)},
                      {"stride", cute_stride(leaf.layout.modes)},
                      {"buffer", buffer_name(*fusion_, leaf.ref)},
                      {"offset", leaf.layout.offset == 0 ? "" : fmt::format(" + {}", leaf.layout.offset)},
                      {"how", cached && access == "Streaming" ? "Cached" : access}});
  }
  Json results = Json::array();
  for (size_t i = 0; i < results_.size(); ++i) {
    const Expr& expr = fusion_->exprs()[static_cast<size_t>(results_[i])];
    results.push_back({{"name", output_name(i)}, {"type", value_type(expr.dtype)}, {"value", fusion_->code(results_[i])}});
  }
  CUTEGEN_TRY(const Json body, statements(*fusion_, ops_));
  const Buffers bufs = buffers(task_, *fusion_);
  Json params = head(task_, describe(config), config);
  params.update({{"index", index_type(elements_ + tile)},
                 {"threads", threads},
                 {"vec", vec},
                 {"unroll", unroll},
                 {"elements", elements_},
                 {"leaves", leaves},
                 {"out_shape", cute_shape({{elements_, 1, 0}})},
                 {"results", results},
                 {"store", plain ? "Cached" : "Streaming"},
                 {"body", body},
                 {"kernel", kernel_name(task_)},
                 {"params", bufs.params},
                 {"args", bufs.args},
                 {"grid", std::max<int64_t>(1, (elements_ + tile - 1) / tile)}});
  return render_file(kernels_ / "map" / "map.cu.mustache", params);
}

}  // namespace

Schema map_schema() { return {"map", MapMatch::make}; }

}  // namespace cutegen::playbook
