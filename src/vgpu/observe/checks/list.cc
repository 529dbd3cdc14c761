#include "vgpu/observe/checks/list.h"

namespace cutegen::vgpu {

const std::vector<CheckEntry>& all_checks() {
  static const std::vector<CheckEntry> checks = {
      uninitialised_check(),
  };
  return checks;
}

}  // namespace cutegen::vgpu
