#include "device/virtual/time_model.h"

#include <algorithm>

namespace cutegen {
namespace {

// H200 SXM: 132 SMs at 1.98 GHz boost, 4.8 TB/s of HBM3e (NVIDIA H200 data sheet). Shares of the peak and L2 bandwidth are round
// assumptions.
constexpr double kSms = 132, kClockHz = 1.755e9;
constexpr double kDramBytesPerSecond = 4.8e12 * 0.85;
constexpr double kL2BytesPerSecond = 7.0e12;
constexpr double kLaunchSeconds = 3e-6;
constexpr double kSectorBytes = 32;

// Warp instructions an SM starts in one cycle, by pipe (CUDA C++ Programming Guide, throughput of native arithmetic instructions, 9.0).
double per_cycle(const std::string& pipe) {
  if (pipe == "fma") return 4;
  if (pipe == "alu") return 2;
  if (pipe == "fp64") return 2;
  if (pipe == "xu") return 0.5;
  if (pipe == "lsu") return 1;
  if (pipe == "tensor") return 1;
  return 4;
}

}  // namespace

double predicted_ms(const vgpu::Counters& c, uint64_t ctas, uint64_t threads_a_cta, uint64_t buffer_bytes) {
  const double sector_bytes =
      kSectorBytes * static_cast<double>(c.global_load_sectors + c.global_store_sectors) + static_cast<double>(c.async_copy_bytes);
  const double dram = std::min(sector_bytes, static_cast<double>(buffer_bytes)) / kDramBytesPerSecond;
  const double l2 = sector_bytes / kL2BytesPerSecond;
  // A grid smaller than the machine leaves SMs idle; a CTA of few threads cannot fill one.
  const double busy_sms = std::min(kSms, static_cast<double>(ctas));
  const double fill = std::min(1.0, static_cast<double>(ctas * threads_a_cta) / (busy_sms * 512));
  const double cycles_per_second = busy_sms * kClockHz * std::max(fill, 0.05);
  double pipes = static_cast<double>(c.warp_instructions) / 4 / cycles_per_second;
  for (const auto& [pipe, n] : c.by_pipe) pipes = std::max(pipes, static_cast<double>(n) / per_cycle(pipe) / cycles_per_second);
  const double shared = static_cast<double>(c.shared_wavefronts) / cycles_per_second;
  const double tensor = static_cast<double>(c.tensor_macs) / (1024 * cycles_per_second);
  return 1e3 * (kLaunchSeconds + std::max({dram, l2, pipes, shared, tensor}));
}

}  // namespace cutegen
