// A candidate under the virtual GPU's full checks.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "candidate/candidate.h"
#include "cli/exit_code.h"
#include "device/device.h"

namespace cutegen::cli {

struct Sanitized {
  std::vector<DeviceFinding> findings;  // a fault that ended the run first
  std::string build_failure;            // empty when it was built
  int runs = 0;
  double seconds = 0;
  bool clean() const { return findings.empty() && build_failure.empty(); }
};
std::string to_text(const Sanitized& sanitized, const Candidate& candidate);  // with excerpts of the source
Json to_json(const Sanitized& sanitized);

// Builds `candidate` for `task` and executes it once on inputs as the task gives them and once on random ones of both signs, with random
// parameters.
Result<Sanitized> sanitize(const std::filesystem::path& task, const Candidate& candidate, uint64_t seed);

}  // namespace cutegen::cli
