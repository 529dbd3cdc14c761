#include "vgpu/observe/check.h"

#include <algorithm>

namespace cutegen::vgpu {

void FindingLog::add(const Warp& warp, u32 pc, Report report) {
  const auto& cta = static_cast<const CtaState&>(*warp.cta);
  const Dim3& g = grid_.grid;
  const u64 rank = ((u64{cta.id.z} * g.y + cta.id.y) * g.x + cta.id.x) * 1024 + u64{warp.index} * kLanes + report.lane;
  const Key name = key(*report.record, pc, report.other_pc);
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end() && entries_.size() >= kMaxFindings) return;
  Entry& entry = found == entries_.end() ? entries_[name] : found->second;
  const uint64_t count = found == entries_.end() ? 1 : entry.finding.count + 1;
  if (count == 1 || rank < entry.rank) {
    entry.rank = rank;
    static_cast<Fault&>(entry.finding) =
        describe_at(image_, {grid_.block, cta.id, warp.index, pc},
                    {report.record->kind, std::move(report.what), report.lane, report.address, std::move(report.buffer), report.distance});
    entry.finding.check = report.record->name;
    if (report.other_pc >= 0) entry.finding.related = source_of(image_, static_cast<u32>(report.other_pc));
  }
  entry.finding.count = count;
}

FindingLog::Key FindingLog::key(const CheckRecord& record, u32 pc, s32 other_pc) const {
  return {record.name, source_of(image_, pc) + std::string(image_.module->line_text(image_.pcs[pc].ptx_line)), other_pc};
}

void FindingLog::more(const CheckRecord& record, u32 pc, s32 other_pc, u64 count) {
  const Key name = key(record, pc, other_pc);
  const std::lock_guard lock(mutex_);
  if (const auto found = entries_.find(name); found != entries_.end()) found->second.finding.count += count;
}

std::vector<Finding> FindingLog::take() {
  std::vector<Finding> findings;
  for (auto& [key, entry] : entries_) findings.push_back(std::move(entry.finding));
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    return std::tie(a.file, a.line, a.ptx_line) < std::tie(b.file, b.line, b.ptx_line);
  });
  entries_.clear();
  return findings;
}

const CheckRecord* find_check(const std::string& name) {
  for (const CheckEntry& e : all_checks())
    for (const CheckRecord* r : e.records)
      if (r->name == name) return r;
  return nullptr;
}

std::vector<std::unique_ptr<Observer>> make_checks(const CheckContext& context) {
  std::vector<std::unique_ptr<Observer>> checks;
  for (const CheckEntry& e : all_checks()) {
    const bool wanted = std::any_of(e.records.begin(), e.records.end(), [&](const CheckRecord* r) { return r->least <= context.mode; });
    if (!wanted) continue;
    if (auto check = e.make(context)) checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace cutegen::vgpu
