// Clocks, temperature, power and throttle reasons, from libnvidia-ml.so.1 where it exists. Everything here is optional evidence.
#pragma once

#include <memory>
#include <string>

#include "device/device.h"

namespace cutegen::cuda {

class Nvml {
 public:
  virtual ~Nvml() = default;
  // Zeros for what cannot be read.
  virtual ClockReading read() const = 0;
  virtual std::string driver_version() const = 0;  // "580.159.04", or empty

  // For the GPU with this UUID ("GPU-..."). Never null: without NVML every reading is zero.
  static std::unique_ptr<Nvml> open(const std::string& uuid, const std::string& library = "libnvidia-ml.so.1");
};

}  // namespace cutegen::cuda
