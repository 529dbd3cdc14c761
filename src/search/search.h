// The loop propose → build → run → judge → store, with budgets, resumable at any moment.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "judge/judge.h"
#include "propose/proposer.h"
#include "store/store.h"

namespace cutegen {

struct Budget {
  Seconds wall{60};     // of this run in total, earlier sessions of a resumed run counted in
  int candidates = 64;
};

struct SearchProgress {
  int node = 0;
  int finished = 0;
  std::string what;                   // "proposed", "verdict", "duplicate", "final"
  const Proposal* proposal = nullptr;
  const Verdict* verdict = nullptr;
  std::optional<int> best;            // node id
  double elapsed_s = 0;
};

struct SearchResult {
  std::optional<int> best;            // fastest verified node
  std::optional<Verdict> final_verdict;  // of the best, timed at length against every baseline
  int nodes = 0;
  std::string stopped;                // "proposer_done", "budget_wall", "budget_candidates", "cancelled"
  std::string why_none;               // when there is no verified node
};

struct SearchConfig {
  Budget budget;
  JudgePolicy explore;                // per candidate: short timing against eager
  JudgePolicy final;                  // of the best: every baseline, long timing
};

class Search {
 public:
  Search(Oracle& oracle, Toolchain& toolchain, Device& device, Proposer& proposer, Store& store, const Clock& clock = system_clock());
  // Continues whatever the store already holds. `progress` may be empty; `cancelled` is polled between steps.
  Result<SearchResult> run(const SearchConfig& config, const std::function<void(const SearchProgress&)>& progress, const std::function<bool()>& cancelled);

 private:
  Oracle& oracle_;
  Toolchain& toolchain_;
  Device& device_;
  Proposer& proposer_;
  Store& store_;
  const Clock& clock_;
};

}  // namespace cutegen
