#include "vgpu/time/profile.h"

#include <utility>

#include "base/json.h"

namespace cutegen::vgpu {
namespace {

template <class T>
Result<void> read(const Json& j, const char* name, T& value) {
  CUTEGEN_TRY(value, json_get<T>(j, name));
  return {};
}

Result<void> read_limits(const Json& j, GpuProfile& p) {
  for (const auto& [name, member] : {std::pair{"sms", &GpuProfile::sms},
                                     {"warps", &GpuProfile::warps},
                                     {"ctas", &GpuProfile::ctas},
                                     {"registers", &GpuProfile::registers},
                                     {"register_unit", &GpuProfile::register_unit},
                                     {"smem_bytes", &GpuProfile::smem_bytes},
                                     {"smem_cta_reserved", &GpuProfile::smem_cta_reserved}})
    CUTEGEN_CHECK(read(j, name, p.*member));
  CUTEGEN_CHECK(read(j, "l1_bytes", p.l1_bytes));
  return read(j, "l2_bytes", p.l2_bytes);
}

Result<void> read_rates(const Json& j, GpuProfile& p) {
  for (const auto& [name, member] : {std::pair{"clock_hz", &GpuProfile::clock_hz},
                                     {"alu_cycles", &GpuProfile::alu_cycles},
                                     {"fma_cycles", &GpuProfile::fma_cycles},
                                     {"fp64_cycles", &GpuProfile::fp64_cycles},
                                     {"xu_cycles", &GpuProfile::xu_cycles},
                                     {"lsu_cycles", &GpuProfile::lsu_cycles},
                                     {"control_cycles", &GpuProfile::control_cycles},
                                     {"tensor_macs", &GpuProfile::tensor_macs},
                                     {"mma_sync_share", &GpuProfile::mma_sync_share},
                                     {"alu_latency", &GpuProfile::alu_latency},
                                     {"fma_latency", &GpuProfile::fma_latency},
                                     {"fp64_latency", &GpuProfile::fp64_latency},
                                     {"xu_latency", &GpuProfile::xu_latency},
                                     {"shuffle_latency", &GpuProfile::shuffle_latency},
                                     {"tensor_latency", &GpuProfile::tensor_latency},
                                     {"shared_latency", &GpuProfile::shared_latency},
                                     {"l1_latency", &GpuProfile::l1_latency},
                                     {"l2_latency", &GpuProfile::l2_latency},
                                     {"dram_latency", &GpuProfile::dram_latency},
                                     {"atomic_latency", &GpuProfile::atomic_latency},
                                     {"barrier_latency", &GpuProfile::barrier_latency},
                                     {"bulk_latency", &GpuProfile::bulk_latency},
                                     {"sm_l2_bytes", &GpuProfile::sm_l2_bytes},
                                     {"l2_bytes_per_s", &GpuProfile::l2_bytes_per_s},
                                     {"dram_bytes_per_s", &GpuProfile::dram_bytes_per_s},
                                     {"dram_write_cost", &GpuProfile::dram_write_cost},
                                     {"atomics_per_cycle", &GpuProfile::atomics_per_cycle},
                                     {"partial_writes_per_cycle", &GpuProfile::partial_writes_per_cycle},
                                     {"foreign_write_cost", &GpuProfile::foreign_write_cost},
                                     {"launch_s", &GpuProfile::launch_s},
                                     {"cta_cycles", &GpuProfile::cta_cycles},
                                     {"ctas_per_cycle", &GpuProfile::ctas_per_cycle},
                                     {"overlap_exponent", &GpuProfile::overlap_exponent}}) {
    CUTEGEN_CHECK(read(j, name, p.*member));
    if (!(p.*member > 0)) return Error{Errc::invalid_input, std::string("'") + name + "' must be positive", "", ""};
  }
  return {};
}

Result<GpuProfile> parse(const Json& j) {
  GpuProfile p;
  CUTEGEN_CHECK(read(j, "name", p.name));
  CUTEGEN_CHECK(read(j, "source", p.source));
  CUTEGEN_CHECK(read(j, "validated", p.validated));
  CUTEGEN_CHECK(read_limits(j, p));
  CUTEGEN_CHECK(read_rates(j, p));
  if (p.sms == 0 || p.warps == 0 || p.l2_bytes == 0)
    return Error{Errc::invalid_input, "'sms', 'warps' and 'l2_bytes' must be positive", "", ""};
  return p;
}

}  // namespace

Result<GpuProfile> load_gpu_profile(const std::filesystem::path& file) {
  CUTEGEN_TRY(const Json j, read_json_file(file));
  auto profile = parse(j);
  if (!profile.ok()) return Error{Errc::invalid_input, file.filename().string() + ": " + profile.error().message, "", ""};
  return profile;
}

}  // namespace cutegen::vgpu
