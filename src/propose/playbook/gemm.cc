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

// The part of a configuration that depends on the strategy, with its default first.
struct StrategyAxis {
  const char* name;
  std::vector<Json> values;
  const char* why;
};

struct Strategy {
  const char* name;
  const char* kernel;  // template under kernels/gemm
  int promote_k;       // of K, between additions to fp32 registers; 0: not a tensor-core strategy
  std::vector<StrategyAxis> axes;
  const char* phrase;
};

const std::vector<Strategy>& strategies() {
  static const std::vector<Strategy> all{
      {"wgmma",
       "gemm_fp16x3.cu.mustache",
       64,
       {{"cluster", {2, 1}, "two CTAs that share a tile of B halve its traffic from L2, but must run in step"},
        {"stages", {3, 2}, "tiles in flight against shared memory"}},
       "wgmma on fp16 pairs"},
      {"mma_sync", "gemm_fp16x3.cu.mustache", 32, {{"stages", {3, 2}, "tiles in flight against shared memory"}}, "mma.sync on fp16 pairs"},
      {"simt",
       "gemm_simt.cu.mustache",
       0,
       {{"tile_k", {16, 8}, "fewer barriers a multiply against shared memory"},
        {"stages", {3, 4, 2}, "tiles in flight against shared memory"}},
       "fp32 on the CUDA cores"},
  };
  return all;
}

const Strategy* find_strategy(const std::string& name) {
  const auto at = std::ranges::find_if(strategies(), [&](const Strategy& s) { return name == s.name; });
  return at == strategies().end() ? nullptr : &*at;
}

Json defaults_of(const Strategy& strategy) {
  Json config{{"strategy", strategy.name}};
  for (const StrategyAxis& axis : strategy.axes) config[axis.name] = axis.values.front();
  return config;
}

Json operand_param(const char* side, const char* operand, const GemmOperand& from) {
  return {{"side", side}, {"operand", operand}, {"by_row", from.contiguous_k}, {"by_column", !from.contiguous_k}, {"source", from.buffer}};
}

class GemmMatch final : public Match {
 public:
  GemmMatch(GemmProblem problem, std::vector<std::string> usable, std::filesystem::path kernels)
      : problem_(std::move(problem)), usable_(std::move(usable)), kernels_(std::move(kernels)) {}

  Json default_config() const override { return defaults_of(*find_strategy(usable_.front())); }

  std::vector<Axis> axes(const Json& config) const override {
    std::vector<Axis> out;
    const Strategy* strategy = find_strategy(json_or<std::string>(config, "strategy", ""));
    if (strategy == nullptr) return out;
    for (const StrategyAxis& axis : strategy->axes) out.push_back({axis.name, axis.values, axis.why});
    out.push_back({"strategy", {usable_.begin(), usable_.end()}, "which units multiply"});
    return out;
  }

  Result<Json> with(const Json& config, const std::string& axis, const Json& value) const override {
    if (axis == "strategy") {
      const auto name = value.is_string() ? value.get<std::string>() : "";
      if (std::ranges::find(usable_, name) == usable_.end())
        return unsupported(fmt::format("the strategy {} does not serve this product", value.dump()));
      return name == json_or<std::string>(config, "strategy", "") ? config : defaults_of(*find_strategy(name));
    }
    CUTEGEN_CHECK(check_member(config, axis, value));
    Json changed = config;
    changed[axis] = value;
    return changed;
  }

  Result<std::string> render(const Json& config) const override {
    const Strategy* strategy = find_strategy(json_or<std::string>(config, "strategy", ""));
    if (strategy == nullptr) return Error{Errc::internal, "gemm: a configuration without a strategy", "", config.dump()};
    for (const StrategyAxis& axis : strategy->axes)
      if (!config.contains(axis.name))
        return Error{Errc::internal, fmt::format("gemm: the configuration lacks '{}'", axis.name), "", config.dump()};
    Json params = problem_params();
    params["description"] = describe(config);
    params["stages"] = config.at("stages");
    if (strategy->promote_k == 0) {
      params["tile_k"] = config.at("tile_k");
    } else {
      add_packing(params, *strategy);
      params["cluster"] = json_or<int>(config, "cluster", 1);
    }
    return render_file(kernels_ / "gemm" / strategy->kernel, params);
  }

  std::string describe(const Json& config) const override {
    const Strategy* strategy = find_strategy(json_or<std::string>(config, "strategy", ""));
    std::string out = fmt::format("product of {}x{} and {}x{}", problem_.m, problem_.k, problem_.k, problem_.n);
    if (!problem_.ops.empty()) out += fmt::format(" with {}", fmt::join(problem_.ops, ", "));
    return out + fmt::format(", {}, {} stages", strategy == nullptr ? "?" : strategy->phrase, json_or<int>(config, "stages", 0));
  }

 private:
  static Result<void> check_member(const Json& config, const std::string& axis, const Json& value) {
    const Strategy* strategy = find_strategy(json_or<std::string>(config, "strategy", ""));
    if (strategy != nullptr)
      for (const StrategyAxis& a : strategy->axes)
        if (axis == a.name && std::ranges::find(a.values, value) != a.values.end()) return {};
    return unsupported(fmt::format("{} = {} has no meaning in this configuration of gemm", axis, value.dump()));
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

  void add_packing(Json& params, const Strategy& strategy) const {
    params["strategy"] = strategy.name;
    params["promote_k"] = strategy.promote_k;
    params["wgmma"] = std::string(strategy.name) == "wgmma";
    params["mma_sync"] = std::string(strategy.name) == "mma_sync";
    params["packs"] = Json::array({operand_param("a", "A", problem_.a), operand_param("b", "B", problem_.b)});
    std::vector<std::string> maxima;
    if (!problem_.a.contiguous_k) maxima.emplace_back("ColumnPacker<A>::maxima_bytes");
    if (!problem_.b.contiguous_k) maxima.emplace_back("ColumnPacker<B>::maxima_bytes");
    params["maxima_bytes"] = maxima.empty() ? "0" : fmt::format("{}", fmt::join(maxima, " + "));
  }

  GemmProblem problem_;
  std::vector<std::string> usable_;  // strategies that serve this product, best guess first
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
  return std::unique_ptr<Match>(std::make_unique<GemmMatch>(std::move(problem), std::move(usable), context.kernels_dir));
}

}  // namespace

Schema gemm_schema() { return {"gemm", match}; }

}  // namespace cutegen::playbook
