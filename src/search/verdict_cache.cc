#include "search/verdict_cache.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/hash.h"

namespace cutegen {
namespace {

constexpr int kEntrySchema = 1;

bool of_the_moment(const Verdict& verdict) {
  switch (verdict.outcome.kind) {
    case OutcomeKind::timeout:
    case OutcomeKind::out_of_memory:
    case OutcomeKind::executor_lost: return true;
    default: return verdict.incomplete;
  }
}

}  // namespace

std::string VerdictCache::key(const Task& task, const Candidate& candidate, const JudgePolicy& policy, const DeviceInfo& device) {
  JudgePolicy any_seed = policy;
  any_seed.secret_seed = 0;
  return Hasher().add("verdict cache").add(kJudgeVersion).add(verdict_key(task, candidate, any_seed, device)).hex();
}

std::optional<VerdictCache::Entry> VerdictCache::find(const std::string& key) const {
  const auto j = read_json_file(path(key));
  if (!j.ok() || json_or(*j, "schema", 0) != kEntrySchema || !j->contains("verdict")) return std::nullopt;
  auto verdict = verdict_from_json((*j)["verdict"]);
  if (!verdict.ok()) return std::nullopt;
  return Entry{std::move(*verdict), json_or<std::string>(*j, "judged_utc", "")};
}

Result<void> VerdictCache::put(const std::string& key, const Verdict& verdict) const {
  if (of_the_moment(verdict)) return {};
  const Json entry{{"schema", kEntrySchema}, {"judged_utc", system_clock().utc_iso8601()}, {"verdict", to_json(verdict)}};
  return write_file_atomic(path(key), entry.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace cutegen
