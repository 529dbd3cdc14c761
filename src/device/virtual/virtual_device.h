// The virtual GPU (src/vgpu/) as a Device, in this process: candidates run on the host's cores, with every access checked.
//
// Inputs and parameters are mapped where they lie, read-only, so a write to one is found at once; outputs are shared-memory objects that
// only the virtual GPU writes. Times are predicted, never measured.
#pragma once

#include <memory>

#include "device/device.h"

namespace cutegen {

enum class DeviceChecks { fast, checked, full };  // vgpu::Checks

struct VirtualDeviceConfig {
  int threads = 0;  // host threads; 0: all
  DeviceChecks checks = DeviceChecks::checked;
};

// Always succeeds on a machine with POSIX shared memory.
Result<std::unique_ptr<Device>> open_virtual_device(const VirtualDeviceConfig& config = {});

}  // namespace cutegen
