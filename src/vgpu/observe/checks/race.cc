// Data races: accesses to the same bytes by different threads, at least one of them a write, that no barrier, fence or atomic orders.
#include <fmt/format.h>

#include "vgpu/observe/checks/list.h"

namespace cutegen::vgpu {
namespace {

constexpr CheckRecord kRecord{
    "race",
    FaultKind::race,
    Checks::full,
    "two threads access the same bytes of shared or global memory, one of them writes, and nothing orders the two",
    "which of them comes first differs from run to run; on the hardware the compiler may also keep either in a register",
    "put a barrier between them: __syncwarp() within a warp, __syncthreads() within a CTA; between CTAs __threadfence() and an atomic, or "
    "two "
    "kernels",
};

const char* verb(const PairSide& s) { return s.writes ? "write" : "read"; }

std::string describe(const Pair& p) {
  constexpr const char* kReach[] = {"the same thread", "the same warp (there is no __syncwarp() between them)",
                                    "the same CTA (there is no barrier between them)", "another CTA"};
  return fmt::format("{} of {} races with the {} by {} at {}, of {}", verb(p.later), p.place, verb(p.earlier), p.earlier.who,
                     p.earlier.source, kReach[static_cast<int>(p.reach)]);
}

}  // namespace

PairCheck race_check() {
  return {&kRecord, [](const Pair& p) { return !p.ordered; }, describe};
}

}  // namespace cutegen::vgpu
