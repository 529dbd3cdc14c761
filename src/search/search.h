// The loop propose → build → run → judge → store, with budgets, resumable at any moment.
//
// Everything that the loop decides follows from the store, so a run that was killed goes on with the proposal that it would have made:
//   - a node is stored when it is proposed; one without a verdict is judged again, before anything else;
//   - a candidate whose source, or whose PTX, an earlier node had is given that node's verdict, without device time;
//   - the best is the verified node with the smallest median, the earlier one of equals;
//   - at the end the best is timed at length against every baseline; one that then fails is passed over for the next best.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "judge/judge.h"
#include "propose/proposer.h"
#include "search/verdict_cache.h"
#include "store/store.h"

namespace cutegen {

struct Budget {
  Seconds wall{60};     // of this run in total, earlier sessions of a resumed run counted in; no candidate starts after it
  int candidates = 64;  // nodes of this run in total
};

struct SearchProgress {
  int node = 0;
  int finished = 0;                    // nodes with a verdict
  std::string what;                    // "proposed", "verdict", "duplicate", "cached", "final" (about to be timed at length)
  const Proposal* proposal = nullptr;  // set unless "final"; both pointers live for the call only
  const Verdict* verdict = nullptr;    // set for "verdict", "duplicate" and "cached"
  std::optional<int> best;             // node id
  double elapsed_s = 0;                // of the wall budget
};

struct SearchResult {
  std::optional<int> best;               // fastest verified node
  std::optional<Verdict> final_verdict;  // of the best, timed at length against every baseline
  int nodes = 0;
  std::string stopped;   // "proposer_done", "proposer_unsupported", "budget_wall", "budget_candidates", "cancelled"
  std::string why_none;  // when there is no verified node
};

inline constexpr int kSearchResultSchema = 1;
Json to_json(const SearchResult& result);  // docs/store.md
Result<SearchResult> search_result_from_json(const Json& j);

struct SearchConfig {
  Budget budget;
  JudgePolicy explore;           // per candidate: short timing against eager
  JudgePolicy final;             // of the best: every baseline, long timing
  Seconds candidate_limit{180};  // for one candidate, build included
  Seconds final_limit{600};
  bool build_only = false;              // no device: candidates are built and checked, never executed, never verified
  const VerdictCache* cache = nullptr;  // verdicts of earlier runs; not owned
  // Called before a candidate is executed; the lease, and the device's memory, are let go of when it has been judged. Waiting costs the run
  // nothing of its budget.
  // Empty: the device is this run's anyway.
  std::function<Result<std::unique_ptr<Lease>>()> hold;
};

// Judges one candidate: Judge::evaluate, or what tests put in its place.
using Evaluate = std::function<Result<Verdict>(const Candidate&, const JudgePolicy&, Deadline)>;

class Search {
 public:
  // All of them live longer than the search. `evaluate` is for tests of the loop itself; empty: the judge.
  Search(Oracle& oracle, Toolchain& toolchain, Device& device, Proposer& proposer, Store& store, const Clock& clock = system_clock(),
         Evaluate evaluate = {});
  // Continues whatever the store already holds. `progress` may be empty; `cancelled` is polled between steps (and may be empty): the
  // candidate in flight is dropped. A failed candidate never stops a run; an Error of device, oracle, toolchain, proposer or store does,
  // with everything kept and the error among the store's events.
  Result<SearchResult> run(const SearchConfig& config, const std::function<void(const SearchProgress&)>& progress,
                           const std::function<bool()>& cancelled);

 private:
  Oracle& oracle_;
  Toolchain& toolchain_;
  Device& device_;
  Proposer& proposer_;
  Store& store_;
  const Clock& clock_;
  Evaluate evaluate_;
};

}  // namespace cutegen
