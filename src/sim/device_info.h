// What the program is told about the device: an H200 (SXM, 141 GB), as the CUDA runtime reports it.
#pragma once

#include <cstdint>

namespace cutegen::sim {

// CuTe patches tensor maps when the driver is 13.1 or older, for the sake of a defect that this device has not.
inline constexpr int kDriverVersion = 13020, kRuntimeVersion = 13000;
inline constexpr uint64_t kDeviceBytes = 150'109'880'320;
inline constexpr int kSmCount = 132, kThreadsPerSm = 2048, kCtasPerSm = 32, kRegistersPerSm = 65536, kWarp = 32;
inline constexpr int kSmemPerSm = 233472, kSmemPerCtaOptIn = 232448, kSmemPerCta = 49152, kSmemReserved = 1024;
inline constexpr int kPortableCluster = 8, kMaxCluster = 16;

// Fills a cudaDeviceProp of `bytes` bytes (1008 in CUDA 13), in the layout of CUDA 13.
void fill_device_properties(void* properties);

// cudaDeviceGetAttribute. False when there is no such attribute.
bool device_attribute(int attribute, int& value);

}  // namespace cutegen::sim
