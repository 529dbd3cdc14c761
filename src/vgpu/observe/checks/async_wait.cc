// Accesses to what an asynchronous operation still reads or writes.
#include <fmt/format.h>

#include "vgpu/observe/checks/list.h"

namespace cutegen::vgpu {
namespace {

constexpr CheckRecord kRecord{
    "missing-wait",
    FaultKind::missing_wait,
    Checks::full,
    "the destination of cp.async, a bulk or tensor copy or wgmma is used, or its source overwritten, before the operation was waited for",
    "the operation runs on beside the thread that started it: its data may not be there yet, or it may read what was written later",
    "wait first: cp.async.wait_group, an mbarrier's phase, cp.async.bulk.wait_group or wgmma.wait_group; then a barrier if other threads "
    "started it",
};

std::string describe(const Pair& p) {
  const auto name = [](const PairSide& s) { return s.opcode.substr(0, 40); };
  if (p.later.info.asynchronous && !p.earlier.info.asynchronous)
    return fmt::format("{} {} {}, while the {} by {} at {} is not ordered before it", name(p.later), p.later.writes ? "writes" : "reads",
                       p.place, p.earlier.writes ? "write" : "read", p.earlier.who, p.earlier.source);
  return fmt::format("{} of {}, which the {} started by {} at {} {}, and nobody has waited for it", p.later.writes ? "write" : "read",
                     p.place, name(p.earlier), p.earlier.who, p.earlier.source, p.earlier.writes ? "writes" : "reads");
}

}  // namespace

PairCheck async_wait_check() {
  return {&kRecord, [](const Pair& p) { return !p.ordered && p.earlier.info.asynchronous; }, describe};
}

}  // namespace cutegen::vgpu
