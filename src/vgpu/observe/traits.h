// What the checks need to know of an instruction beyond its record: order and proxy, read from the opcode as written.
#pragma once

#include <vector>

#include "vgpu/link/image.h"

namespace cutegen::vgpu {

enum class Scope : uint8_t { none, cta, cluster, gpu, sys };

struct InstTraits {
  bool strong = false;  // volatile, relaxed, acquire, release: takes part in synchronisation instead of racing
  bool acquires = false, releases = false;
  bool fence = false;         // of memory: membar, fence.acq_rel, fence.sc
  bool proxy_fence = false;   // fence.proxy.async
  bool init_fence = false;    // fence.mbarrier_init
  bool asynchronous = false;  // its accesses belong to an asynchronous operation
  bool mbarrier = false, mbarrier_init = false;
  bool read_only = false;     // ld.global.nc
  bool warp_barrier = false;  // bar.warp.sync
  bool cluster_arrive_relaxed = false;
  Scope scope = Scope::none;
};

InstTraits traits_of(std::string_view opcode);
std::vector<InstTraits> traits_of(const Image& image);  // by pc

}  // namespace cutegen::vgpu
