// One verdict, from what is known already or from a full evaluation.
#pragma once

#include <filesystem>
#include <string>

#include "candidate/candidate.h"
#include "cli/exit_code.h"
#include "cli/run_config.h"
#include "judge/verdict.h"

namespace cutegen::cli {

enum class Freshness { any, fresh, cached_only };

struct Evaluated {
  Verdict verdict;
  bool cached = false;
  std::string judged_utc;  // of a cached one
  Json device;             // docs/store.md, meta "device"; of a cached one its kind and name
  ExitCode exit_code() const { return verdict.verified() ? ExitCode::done : ExitCode::no_kernel; }
};
std::string to_text(const Evaluated& evaluated);
Json to_json(const Evaluated& evaluated);

Result<Candidate> read_candidate(const std::filesystem::path& file, const std::string& backend);
Result<Evaluated> evaluate(const RunConfig& config, const Candidate& candidate, Freshness freshness);

}  // namespace cutegen::cli
