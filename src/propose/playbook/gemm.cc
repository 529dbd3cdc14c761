#include "propose/playbook/gemm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "propose/playbook/gemm_match.h"
#include "propose/playbook/render.h"

namespace cutegen::playbook {
namespace {

// Below this K the error of the split itself shows beside that of a short fp32 sum (docs/gemm.md).
constexpr int64_t kMinSplitK = 256;

Error unsupported(std::string message) { return Error{Errc::unsupported, std::move(message), "", ""}; }

constexpr int64_t kTileRows = 128, kTileK = 64;  // of a packed operand, as in gemm_operand.cuh
constexpr int64_t kMinSplitTiles = 4;            // of K, a split: shorter ones spend their time filling the pipeline
constexpr int64_t kMinPromoteTwoK = 2048;        // from here on SGEMM's own error leaves room for sums of 128

struct Strategy {
  const char* name;
  const char* kernel;  // template under kernels/gemm
  const char* phrase;
  bool packed;  // computes with packed fp16 pairs
};

constexpr Strategy kStrategies[] = {
    {"wgmma", "gemm_fp16x3.cu.mustache", "wgmma on fp16 pairs", true},
    {"mma_sync", "gemm_fp16x3.cu.mustache", "mma.sync on fp16 pairs", true},
    {"simt", "gemm_simt.cu.mustache", "fp32 on the CUDA cores", false},
};

const Strategy* find_strategy(const std::string& name) {
  const auto* at = std::ranges::find_if(kStrategies, [&](const Strategy& s) { return name == s.name; });
  return at == std::end(kStrategies) ? nullptr : at;
}

const Strategy* strategy_of(const Json& config) { return find_strategy(json_or<std::string>(config, "strategy", "")); }

// An axis and where on it to begin.
struct Choice {
  Axis axis;
  Json start;
};

// In how many parts K may be cut: so that a product with few tiles still fills the GPU. The start is the most that does not need a second
// wave.
Choice splits_choice(const GemmProblem& problem, int sm_count) {
  const int64_t tiles = ((problem.m + kTileRows - 1) / kTileRows) * ((problem.n + kTileRows - 1) / kTileRows);
  const int64_t k_tiles = (problem.k + kTileK - 1) / kTileK;
  Choice choice{{"splits", {1}, "more CTAs for a product with few tiles against the traffic of partial sums"}, 1};
  for (int64_t splits = 2; splits <= 32 && splits * tiles <= 2 * sm_count && k_tiles / splits >= kMinSplitTiles; splits *= 2) {
    choice.axis.values.emplace_back(splits);
    if (splits * tiles <= sm_count) choice.start = splits;
  }
  return choice;
}

std::vector<Choice> choices(const Strategy& strategy, const GemmProblem& problem, int sm_count) {
  const std::string name = strategy.name;
  if (name == "simt")
    return {{{"tile_k", {8, 16}, "fewer barriers a multiply against shared memory"}, 16},
            {{"stages", {2, 3, 4}, "tiles in flight against shared memory"}, 3}};
  std::vector<Choice> out;
  if (name == "wgmma") {
    out.push_back({{"cluster", {1, 2}, "two CTAs that share a tile of B halve its traffic from L2, but must run in step"}, 1});
    if (problem.k >= kMinPromoteTwoK) out.push_back({{"promote", {1, 2}, "fewer additions to the fp32 total against accuracy"}, 1});
  }
  out.push_back({{"stages", {2, 3}, "tiles in flight against shared memory"}, 3});
  if (Choice splits = splits_choice(problem, sm_count); splits.axis.values.size() > 1) out.push_back(std::move(splits));
  return out;
}

Json operand_param(const char* side, const char* operand, const GemmOperand& from) {
  return {{"side", side}, {"operand", operand}, {"by_row", from.contiguous_k}, {"by_column", !from.contiguous_k}, {"source", from.buffer}};
}

class GemmMatch final : public Match {
 public:
  GemmMatch(GemmProblem problem, std::vector<std::string> usable, const MatchContext& context)
      : problem_(std::move(problem)), usable_(std::move(usable)), sm_count_(context.sm_count), kernels_(context.kernels_dir) {}

  Json default_config() const override { return start_of(*find_strategy(usable_.front())); }

  std::vector<Axis> axes(const Json& config) const override {
    std::vector<Axis> out;
    const Strategy* strategy = strategy_of(config);
    if (strategy == nullptr) return out;
    for (Choice& choice : choices(*strategy, problem_, sm_count_)) out.push_back(std::move(choice.axis));
    out.push_back({"strategy", {usable_.begin(), usable_.end()}, "which units multiply"});
    return out;
  }

  Result<Json> with(const Json& config, const std::string& name, const Json& value) const override {
    for (const Axis& axis : axes(config)) {
      if (axis.name != name || std::ranges::find(axis.values, value) == axis.values.end()) continue;
      if (name == "strategy" && value != config.at("strategy")) return start_of(*find_strategy(value.get<std::string>()));
      Json changed = config;
      changed[name] = value;
      return changed;
    }
    return unsupported(fmt::format("{} = {} has no meaning in this configuration of gemm", name, value.dump()));
  }

  Result<std::string> render(const Json& config) const override {
    const Strategy* strategy = strategy_of(config);
    if (strategy == nullptr) return Error{Errc::internal, "gemm: a configuration without a strategy", "", config.dump()};
    for (const Choice& choice : choices(*strategy, problem_, sm_count_))
      if (!config.contains(choice.axis.name))
        return Error{Errc::internal, fmt::format("gemm: the configuration lacks '{}'", choice.axis.name), "", config.dump()};
    Json params = problem_params();
    params["description"] = describe(config);
    params["stages"] = config.at("stages");
    if (strategy->packed)
      add_packing(params, *strategy, config);
    else
      params["tile_k"] = config.at("tile_k");
    return render_file(kernels_ / "gemm" / strategy->kernel, params);
  }

  std::string describe(const Json& config) const override {
    const Strategy* strategy = strategy_of(config);
    std::string out = fmt::format("product of {}x{} and {}x{}", problem_.m, problem_.k, problem_.k, problem_.n);
    if (!problem_.ops.empty()) out += fmt::format(" with {}", fmt::join(problem_.ops, ", "));
    out += fmt::format(", {}, {} stages", strategy == nullptr ? "?" : strategy->phrase, json_or<int>(config, "stages", 0));
    if (const int splits = json_or<int>(config, "splits", 1); splits > 1) out += fmt::format(", K in {} parts", splits);
    return out;
  }

 private:
  Json start_of(const Strategy& strategy) const {
    Json config{{"strategy", strategy.name}};
    for (const Choice& choice : choices(strategy, problem_, sm_count_)) config[choice.axis.name] = choice.start;
    return config;
  }

  // What problem.mustache and the kernels' parameter lists name.
  Json problem_params() const {
    Json operands = Json::array(), values = Json::array();
    for (const EpilogueOperand& o : problem_.operands)
      operands.push_back({{"name", o.name}, {"type", o.type}, {"buffer", o.buffer}, {"text", o.text}});
    for (const EpilogueValue& v : problem_.values)
      values.push_back({{"name", v.name}, {"type", v.type}, {"expression", v.expression}, {"comment", v.comment}});
    return {{"m", problem_.m},
            {"n", problem_.n},
            {"k", problem_.k},
            {"a", problem_.a.buffer},
            {"b", problem_.b.buffer},
            {"a_text", problem_.a.text},
            {"b_text", problem_.b.text},
            {"a_contiguous", problem_.a.contiguous_k ? "k" : "rows"},
            {"b_contiguous", problem_.b.contiguous_k ? "k" : "rows"},
            {"operands", operands},
            {"values", values},
            {"result", problem_.result},
            {"output_type", problem_.output_type}};
  }

  void add_packing(Json& params, const Strategy& strategy, const Json& config) const {
    const bool wgmma = std::string(strategy.name) == "wgmma";
    const int promote = json_or<int>(config, "promote", 1), splits = json_or<int>(config, "splits", 1);
    params["strategy"] = strategy.name;
    params["wgmma"] = wgmma;
    params["mma_sync"] = !wgmma;
    params["cluster"] = json_or<int>(config, "cluster", 1);
    params["promote"] = promote;
    params["promote_k"] = wgmma ? 64 * promote : 32;
    params["splits"] = splits;
    params["one_pass"] = splits == 1;
    params["packs"] = Json::array({operand_param("a", "A", problem_.a), operand_param("b", "B", problem_.b)});
    std::vector<std::string> maxima;
    if (!problem_.a.contiguous_k) maxima.emplace_back("ColumnPacker<A>::maxima_bytes");
    if (!problem_.b.contiguous_k) maxima.emplace_back("ColumnPacker<B>::maxima_bytes");
    params["maxima_bytes"] = maxima.empty() ? "0" : fmt::format("{}", fmt::join(maxima, " + "));
  }

  GemmProblem problem_;
  std::vector<std::string> usable_;  // strategies that serve this product, best guess first
  int sm_count_;
  std::filesystem::path kernels_;
};

Result<std::unique_ptr<Match>> match(const MatchContext& context) {
  CUTEGEN_TRY(GemmProblem problem, match_gemm(context.task));
  std::vector<std::string> usable;
  if (problem.k >= kMinSplitK) {
    if (context.arch == "sm_90a") usable.emplace_back("wgmma");
    usable.emplace_back("mma_sync");
  }
  usable.emplace_back("simt");
  return std::unique_ptr<Match>(std::make_unique<GemmMatch>(std::move(problem), std::move(usable), context));
}

}  // namespace

Schema gemm_schema() { return {"gemm", match}; }

}  // namespace cutegen::playbook
