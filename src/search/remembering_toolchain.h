// A toolchain that remembers its last outcome, failures included: the search builds a candidate to learn its PTX hash, then the judge asks
// for the same build.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "toolchain/toolchain.h"

namespace cutegen {

class RememberingToolchain final : public Toolchain {
 public:
  explicit RememberingToolchain(Toolchain& inner) : inner_(inner) {}  // lives longer

  Result<BuildOutcome> build(const Task& task, const Candidate& candidate, Deadline deadline) override {
    std::string key = task.hash() + candidate.hash();
    if (last_ && last_->first == key) return last_->second;
    CUTEGEN_TRY(BuildOutcome outcome, inner_.build(task, candidate, deadline));
    last_.emplace(std::move(key), outcome);
    return outcome;
  }
  std::string version() const override { return inner_.version(); }

 private:
  Toolchain& inner_;
  std::optional<std::pair<std::string, BuildOutcome>> last_;
};

}  // namespace cutegen
