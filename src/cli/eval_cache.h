// The quick way to a verdict that is already known: from the text of task and candidate to the verdict's key, without starting Python or
// opening the GPU. Only where the text is all that matters: a task that imports files of its own goes the long way.
#pragma once

#include <optional>
#include <string>

#include "candidate/candidate.h"
#include "cli/run_config.h"
#include "search/verdict_cache.h"

namespace cutegen::cli {

class EvalCache {
 public:
  EvalCache(const RunConfig& config, const Candidate& candidate);
  std::optional<VerdictCache::Entry> find() const;
  // After a full evaluation: `key` is the verdict's in the cache.
  Result<void> remember(const std::string& key) const;
  const VerdictCache& verdicts() const { return verdicts_; }

 private:
  VerdictCache verdicts_;
  std::filesystem::path alias_;  // empty: the long way only
};

// Whether a Python source imports a module that lies beside it or on $PYTHONPATH, or anything relative.
bool imports_own_files(const std::string& source, const std::filesystem::path& folder);

}  // namespace cutegen::cli
