#include "toolchain/build_record.h"

namespace cutegen {
namespace {

Diagnostic diagnostic_of(const Json& j) {
  Diagnostic d;
  d.severity = json_or<std::string>(j, "severity", "error");
  d.file = json_or<std::string>(j, "file", "");
  d.line = json_or(j, "line", 0);
  d.message = json_or<std::string>(j, "message", "");
  d.user_line = json_or<std::string>(j, "user_line", "");
  d.cute_frame = json_or<std::string>(j, "cute_frame", "");
  d.repeats = json_or(j, "repeats", 1);
  return d;
}

KernelResources kernel_of(const Json& j) {
  KernelResources k;
  k.name = json_or<std::string>(j, "name", "");
  k.registers = json_or(j, "registers", 0);
  k.smem_bytes = json_or(j, "smem_bytes", 0);
  k.stack_bytes = json_or(j, "stack_bytes", 0);
  k.spill_store_bytes = json_or(j, "spill_store_bytes", 0);
  k.spill_load_bytes = json_or(j, "spill_load_bytes", 0);
  k.barriers = json_or(j, "barriers", 0);
  return k;
}

template <class T, class Convert>
std::vector<T> list_of(const Json& j, const char* key, const Convert& convert) {
  std::vector<T> out;
  if (const auto it = j.find(key); it != j.end() && it->is_array())
    for (const Json& item : *it) out.push_back(convert(item));
  return out;
}

Result<BuildOutcome> failure_of(const CacheEntry& entry) {
  auto failure = std::make_shared<BuildFailure>();
  failure->stage = json_or<std::string>(entry.facts, "stage", "");
  failure->diagnostics = list_of<Diagnostic>(entry.facts, "diagnostics", diagnostic_of);
  failure->raw_log = entry.dir / kLogName;
  if (failure->stage.empty() || failure->diagnostics.empty())
    return Error{Errc::io, "the cached failure in " + entry.dir.string() + " is incomplete", "", ""};
  BuildOutcome outcome;
  outcome.failure = std::move(failure);
  return outcome;
}

}  // namespace

Json to_json(const Diagnostic& d) {
  return {{"severity", d.severity},     {"file", d.file},      {"line", d.line}, {"message", d.message}, {"user_line", d.user_line},
          {"cute_frame", d.cute_frame}, {"repeats", d.repeats}};
}

Json to_json(const KernelResources& k) {
  return {{"name", k.name},
          {"registers", k.registers},
          {"smem_bytes", k.smem_bytes},
          {"stack_bytes", k.stack_bytes},
          {"spill_store_bytes", k.spill_store_bytes},
          {"spill_load_bytes", k.spill_load_bytes},
          {"barriers", k.barriers}};
}

Json build_facts(const Build& build) {
  Json kernels = Json::array();
  for (const KernelResources& k : build.kernels) kernels.push_back(to_json(k));
  Json advisories = Json::array();
  for (const Diagnostic& d : build.advisories) advisories.push_back(to_json(d));
  return {{"ok", true},
          {"arch", build.arch},
          {"kernels", kernels},
          {"advisories", advisories},
          {"ptx_hash", build.ptx_hash},
          {"seconds", build.seconds}};
}

Json failure_facts(const BuildFailure& failure) {
  Json diagnostics = Json::array();
  for (const Diagnostic& d : failure.diagnostics) diagnostics.push_back(to_json(d));
  return {{"ok", false}, {"stage", failure.stage}, {"diagnostics", diagnostics}};
}

Result<BuildOutcome> outcome_of(const CacheEntry& entry, const std::string& key, bool cached) {
  if (!json_or(entry.facts, "ok", false)) return failure_of(entry);
  const auto ptx = entry.files.find(kPtxName);
  if (ptx == entry.files.end() || !entry.files.contains(kCubinName))
    return Error{Errc::io, "the cached build in " + entry.dir.string() + " is incomplete", "", ""};
  auto build = std::make_shared<Build>();
  CUTEGEN_TRY(build->plan, plan_from_ptx(ptx->second));
  build->key = key;
  build->ptx = entry.dir / kPtxName;
  build->cubin = entry.dir / kCubinName;
  build->arch = json_or<std::string>(entry.facts, "arch", "");
  build->kernels = list_of<KernelResources>(entry.facts, "kernels", kernel_of);
  build->advisories = list_of<Diagnostic>(entry.facts, "advisories", diagnostic_of);
  build->ptx_hash = json_or<std::string>(entry.facts, "ptx_hash", "");
  build->seconds = json_or(entry.facts, "seconds", 0.0);
  build->cached = cached;
  BuildOutcome outcome;
  outcome.build = std::move(build);
  return outcome;
}

}  // namespace cutegen
