// Asynchronous operations that nobody has waited for when their CTA ends.
#include <fmt/format.h>

#include <map>
#include <set>
#include <unordered_map>

#include "vgpu/observe/checks/list.h"
#include "vgpu/observe/traits.h"

namespace cutegen::vgpu {
namespace {

constexpr CheckRecord kRecord{
    "unfinished-async",
    FaultKind::unfinished_async,
    Checks::checked,
    "a CTA ends while an asynchronous operation that it started is not known to be complete",
    "the operation goes on reading or writing shared memory that may belong to the next CTA by then, or its result is never used",
    "wait before the kernel ends: cp.async.wait_all, cp.async.bulk.wait_group, the mbarrier's phase, wgmma.wait_group",
};

class Unfinished : public Check {
 public:
  using Check::Check;
  void async_begin(const AsyncEvent& e) override { open_.insert_or_assign(e.id, Operation{&e.warp, e.inst.id, e.lane}); }
  void async_end(u64 id, const SyncObject& object) override {
    const auto op = open_.find(id);
    if (op == open_.end()) return;
    ended_[key(object)].push_back(op->second);
    open_.erase(op);
  }
  void acquire(const Warp&, u32, const SyncObject& object) override {
    if (object.kind != SyncObject::Kind::async_group && object.kind != SyncObject::Kind::mbarrier) return;
    const auto found = ended_.find(key(object));
    if (found == ended_.end()) return;
    for (const Operation& op : found->second) waited_.insert(op.warp);
    ended_.erase(found);
  }
  void cta_end(const Cta& cta) override {
    const auto ours = [&](const Operation& op) { return op.warp->cta == &cta; };
    for (auto& [object, ops] : ended_)
      for (const Operation& op : ops)
        if (ours(op)) report(op);
    std::erase_if(ended_, [&](const auto& e) { return ours(e.second.front()); });
    for (auto& [id, op] : open_)
      if (ours(op)) report(op);
    std::erase_if(open_, [&](const auto& o) { return ours(o.second); });
    std::erase_if(waited_, [&](const auto& w) { return w->cta == &cta; });
  }

 private:
  struct Operation {
    const Warp* warp;
    u32 pc, lane;
  };
  using Key = std::tuple<int, const Cta*, u64>;
  static Key key(const SyncObject& o) { return {static_cast<int>(o.kind), o.cta, o.id}; }

  void report(const Operation& op) {
    const std::string_view opcode = image_.pcs[op.pc].opcode;
    // Pipelines leave the copies of the tiles after the last one behind, which does no harm: their warp has waited for earlier ones.
    const bool small = opcode.starts_with("cp.async") && !opcode.starts_with("cp.async.bulk");
    if (small && waited_.count(op.warp) != 0) return;
    log_.add(*op.warp, op.pc,
             {&kRecord, fmt::format("{} has not been waited for at the end of its CTA", opcode.substr(0, 48)), op.lane, 0, {}});
  }
  std::unordered_map<u64, Operation> open_;      // not yet part of a group or barrier
  std::map<Key, std::vector<Operation>> ended_;  // by what they complete on
  std::set<const Warp*> waited_;                 // that have waited for anything
};

}  // namespace

CheckEntry unfinished_check() {
  return {{&kRecord}, [](const CheckContext& c) -> std::unique_ptr<Observer> {
            for (const PcInfo& pc : c.image.pcs)
              if (traits_of(pc.opcode).asynchronous) return std::make_unique<Unfinished>(c);
            return nullptr;
          }};
}

}  // namespace cutegen::vgpu
