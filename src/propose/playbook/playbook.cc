#include "propose/playbook/playbook.h"

#include <fmt/format.h>

#include <algorithm>

#include "propose/playbook/schema.h"

namespace cutegen {
namespace {

using playbook::Axis;
using playbook::Match;
using playbook::MatchContext;
using playbook::Schema;

struct Chosen {
  std::string schema;
  std::unique_ptr<Match> match;
};

Error cannot_serve(const std::string& why) {
  return {Errc::unsupported, "the playbook cannot serve this task: " + why, "use a model as the proposer", ""};
}

// The first schema that recognises the task. When none does, the sentence of each says why.
Result<Chosen> choose(const MatchContext& context) {
  if (!context.task.graph) {
    const std::string& why = context.task.opaque_reason;
    return cannot_serve(why.empty() ? "its graph could not be traced" : "its graph could not be traced (" + why + ")");
  }
  std::vector<std::string> reasons;
  for (const Schema& schema : playbook::schemas()) {
    auto match = schema.match(context);
    if (match.ok()) return Chosen{schema.name, std::move(match).value()};
    if (match.error().code != Errc::unsupported) return std::move(match).error();
    reasons.push_back(fmt::format("{}: {}", schema.name, match.error().message));
  }
  return cannot_serve(fmt::format("{}", fmt::join(reasons, "; ")));
}

bool ours(const Attempt& a, const std::string& schema) {
  return a.candidate.origin.starts_with("playbook:") && json_or<std::string>(a.candidate.config, "schema", "") == schema;
}

bool tried(const std::vector<Attempt>& attempts, const std::string& schema, const Json& config) {
  return std::ranges::any_of(attempts, [&](const Attempt& a) { return ours(a, schema) && a.candidate.config == config; });
}

// The attempt to improve: the fastest verified one; else the verified one that came first; else the first of ours.
const Attempt* best_of(const std::vector<Attempt>& attempts, const std::string& schema) {
  const Attempt* best = nullptr;
  for (const Attempt& a : attempts) {
    if (!ours(a, schema)) continue;
    const bool better =
        best == nullptr || (a.verified && !best->verified) || (a.verified && best->verified && a.ms && (!best->ms || *a.ms < *best->ms));
    if (better) best = &a;
  }
  return best;
}

std::string text(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

class Playbook : public Proposer {
 public:
  explicit Playbook(std::filesystem::path kernels_dir) : kernels_dir_(std::move(kernels_dir)) {}
  std::string name() const override { return "playbook"; }

  Result<std::optional<Proposal>> propose(const ProposeContext& context) override {
    CUTEGEN_TRY(Chosen chosen, choose({context.task, context.arch, context.sm_count, kernels_dir_}));
    const Json first = with_schema(chosen.match->default_config(), chosen.schema);
    if (!tried(context.attempts, chosen.schema, first))
      return write(chosen, first, -1, "start", "the first configuration: " + chosen.match->describe(first));
    const Attempt* best = best_of(context.attempts, chosen.schema);
    if (best == nullptr) return std::optional<Proposal>{};
    const Json& base = best->candidate.config;
    for (const Move& move : moves(chosen.match->axes(base), base)) {
      auto moved = chosen.match->with(base, move.axis, move.value);
      if (!moved.ok()) continue;
      const Json config = with_schema(std::move(moved).value(), chosen.schema);
      if (config == base || tried(context.attempts, chosen.schema, config)) continue;
      const std::string from = base.contains(move.axis) ? text(base[move.axis]) : "unset";
      return write(chosen, config, best->id, fmt::format("{}={}", move.axis, text(move.value)),
                   fmt::format("{} from {} to {}: {}", move.axis, from, text(move.value), move.why));
    }
    return std::optional<Proposal>{};
  }

 private:
  static Json with_schema(Json config, const std::string& schema) {
    config["schema"] = schema;
    return config;
  }

  struct Move {
    std::string axis, why;
    Json value;
    std::ptrdiff_t distance = 0;  // in values of the axis
  };

  // All one-factor moves: first a step along every axis, in their order, then two steps, and so on, so that a search with few
  // candidates to spend looks along every axis.
  static std::vector<Move> moves(const std::vector<Axis>& axes, const Json& config) {
    std::vector<Move> out;
    for (const Axis& axis : axes) {
      const auto now = config.contains(axis.name) ? std::ranges::find(axis.values, config[axis.name]) : axis.values.end();
      for (auto at = axis.values.begin(); at != axis.values.end(); ++at)
        out.push_back({axis.name, axis.why, *at, now == axis.values.end() ? at - axis.values.begin() + 1 : std::abs(at - now)});
    }
    std::ranges::stable_sort(out, {}, &Move::distance);
    return out;
  }

  static Result<std::optional<Proposal>> write(const Chosen& chosen, const Json& config, int parent, const std::string& move,
                                               std::string rationale) {
    CUTEGEN_TRY(std::string source, chosen.match->render(config));
    Proposal proposal;
    proposal.candidate.source = std::move(source);
    proposal.candidate.backend = Backend::cute;
    proposal.candidate.origin = fmt::format("playbook:{}/{}", chosen.schema, move);
    proposal.candidate.config = config;
    proposal.parent = parent;
    proposal.rationale = std::move(rationale);
    return std::optional<Proposal>(std::move(proposal));
  }

  std::filesystem::path kernels_dir_;
};

}  // namespace

std::unique_ptr<Proposer> make_playbook(std::filesystem::path kernels_dir) { return std::make_unique<Playbook>(std::move(kernels_dir)); }

}  // namespace cutegen
