#include "vgpu/time/occupancy.h"

#include <algorithm>

namespace cutegen::vgpu {
namespace {

constexpr uint32_t kUnlimited = 1u << 20;
constexpr uint32_t kSmemUnit = 128;  // shared memory is given in units of so many bytes
constexpr uint32_t kSchedulers = 4;  // registers are a scheduler's own, so warps are spread evenly

uint32_t up(uint32_t value, uint32_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

Occupancy occupancy(const GpuProfile& gpu, const Resources& r) {
  Occupancy o;
  const uint32_t warps = std::max(1u, (r.threads + 31) / 32);
  o.by_warps = gpu.warps / warps;
  o.by_ctas = gpu.ctas;
  o.by_registers = kUnlimited;
  if (r.registers > 0) {
    const uint32_t a_warp = up(r.registers * 32, gpu.register_unit);
    const uint32_t resident = gpu.registers / kSchedulers / a_warp * kSchedulers;
    o.by_registers = resident / warps;
  }
  const uint32_t smem = up(r.smem_bytes + gpu.smem_cta_reserved, kSmemUnit);
  o.by_smem = smem == 0 ? kUnlimited : gpu.smem_bytes / smem;
  o.ctas = o.by_warps, o.limit = "warps";
  for (const auto& [n, name] : {std::pair{o.by_ctas, "ctas"}, {o.by_registers, "registers"}, {o.by_smem, "smem"}})
    if (n < o.ctas) o.ctas = n, o.limit = name;
  return o;
}

}  // namespace cutegen::vgpu
