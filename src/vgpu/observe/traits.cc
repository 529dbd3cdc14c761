#include "vgpu/observe/traits.h"

namespace cutegen::vgpu {

InstTraits traits_of(std::string_view opcode) {
  InstTraits t;
  const auto has = [&](std::string_view part) {
    for (size_t at = opcode.find(part); at != std::string_view::npos; at = opcode.find(part, at + 1)) {
      const size_t end = at + part.size();
      if (at > 0 && opcode[at - 1] == '.' && (end == opcode.size() || opcode[end] == '.')) return true;
    }
    return false;
  };
  const std::string_view stem = opcode.substr(0, opcode.find('.'));
  t.mbarrier = stem == "mbarrier";
  t.mbarrier_init = opcode.starts_with("mbarrier.init") || opcode.starts_with("mbarrier.inval");
  t.proxy_fence = stem == "fence" && has("proxy") && (has("async") || has("async::generic") || opcode.find("proxy.async") != opcode.npos);
  t.init_fence = stem == "fence" && has("mbarrier_init");
  t.fence = stem == "membar" || (stem == "fence" && !has("proxy") && !t.init_fence);
  t.asynchronous = opcode.starts_with("cp.async") || opcode.starts_with("cp.reduce.async") || stem == "wgmma" ||
                   opcode.starts_with("st.async") || opcode.starts_with("red.async");
  if (opcode.starts_with("cp.async.mbarrier")) t.asynchronous = false, t.mbarrier = true;
  t.warp_barrier = opcode.starts_with("bar.warp.sync");
  t.cluster_arrive_relaxed = opcode.starts_with("barrier.cluster.arrive") && has("relaxed");
  t.read_only = stem == "ld" && has("nc");
  const bool memory = stem == "ld" || stem == "st" || stem == "atom" || stem == "red";
  t.acquires = memory && (has("acquire") || has("acq_rel"));
  t.releases = memory && (has("release") || has("acq_rel"));
  t.strong = stem == "atom" || stem == "red" || (memory && (t.acquires || t.releases || has("relaxed") || has("volatile") || has("mmio")));
  if (t.fence || t.strong) t.scope = has("cta") ? Scope::cta : has("cluster") ? Scope::cluster : has("sys") ? Scope::sys : Scope::gpu;
  return t;
}

std::vector<InstTraits> traits_of(const Image& image) {
  std::vector<InstTraits> traits;
  traits.reserve(image.pcs.size());
  for (const PcInfo& pc : image.pcs) traits.push_back(traits_of(pc.opcode));
  return traits;
}

}  // namespace cutegen::vgpu
