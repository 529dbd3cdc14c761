#include "search/search.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "search/build_only.h"
#include "search/history.h"
#include "search/remembering_toolchain.h"

namespace cutegen {
namespace {

// One run() of a Search.
class Loop {
 public:
  struct Parts {
    Oracle& oracle;
    Device& device;
    Proposer& proposer;
    Store& store;
    const Clock& clock;
  };
  Loop(Parts parts, Toolchain& toolchain, const Evaluate& evaluate, const SearchConfig& config,
       const std::function<void(const SearchProgress&)>& progress, const std::function<bool()>& cancelled)
      : parts_(parts),
        toolchain_(toolchain),
        judge_(parts.oracle, toolchain_, parts.device, parts.clock),
        evaluate_(evaluate ? evaluate : [this](const Candidate& c, const JudgePolicy& p, Deadline d) { return judge_.evaluate(c, p, d); }),
        config_(config),
        progress_(progress),
        cancelled_(cancelled),
        device_info_(parts.device.info()),
        analysis_(analyse(parts.oracle.task(), rates_for(device_info_.name))) {}

  Result<SearchResult> run() {
    auto result = explore_and_finish();
    if (!result.ok()) record(result.error());
    return result;
  }

 private:
  const Task& task() const { return parts_.oracle.task(); }
  bool cancelled() const { return cancelled_ && cancelled_(); }
  double elapsed_s() const { return earlier_s_ + session_s(); }
  double session_s() const { return Seconds(parts_.clock.now() - begin_ - waited_).count(); }

  // Judges with the device held.
  Result<Verdict> evaluate(const Candidate& candidate, const JudgePolicy& policy, Seconds limit) {
    if (!config_.hold) return evaluate_(candidate, policy, Deadline::in(parts_.clock, limit));
    const Nanoseconds asked = parts_.clock.now();
    CUTEGEN_TRY(const std::unique_ptr<Lease> lease, config_.hold());
    waited_ += parts_.clock.now() - asked;
    auto verdict = evaluate_(candidate, policy, Deadline::in(parts_.clock, limit));
    parts_.device.trim();  // it has the oracle's memory open
    parts_.oracle.trim();
    return verdict;
  }

  Result<SearchResult> explore_and_finish() {
    CUTEGEN_TRY(history_, History::load(parts_.store));
    CUTEGEN_TRY(earlier_s_, parts_.store.seconds_spent());
    CUTEGEN_CHECK(
        parts_.store.begin_session(Json{{"budget_seconds", config_.budget.wall.count()}, {"max_candidates", config_.budget.candidates}}));
    begin_ = parts_.clock.now();
    CUTEGEN_TRY(const auto stored, stored_result());
    if (stored && stored->stopped.starts_with("proposer")) return *stored;
    CUTEGEN_TRY(const std::string stopped, explore());
    CUTEGEN_CHECK(parts_.store.spend(session_s()));
    return finish(stopped, stored);
  }

  // A result of the very nodes that are here; nothing is left to do for it but what a larger budget allows.
  Result<std::optional<SearchResult>> stored_result() const {
    CUTEGEN_TRY(const std::optional<Json> stored, parts_.store.meta("result"));
    if (!stored) return std::optional<SearchResult>();
    CUTEGEN_TRY(SearchResult result, search_result_from_json(*stored));
    if (result.nodes != history_.size() || history_.unfinished()) return std::optional<SearchResult>();
    return std::optional<SearchResult>(std::move(result));
  }

  // Proposes and judges until a reason to stop, which it returns.
  Result<std::string> explore() {
    for (;;) {
      if (cancelled()) return std::string("cancelled");
      if (elapsed_s() >= config_.budget.wall.count()) return std::string("budget_wall");
      if (!history_.unfinished()) {
        if (history_.size() >= config_.budget.candidates) return std::string("budget_candidates");
        auto proposed = propose();
        if (!proposed.ok() && proposed.error().code == Errc::unsupported) {
          unsupported_ = proposed.error().message;
          return std::string("proposer_unsupported");
        }
        if (!proposed.ok()) return std::move(proposed).error();
        if (!*proposed) return std::string("proposer_done");
      }
      CUTEGEN_TRY(const bool judged, judge_node(*history_.unfinished()));
      if (!judged) return std::string("cancelled");
      CUTEGEN_CHECK(parts_.store.spend(session_s()));
    }
  }

  // Stores the next proposal; false when there is none.
  Result<bool> propose() {
    const ProposeContext context{task(), analysis_, history_.attempts(), device_info_.arch,
                                 device_info_.sm_count > 0 ? device_info_.sm_count : 132};
    CUTEGEN_TRY(std::optional<Proposal> proposal, parts_.proposer.propose(context));
    if (!proposal) return false;
    CUTEGEN_TRY(std::string object, parts_.store.put_object(proposal->candidate.source));
    StoredNode node = stored_node(history_.size(), *proposal, std::move(object));
    CUTEGEN_CHECK(parts_.store.add_node(node));
    history_.add(std::move(node), std::move(proposal->candidate));
    return true;
  }

  struct Judged {
    Verdict verdict;
    NodeNotes notes;
    const char* what;
  };

  // False when cancelled before there was a verdict.
  Result<bool> judge_node(int id) {
    const Nanoseconds begin = parts_.clock.now();
    report(id, "proposed", nullptr);
    CUTEGEN_TRY(const std::optional<Judged> judged, judge_candidate(history_.candidate(id)));
    if (!judged) return false;
    const double seconds = Seconds(parts_.clock.now() - begin).count();
    // Through text, as the store does: a resumed run must see exactly what this one sees.
    CUTEGEN_TRY(Json verdict, parse_json(to_json(judged->verdict).dump(-1, ' ', false, Json::error_handler_t::replace), "a verdict"));
    CUTEGEN_CHECK(parts_.store.finish_node(id, verdict, seconds, judged->notes));
    history_.finish(id, std::move(verdict), judged->notes);
    report(id, judged->what, &judged->verdict);
    return true;
  }

  Result<std::optional<Judged>> judge_candidate(const Candidate& candidate) {
    if (const auto original = history_.same_source(candidate.hash()))
      return taken_over(*original, history_.node(*original).ptx_hash, candidate);
    const std::string key = VerdictCache::key(task(), candidate, config_.explore, device_info_);
    if (config_.cache != nullptr && !config_.build_only) {
      if (auto entry = config_.cache->find(key)) return std::optional(Judged{std::move(entry->verdict), {}, "cached"});
    }
    const Deadline deadline = Deadline::in(parts_.clock, config_.candidate_limit);
    // Forbidden source is not compiled for its hash: the judge says why it is forbidden.
    if (!check_policy(candidate).empty()) return judged_without_hash(candidate, deadline);
    auto built = toolchain_.build(task(), candidate, deadline);
    if (!built.ok()) {
      if (built.error().code != Errc::timeout) return std::move(built).error();
      return std::optional(Judged{not_judged(candidate, built.error().message), {}, "verdict"});
    }
    const std::string ptx_hash = built->build ? built->build->ptx_hash : std::string();
    if (!ptx_hash.empty()) {
      if (const auto original = history_.same_ptx(ptx_hash)) return taken_over(*original, ptx_hash, candidate);
    }
    if (cancelled()) return std::optional<Judged>();
    CUTEGEN_TRY(Verdict verdict, config_.build_only ? Result<Verdict>(build_only_verdict(task(), candidate, *built))
                                                    : evaluate(candidate, config_.explore, deadline.left(parts_.clock)));
    if (config_.cache != nullptr && !config_.build_only) {
      if (auto kept = config_.cache->put(key, verdict); !kept.ok()) spdlog::warn("verdict not cached: {}", kept.error().message);
    }
    return std::optional(Judged{std::move(verdict), {ptx_hash, std::nullopt}, "verdict"});
  }

  Result<std::optional<Judged>> judged_without_hash(const Candidate& candidate, Deadline deadline) {
    CUTEGEN_TRY(Verdict verdict, config_.build_only ? build_only(toolchain_, task(), candidate, deadline)
                                                    : evaluate(candidate, config_.explore, deadline.left(parts_.clock)));
    return std::optional(Judged{std::move(verdict), {}, "verdict"});
  }

  Result<std::optional<Judged>> taken_over(int original, const std::string& ptx_hash, const Candidate& candidate) const {
    CUTEGEN_TRY(Verdict verdict, verdict_from_json(*history_.node(original).verdict));
    verdict.candidate_hash = candidate.hash();
    return std::optional(Judged{std::move(verdict), {ptx_hash, original}, "duplicate"});
  }

  Verdict not_judged(const Candidate& candidate, std::string why) const {
    Verdict verdict = unjudged_verdict(task(), candidate, std::move(why));
    if (config_.build_only) return verdict;
    verdict.device_kind = to_string(device_info_.kind);
    verdict.device_name = device_info_.name;
    return verdict;
  }

  Result<SearchResult> finish(const std::string& stopped, const std::optional<SearchResult>& stored) {
    SearchResult result;
    result.nodes = history_.size();
    result.stopped = stopped;
    if (stopped == "cancelled") {
      result.best = history_.best();
      CUTEGEN_CHECK(parts_.store.append_event("cancelled", Json{{"nodes", result.nodes}}));
      return result;
    }
    if (stored && stored->nodes == result.nodes) {
      result = *stored;
      result.stopped = stopped;
    } else {
      CUTEGEN_CHECK(time_best(result));
    }
    if (config_.build_only && unsupported_.empty()) result.why_none = "nothing was executed: there is no device";
    if (!result.best && result.why_none.empty()) result.why_none = unsupported_.empty() ? history_.why_none() : unsupported_;
    if (result.stopped == "cancelled") return result;
    CUTEGEN_CHECK(parts_.store.set_meta("result", to_json(result)));
    CUTEGEN_CHECK(parts_.store.append_event("stopped", Json{{"stopped", result.stopped}, {"nodes", result.nodes}}));
    return result;
  }

  // The best that also holds in the long evaluation.
  Result<void> time_best(SearchResult& result) {
    for (const int id : history_.ranking()) {
      if (cancelled()) {
        result.stopped = "cancelled";
        result.best = id;
        return {};
      }
      report(id, "final", nullptr);
      CUTEGEN_TRY(Verdict verdict, evaluate(history_.candidate(id), config_.final, config_.final_limit));
      if (verdict.verified() || verdict.incomplete) {  // incomplete: its exploring verdict stands
        result.best = id;
        result.why_none.clear();
        if (verdict.verified()) result.final_verdict = std::move(verdict);
        return {};
      }
      CUTEGEN_CHECK(parts_.store.append_event("final_rejected", Json{{"node", id}, {"why", verdict.why}}));
      result.why_none = "node " + std::to_string(id) + " failed its final evaluation: " + verdict.why;
    }
    return {};
  }

  void report(int id, const char* what, const Verdict* verdict) const {
    if (!progress_) return;
    const StoredNode& node = history_.node(id);
    const Proposal proposal{history_.candidate(id), node.parent, node.rationale};
    progress_(SearchProgress{id, history_.finished(), what, &proposal, verdict, history_.best(), elapsed_s()});
  }

  void record(const Error& error) const {
    const auto node = history_.unfinished();
    const auto kept = parts_.store.append_event("error", Json{{"code", to_string(error.code)},
                                                              {"message", error.message},
                                                              {"hint", error.hint},
                                                              {"detail", error.detail},
                                                              {"node", node ? Json(*node) : Json(nullptr)}});
    if (!kept.ok()) spdlog::error("{}; and the store cannot record it: {}", error.message, kept.error().message);
  }

  Parts parts_;
  RememberingToolchain toolchain_;
  Judge judge_;
  Evaluate evaluate_;
  const SearchConfig& config_;
  const std::function<void(const SearchProgress&)>& progress_;
  const std::function<bool()>& cancelled_;
  DeviceInfo device_info_;
  Analysis analysis_;
  History history_;
  Nanoseconds begin_{0}, waited_{0};
  double earlier_s_ = 0;
  std::string unsupported_;
};

}  // namespace

Json to_json(const SearchResult& result) {
  return Json{{"schema", kSearchResultSchema},
              {"best", result.best ? Json(*result.best) : Json(nullptr)},
              {"final_verdict", result.final_verdict ? to_json(*result.final_verdict) : Json(nullptr)},
              {"nodes", result.nodes},
              {"stopped", result.stopped},
              {"why_none", result.why_none}};
}

Result<SearchResult> search_result_from_json(const Json& j) {
  CUTEGEN_TRY(const int schema, json_get<int>(j, "schema"));
  if (schema != kSearchResultSchema)
    return Error{Errc::unsupported, "a result of schema " + std::to_string(schema), "use the version of cutegen that wrote it", ""};
  SearchResult result;
  CUTEGEN_TRY(result.nodes, json_get<int>(j, "nodes"));
  CUTEGEN_TRY(result.stopped, json_get<std::string>(j, "stopped"));
  CUTEGEN_TRY(result.why_none, json_get<std::string>(j, "why_none"));
  if (const int best = json_or(j, "best", -1); best >= 0) result.best = best;
  if (const auto verdict = j.find("final_verdict"); verdict != j.end() && verdict->is_object()) {
    CUTEGEN_TRY(result.final_verdict, verdict_from_json(*verdict));
  }
  return result;
}

Search::Search(Oracle& oracle, Toolchain& toolchain, Device& device, Proposer& proposer, Store& store, const Clock& clock,
               Evaluate evaluate)
    : oracle_(oracle),
      toolchain_(toolchain),
      device_(device),
      proposer_(proposer),
      store_(store),
      clock_(clock),
      evaluate_(std::move(evaluate)) {}

Result<SearchResult> Search::run(const SearchConfig& config, const std::function<void(const SearchProgress&)>& progress,
                                 const std::function<bool()>& cancelled) {
  return Loop({oracle_, device_, proposer_, store_, clock_}, toolchain_, evaluate_, config, progress, cancelled).run();
}

}  // namespace cutegen
