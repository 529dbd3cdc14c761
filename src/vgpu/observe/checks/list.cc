#include "vgpu/observe/checks/list.h"

#include "vgpu/observe/order/ordering.h"

namespace cutegen::vgpu {
namespace {

// A pair belongs to the first that claims it.
const std::vector<PairCheck>& pair_checks() {
  static const std::vector<PairCheck> checks = {
      async_wait_check(),
      mbarrier_fence_check(),
      proxy_fence_check(),
      race_check(),
  };
  return checks;
}

CheckEntry ordering() {
  CheckEntry entry;
  for (const PairCheck& c : pair_checks()) entry.records.push_back(c.record);
  entry.make = [](const CheckContext& c) -> std::unique_ptr<Observer> { return std::make_unique<Ordering>(c, pair_checks()); };
  return entry;
}

}  // namespace

const std::vector<CheckEntry>& all_checks() {
  static const std::vector<CheckEntry> checks = {
      uninitialised_check(), registers_check(), mbarrier_check(), unfinished_check(), wgmma_registers_check(), ordering(),
  };
  return checks;
}

}  // namespace cutegen::vgpu
