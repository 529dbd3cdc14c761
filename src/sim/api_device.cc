// CUDA Runtime API 6.1 (device), 6.3 (errors), 6.27 (versions), 6.33 (driver entry points), 6.35 (profiler).
#include <fmt/format.h>

#include <cstring>

#include "sim/api.h"
#include "sim/error_text.h"
#include "sim/runtime.h"
#include "sim/tensor_map.h"

using namespace cutegen::sim;

namespace {

constexpr const char* kPciBusId = "0000:00:00.0";

enum Limit : int { kStackSize, kPrintfFifo, kMallocHeap, kSyncDepth, kPendingLaunches, kL2FetchGranularity, kPersistingL2, kLimits };
size_t limits[kLimits] = {1024, 1 << 20, 8 << 20, 2, 2048, 64, 0};

Status valid(int device) {
  return device == 0 ? Status() : Status(kInvalidDevice, fmt::format("device {}; there is one, number 0", device));
}

enum EntryPoint : int { kFound = 0, kNotFound = 1 };

int entry_point(const char* name, const char* symbol, void** function, int* status) {
  return call(name, [&](Runtime&) {
    *function = driver_function(symbol);
    if (status != nullptr) *status = *function != nullptr ? kFound : kNotFound;
    if (*function != nullptr) return Status();
    return Status(status != nullptr ? kSuccess : kSymbolNotFound, fmt::format("the driver function {} is not supported", symbol));
  });
}

// Calls that change nothing here.
int nothing(const char* name) {
  return call(name, [](Runtime&) { return Status(); });
}

}  // namespace

SIM_API int cudaGetLastError() {
  const int error = Runtime::get().poison != kSuccess ? Runtime::get().poison : last_error();
  last_error() = kSuccess;
  return error;
}
SIM_API int cudaPeekAtLastError() { return Runtime::get().poison != kSuccess ? Runtime::get().poison : last_error(); }
SIM_API const char* cudaGetErrorName(int error) { return error_name(error); }
SIM_API const char* cudaGetErrorString(int error) { return error_text(error); }

SIM_API int cudaGetDeviceCount(int* count) {
  return call("cudaGetDeviceCount", [&](Runtime&) { return *count = 1, Status(); });
}
SIM_API int cudaGetDevice(int* device) {
  return call("cudaGetDevice", [&](Runtime&) { return *device = 0, Status(); });
}
SIM_API int cudaSetDevice(int device) {
  return call("cudaSetDevice", [&](Runtime&) { return valid(device); });
}
SIM_API int cudaInitDevice(int device, unsigned, unsigned) {
  return call("cudaInitDevice", [&](Runtime&) { return valid(device); });
}
SIM_API int cudaChooseDevice(int* device, const void*) {
  return call("cudaChooseDevice", [&](Runtime&) { return *device = 0, Status(); });
}
SIM_API int cudaSetDeviceFlags(unsigned) { return nothing("cudaSetDeviceFlags"); }
SIM_API int cudaGetDeviceFlags(unsigned* flags) {
  return call("cudaGetDeviceFlags", [&](Runtime&) { return *flags = 0, Status(); });
}
SIM_API int cudaGetDeviceProperties(void* properties, int device) {
  return call("cudaGetDeviceProperties", [&](Runtime&) {
    Status s = valid(device);
    if (s.ok()) fill_device_properties(properties);
    return s;
  });
}
SIM_API int cudaDeviceGetAttribute(int* value, int attribute, int device) {
  return call("cudaDeviceGetAttribute", [&](Runtime&) {
    Status s = valid(device);
    if (s.ok() && !device_attribute(attribute, *value)) return Status(kInvalidValue, fmt::format("attribute {} is not known", attribute));
    return s;
  });
}
SIM_API int cudaDeviceGetPCIBusId(char* text, int bytes, int device) {
  return call("cudaDeviceGetPCIBusId", [&](Runtime&) {
    if (bytes <= static_cast<int>(std::strlen(kPciBusId))) return Status(kInvalidValue);
    std::strcpy(text, kPciBusId);
    return valid(device);
  });
}
SIM_API int cudaDeviceSynchronize() { return nothing("cudaDeviceSynchronize"); }
SIM_API int cudaDeviceReset() {
  Runtime& r = Runtime::get();
  const std::lock_guard lock(r.mutex);
  r.reset_device();
  return last_error() = kSuccess;
}
SIM_API int cudaDeviceGetLimit(size_t* value, int limit) {
  return call("cudaDeviceGetLimit", [&](Runtime&) {
    if (limit < 0 || limit >= kLimits) return Status(kUnsupportedLimit, fmt::format("limit {}", limit));
    return *value = limits[limit], Status();
  });
}
SIM_API int cudaDeviceSetLimit(int limit, size_t value) {
  return call("cudaDeviceSetLimit", [&](Runtime&) {
    if (limit < 0 || limit >= kLimits) return Status(kUnsupportedLimit, fmt::format("limit {}", limit));
    return limits[limit] = value, Status();
  });
}
SIM_API int cudaDeviceSetCacheConfig(int) { return nothing("cudaDeviceSetCacheConfig"); }
SIM_API int cudaDeviceGetCacheConfig(int* config) {
  return call("cudaDeviceGetCacheConfig", [&](Runtime&) { return *config = 0, Status(); });
}
SIM_API int cudaCtxResetPersistingL2Cache() { return nothing("cudaCtxResetPersistingL2Cache"); }
SIM_API int cudaProfilerStart() { return nothing("cudaProfilerStart"); }
SIM_API int cudaProfilerStop() { return nothing("cudaProfilerStop"); }

SIM_API int cudaDriverGetVersion(int* version) {
  return call("cudaDriverGetVersion", [&](Runtime&) { return *version = kDriverVersion, Status(); });
}
SIM_API int cudaRuntimeGetVersion(int* version) {
  return call("cudaRuntimeGetVersion", [&](Runtime&) { return *version = kRuntimeVersion, Status(); });
}
SIM_API int cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned, unsigned long long, int* status) {
  return entry_point("cudaGetDriverEntryPointByVersion", symbol, function, status);
}
SIM_API int cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long, int* status) {
  return entry_point("cudaGetDriverEntryPoint", symbol, function, status);
}

SIM_SAME(cudaGetDriverEntryPointByVersion_ptsz, cudaGetDriverEntryPointByVersion);
SIM_SAME(cudaGetDriverEntryPoint_ptsz, cudaGetDriverEntryPoint);
