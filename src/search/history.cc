#include "search/history.h"

#include <algorithm>
#include <limits>

namespace cutegen {
namespace {

constexpr Backend kBackends[] = {Backend::cute, Backend::cuda, Backend::ptx};
constexpr Stage kStages[] = {Stage::none, Stage::built, Stage::ran, Stage::accurate, Stage::honest, Stage::timed};

Attempt attempt_from(const StoredNode& node, const Candidate& candidate) {
  Attempt attempt;
  attempt.id = node.id;
  attempt.parent = node.parent;
  attempt.candidate = candidate;
  attempt.verdict = *node.verdict;
  attempt.verified = json_or(attempt.verdict, "verified", false);
  attempt.why = json_or<std::string>(attempt.verdict, "why", "");
  if (const auto timing = attempt.verdict.find("timing"); timing != attempt.verdict.end() && timing->is_object()) {
    const double ms = json_or(*timing, "candidate_ms", 0.0);
    if (ms > 0) attempt.ms = ms;
  }
  if (node.duplicate_of) {
    const std::string original = "the same kernel as node " + std::to_string(*node.duplicate_of);
    attempt.why = attempt.why.empty() ? original : original + ": " + attempt.why;
  }
  return attempt;
}

size_t stage_number(const Attempt& attempt) {
  const auto name = json_or<std::string>(attempt.verdict, "reached", "none");
  const auto* at = std::find_if(std::begin(kStages), std::end(kStages), [&](Stage stage) { return name == to_string(stage); });
  return at == std::end(kStages) ? 0 : static_cast<size_t>(at - std::begin(kStages));
}

}  // namespace

StoredNode stored_node(int id, const Proposal& proposal, std::string source_object) {
  StoredNode node;
  node.id = id;
  node.parent = proposal.parent >= 0 && proposal.parent < id ? proposal.parent : -1;
  node.origin = proposal.candidate.origin;
  node.rationale = proposal.rationale;
  node.candidate_hash = proposal.candidate.hash();
  node.source_object = std::move(source_object);
  node.candidate = Json{{"backend", to_string(proposal.candidate.backend)}, {"config", proposal.candidate.config}};
  return node;
}

Result<Candidate> stored_candidate(const StoredNode& node, const Store& store) {
  Candidate candidate;
  CUTEGEN_TRY(candidate.source, store.object(node.source_object));
  candidate.origin = node.origin;
  candidate.config = node.candidate.value("config", Json::object());
  const auto name = json_or<std::string>(node.candidate, "backend", "");
  const auto* backend = std::find_if(std::begin(kBackends), std::end(kBackends), [&](Backend b) { return name == to_string(b); });
  if (backend == std::end(kBackends))
    return Error{Errc::invalid_input, "node " + std::to_string(node.id) + " has the unknown backend '" + name + "'", "", ""};
  candidate.backend = *backend;
  return candidate;
}

Result<History> History::load(const Store& store) {
  History history;
  CUTEGEN_TRY(std::vector<StoredNode> nodes, store.nodes());
  for (StoredNode& node : nodes) {
    const int id = history.size();
    if (node.id != id || (!node.verdict && id + 1 != static_cast<int>(nodes.size())))
      return Error{Errc::invalid_input, store.dir().string() + ": node " + std::to_string(id) + " is missing or was left without a verdict",
                   "", ""};
    CUTEGEN_TRY(Candidate candidate, stored_candidate(node, store));
    const std::optional<Json> verdict = std::exchange(node.verdict, std::nullopt);
    const NodeNotes notes{node.ptx_hash, node.duplicate_of};
    history.add(std::move(node), std::move(candidate));
    if (verdict) history.finish(id, *verdict, notes);
  }
  return history;
}

std::optional<int> History::unfinished() const {
  if (nodes_.empty() || nodes_.back().verdict) return std::nullopt;
  return nodes_.back().id;
}

void History::add(StoredNode node, Candidate candidate) {
  nodes_.push_back(std::move(node));
  candidates_.push_back(std::move(candidate));
}

void History::finish(int id, Json verdict, const NodeNotes& notes) {
  StoredNode& node = nodes_.at(static_cast<size_t>(id));
  node.verdict = std::move(verdict);
  node.ptx_hash = notes.ptx_hash;
  node.duplicate_of = notes.duplicate_of;
  attempts_.push_back(attempt_from(node, candidate(id)));
  by_source_.emplace(node.candidate_hash, id);
  if (!node.ptx_hash.empty()) by_ptx_.emplace(node.ptx_hash, id);
}

std::optional<int> History::find(const std::map<std::string, int>& index, const std::string& key) {
  const auto at = index.find(key);
  return at == index.end() ? std::nullopt : std::optional<int>(at->second);
}

std::vector<int> History::ranking() const {
  std::vector<int> ids;
  for (const Attempt& attempt : attempts_) {
    if (attempt.verified && !node(attempt.id).duplicate_of) ids.push_back(attempt.id);
  }
  const auto ms = [&](int id) { return attempts_[static_cast<size_t>(id)].ms.value_or(std::numeric_limits<double>::infinity()); };
  std::stable_sort(ids.begin(), ids.end(), [&](int a, int b) { return ms(a) < ms(b); });
  return ids;
}

std::optional<int> History::best() const {
  const std::vector<int> ids = ranking();
  return ids.empty() ? std::nullopt : std::optional<int>(ids.front());
}

std::string History::why_none() const {
  if (attempts_.empty()) return "no candidate was judged";
  const auto furthest = std::max_element(attempts_.begin(), attempts_.end(),
                                         [](const Attempt& a, const Attempt& b) { return stage_number(a) < stage_number(b); });
  return "the furthest of " + std::to_string(attempts_.size()) + " candidates (node " + std::to_string(furthest->id) +
         ") fell short: " + furthest->why;
}

}  // namespace cutegen
