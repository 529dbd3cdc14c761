#include "cli/evaluate.h"

#include <utility>

#include "base/fs.h"
#include "cli/console.h"
#include "cli/eval_cache.h"
#include "cli/session.h"
#include "report/json.h"
#include "report/terminal.h"
#include "search/build_only.h"

namespace cutegen::cli {
namespace {

constexpr double kLimitSeconds = 600;

Evaluated known(VerdictCache::Entry entry) {
  Json device{{"kind", entry.verdict.device_kind}, {"name", entry.verdict.device_name}};
  return Evaluated{std::move(entry.verdict), true, std::move(entry.judged_utc), std::move(device)};
}

Result<Verdict> judge(Session& session, const Candidate& candidate, const JudgePolicy& policy) {
  const Deadline deadline = Deadline::in(system_clock(), Seconds(kLimitSeconds));
  if (session.build_only) return build_only(*session.toolchain, session.oracle->task(), candidate, deadline);
  return Judge(*session.oracle, *session.toolchain, *session.device).evaluate(candidate, policy, deadline);
}

}  // namespace

Result<Candidate> read_candidate(const std::filesystem::path& file, const std::string& backend) {
  CUTEGEN_CHECK(check_file(file, "candidate file"));
  Candidate candidate;
  CUTEGEN_TRY(candidate.source, read_file(file));
  candidate.backend = backend == "ptx" ? Backend::ptx : backend == "cuda" ? Backend::cuda : Backend::cute;
  candidate.origin = "file:" + file.string();
  return candidate;
}

std::string to_text(const Evaluated& evaluated) {
  const Verdict& verdict = evaluated.verdict;
  const bool only_built = verdict.device_kind == "none" && verdict.reached == Stage::built;
  std::string text = only_built ? "verified: no (no device)\n" + verdict.why : verdict_summary(verdict, "");
  if (evaluated.cached) text += "\ncached: judged " + evaluated.judged_utc + "; --fresh judges again";
  return text;
}

Json to_json(const Evaluated& evaluated) {
  Json out = verdict_document(evaluated.verdict, "");
  out["cached"] = evaluated.cached;
  out["judged_utc"] = evaluated.judged_utc;
  out["device"] = evaluated.device;
  out["exit"] = static_cast<int>(evaluated.exit_code());
  return out;
}

Result<Evaluated> evaluate(const RunConfig& config, const Candidate& candidate, Freshness freshness) {
  CUTEGEN_CHECK(check_file(config.task, "task file"));
  const JudgePolicy policy = config.explore_policy();
  const EvalCache cache(config, candidate);
  if (freshness != Freshness::fresh) {
    if (auto entry = cache.find()) return known(std::move(*entry));
    if (freshness == Freshness::cached_only)
      return Error{Errc::compile_failed, "no verdict on this candidate is known here", "leave out --cached", ""};
  }
  CUTEGEN_TRY(Session session, open_session(config, {}));
  if (session.build_only) note("no device: the candidate is built and checked, not executed (" + session.no_device + ")");
  const std::string key = VerdictCache::key(session.oracle->task(), candidate, policy, session.device->info());
  if (freshness == Freshness::any && !session.build_only) {
    if (auto entry = cache.verdicts().find(key)) {
      CUTEGEN_CHECK(cache.remember(key));
      return known(std::move(*entry));
    }
  }
  CUTEGEN_TRY(Verdict verdict, judge(session, candidate, policy));
  if (!session.build_only) {
    if (auto kept = cache.verdicts().put(key, verdict); !kept.ok()) note("warning: verdict not cached: " + kept.error().message);
    if (auto kept = cache.remember(key); !kept.ok()) note("warning: verdict not cached: " + kept.error().message);
  }
  return Evaluated{std::move(verdict), false, "", session.device_json()};
}

}  // namespace cutegen::cli
