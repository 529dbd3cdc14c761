// What the time model knows of one GPU: sizes, rates, latencies. Read from gpus/NAME.json, whose members have the same names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/result.h"

namespace cutegen::vgpu {

struct GpuProfile {
  std::string name;        // "H200"
  std::string source;      // where the numbers come from
  bool validated = false;  // predictions were compared with measurements on this GPU (docs/vgpu-model.md)

  // An SM and its limits (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
  uint32_t sms = 0, warps = 0, ctas = 0;           // warps and ctas: resident on an SM
  uint32_t registers = 0, register_unit = 256;     // of an SM; registers are given to warps in units of so many
  uint32_t smem_bytes = 0, smem_cta_reserved = 0;  // of an SM; what the system takes of each CTA's
  uint64_t l1_bytes = 0, l2_bytes = 0;             // the L1 with its part that is shared memory
  double clock_hz = 0;

  // Cycles that one warp instruction keeps its pipe of one scheduler busy (an SM has four schedulers).
  double alu_cycles = 0, fma_cycles = 0, fp64_cycles = 0, xu_cycles = 0, lsu_cycles = 0, control_cycles = 0;
  // Multiply-accumulates an SM does in a cycle with 16-bit operands; TF32 has half of it. mma.sync reaches a share of what wgmma does.
  double tensor_macs = 0, mma_sync_share = 1;

  // Cycles from issue to the first use of the result.
  double alu_latency = 0, fma_latency = 0, fp64_latency = 0, xu_latency = 0, shuffle_latency = 0, tensor_latency = 0;
  double shared_latency = 0, l1_latency = 0, l2_latency = 0, dram_latency = 0, atomic_latency = 0, barrier_latency = 0, bulk_latency = 0;

  // Memory. Bytes a cycle between the L2 and one SM; chip-wide rates as kernels reach them.
  double sm_l2_bytes = 0;
  double l2_bytes_per_s = 0, dram_bytes_per_s = 0, dram_write_cost = 1, foreign_write_cost = 1;  // a written byte costs so many read ones
  double atomics_per_cycle = 0, partial_writes_per_cycle = 0;                                    // sectors that the L2 updates, chip-wide

  // Fixed costs and how terms add up.
  double launch_s = 0;          // of a kernel that does nothing, as events around it show
  double cta_cycles = 0;        // to start a CTA on an SM
  double ctas_per_cycle = 0;    // that the chip can start
  double overlap_exponent = 0;  // (latency^e + throughput^e ...)^(1/e): large when the longest term hides the others
};

// Errc::invalid_input names the member that is missing or out of range.
Result<GpuProfile> load_gpu_profile(const std::filesystem::path& file);

}  // namespace cutegen::vgpu
