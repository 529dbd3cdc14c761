// Writes of the generic proxy that the asynchronous proxy reads or overwrites without a fence between.
#include <fmt/format.h>

#include "vgpu/observe/checks/list.h"

namespace cutegen::vgpu {
namespace {

constexpr CheckRecord kRecord{
    "missing-proxy-fence",
    FaultKind::missing_fence,
    Checks::full,
    "a tensor or bulk copy or wgmma reads or overwrites memory that ordinary stores wrote, with no fence.proxy.async between",
    "ordinary accesses and asynchronous ones reach memory by different ways (proxies); a barrier alone does not make one's writes visible "
    "to "
    "the other",
    "let the threads that wrote execute fence.proxy.async (cute::tma_store_fence(), cutlass::arch::fence_view_async_shared()) before the "
    "barrier",
};

std::string describe(const Pair& p) {
  return fmt::format("{} {} {}, written by {} at {} with no fence.proxy.async since", p.later.opcode.substr(0, 40),
                     p.later.writes ? "overwrites" : "reads", p.place, p.earlier.who, p.earlier.source);
}

}  // namespace

PairCheck proxy_fence_check() {
  return {&kRecord, [](const Pair& p) { return p.ordered; }, describe};
}

}  // namespace cutegen::vgpu
