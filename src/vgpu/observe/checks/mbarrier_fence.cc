// mbarrier.init that the asynchronous proxy has not been told of.
#include <fmt/format.h>

#include "vgpu/observe/checks/list.h"

namespace cutegen::vgpu {
namespace {

constexpr CheckRecord kRecord{
    "mbarrier-init-fence",
    FaultKind::missing_fence,
    Checks::full,
    "a tensor or bulk copy completes on an mbarrier whose initialisation no fence has made visible to the asynchronous proxy",
    "the copy may signal the memory before the initialisation gets there; the wait then never ends",
    "after mbarrier.init, before the barrier: fence.mbarrier_init.release.cluster (cutlass::arch::fence_barrier_init()), "
    "fence.proxy.async, or a "
    "cluster barrier",
};

}  // namespace

PairCheck mbarrier_fence_check() {
  return {&kRecord, [](const Pair& p) { return p.ordered && p.earlier.opcode.starts_with("mbarrier.init"); },
          [](const Pair& p) {
            return fmt::format("{} completes on the mbarrier initialised by {} at {}, with no fence since", p.later.opcode.substr(0, 48),
                               p.earlier.who, p.earlier.source);
          }};
}

}  // namespace cutegen::vgpu
