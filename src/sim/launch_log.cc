#include "sim/launch_log.h"

namespace cutegen::sim {
namespace {

Json to_json(const vgpu::Counters& c) {
  Json j = {{"warp_instructions", c.warp_instructions},
            {"thread_instructions", c.thread_instructions},
            {"branches", c.branches},
            {"divergent_branches", c.divergent_branches},
            {"global_load_requests", c.global_load_requests},
            {"global_load_sectors", c.global_load_sectors},
            {"global_store_requests", c.global_store_requests},
            {"global_store_sectors", c.global_store_sectors},
            {"global_load_bytes", c.global_load_bytes},
            {"global_store_bytes", c.global_store_bytes},
            {"shared_load_requests", c.shared_load_requests},
            {"shared_store_requests", c.shared_store_requests},
            {"shared_wavefronts", c.shared_wavefronts},
            {"shared_bank_conflicts", c.shared_bank_conflicts},
            {"local_requests", c.local_requests},
            {"atomic_requests", c.atomic_requests},
            {"barriers", c.barriers},
            {"tensor_macs", c.tensor_macs},
            {"async_copy_bytes", c.async_copy_bytes},
            {"by_opcode", c.by_opcode},
            {"by_pipe", c.by_pipe}};
  Json lines = Json::array();
  for (const auto& [place, count] : c.by_line)
    lines.push_back(Json{{"file", place.first}, {"line", place.second}, {"warp_instructions", count}});
  j["by_line"] = std::move(lines);
  return j;
}

}  // namespace

void LaunchLog::add(const vgpu::LaunchConfig& config, const vgpu::LaunchResult& result, double host_seconds) {
  KernelLog& k = kernels_[config.kernel];
  ++k.launches;
  k.faults += result.fault ? 1 : 0;
  k.host_seconds += host_seconds;
  k.ctas += config.grid.count();
  k.threads += config.grid.count() * config.block.count();
  k.counters.add(result.counters);
}

Json LaunchLog::to_json() const {
  Json list = Json::array();
  for (const auto& [name, k] : kernels_)
    list.push_back(Json{{"kernel", name},
                        {"launches", k.launches},
                        {"faults", k.faults},
                        {"host_seconds", k.host_seconds},
                        {"ctas", k.ctas},
                        {"threads", k.threads},
                        {"counters", sim::to_json(k.counters)}});
  return Json{{"kernels", std::move(list)}};
}

}  // namespace cutegen::sim
