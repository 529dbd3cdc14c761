#include "device/cuda/nvml.h"

#include <dlfcn.h>

namespace cutegen::cuda {
namespace {

using NvmlDevice = struct nvmlDevice_st*;

// NVML API reference: nvmlClockType_t, nvmlTemperatureSensors_t.
constexpr int kClockSm = 1;
constexpr int kClockMemory = 2;
constexpr int kSensorGpu = 0;

class NoNvml : public Nvml {
 public:
  ClockReading read() const override { return {}; }
  std::string driver_version() const override { return {}; }
};

class LoadedNvml : public Nvml {
 public:
  LoadedNvml(void* library, const std::string& uuid) : library_(library) {
    const auto init = symbol<int()>("nvmlInit_v2");
    const auto by_uuid = symbol<int(const char*, NvmlDevice*)>("nvmlDeviceGetHandleByUUID");
    started_ = init != nullptr && init() == 0;
    if (!started_ || by_uuid == nullptr || by_uuid(uuid.c_str(), &device_) != 0) device_ = nullptr;
    clock_ = symbol<int(NvmlDevice, int, unsigned*)>("nvmlDeviceGetClockInfo");
    temperature_ = symbol<int(NvmlDevice, int, unsigned*)>("nvmlDeviceGetTemperature");
    power_ = symbol<int(NvmlDevice, unsigned*)>("nvmlDeviceGetPowerUsage");
    reasons_ = symbol<int(NvmlDevice, unsigned long long*)>("nvmlDeviceGetCurrentClocksEventReasons");
    if (reasons_ == nullptr) reasons_ = symbol<int(NvmlDevice, unsigned long long*)>("nvmlDeviceGetCurrentClocksThrottleReasons");
  }

  ClockReading read() const override {
    ClockReading reading;
    if (device_ == nullptr) return reading;
    unsigned value = 0;
    if (clock_ != nullptr && clock_(device_, kClockSm, &value) == 0) reading.sm_mhz = value;
    if (clock_ != nullptr && clock_(device_, kClockMemory, &value) == 0) reading.memory_mhz = value;
    if (temperature_ != nullptr && temperature_(device_, kSensorGpu, &value) == 0) reading.temperature_c = value;
    if (power_ != nullptr && power_(device_, &value) == 0) reading.power_w = value / 1000.0;  // NVML gives milliwatts
    unsigned long long mask = 0;
    if (reasons_ != nullptr && reasons_(device_, &mask) == 0) reading.throttle_reasons = mask;
    return reading;
  }

  std::string driver_version() const override {
    const auto get = symbol<int(char*, unsigned)>("nvmlSystemGetDriverVersion");
    char text[96] = {};
    return started_ && get != nullptr && get(text, sizeof text - 1) == 0 ? text : "";
  }

 private:
  template <class Signature>
  Signature* symbol(const char* name) const {
    return reinterpret_cast<Signature*>(::dlsym(library_, name));
  }

  void* library_;
  bool started_ = false;
  NvmlDevice device_ = nullptr;
  int (*clock_)(NvmlDevice, int, unsigned*) = nullptr;
  int (*temperature_)(NvmlDevice, int, unsigned*) = nullptr;
  int (*power_)(NvmlDevice, unsigned*) = nullptr;
  int (*reasons_)(NvmlDevice, unsigned long long*) = nullptr;
};

}  // namespace

std::unique_ptr<Nvml> Nvml::open(const std::string& uuid, const std::string& library) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return std::make_unique<NoNvml>();
  return std::make_unique<LoadedNvml>(handle, uuid);
}

}  // namespace cutegen::cuda
