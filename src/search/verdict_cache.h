// Verdicts by what they depend on, so that a candidate judged before costs a file read. One JSON file a key, written atomically, shared by
// every run and user of the cache directory.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "judge/judge.h"

namespace cutegen {

// Part of every key: raised when a change of the judge can change a verdict.
inline constexpr int kJudgeVersion = 2;

class VerdictCache {
 public:
  // `dir` is made by the first put().
  explicit VerdictCache(std::filesystem::path dir) : dir_(std::move(dir)) {}

  // Equal for evaluations with the same meaning: judge version, task, candidate, policy (its secret seed apart: any will do) and device.
  static std::string key(const Task& task, const Candidate& candidate, const JudgePolicy& policy, const DeviceInfo& device);

  struct Entry {
    Verdict verdict;
    std::string judged_utc;
  };
  // Nothing for an unknown key and for an entry that cannot be read.
  std::optional<Entry> find(const std::string& key) const;
  // Keeps the verdict, unless it says more of the moment than of the candidate (deadline, lost executor, full memory).
  Result<void> put(const std::string& key, const Verdict& verdict) const;

 private:
  std::filesystem::path path(const std::string& key) const { return dir_ / (key + ".json"); }
  std::filesystem::path dir_;
};

}  // namespace cutegen
