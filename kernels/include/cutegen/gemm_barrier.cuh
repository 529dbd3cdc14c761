// mbarriers and bulk copies between the CTAs of a cluster (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier" and
// "Data Movement and Conversion Instructions: cp.async.bulk"). CuTe has wrappers for the CTA's own barriers; these add the cluster's.
#pragma once

#include <cute/arch/cluster_sm90.hpp>
#include <cute/arch/copy_sm90_desc.hpp>
#include <cute/arch/copy_sm90_tma.hpp>

namespace cutegen::gemm {

// Makes initialised barriers visible to the other CTAs of the cluster and to the asynchronous copies.
CUTE_DEVICE void fence_barrier_init() { asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory"); }

// One arrival at the barrier at the same place in CTA `rank` of the cluster.
CUTE_DEVICE void arrive_at(uint64_t& barrier, uint32_t rank) {
  const uint32_t local = cute::cast_smem_ptr_to_uint(&barrier);
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n"
      "}\n"
      :
      : "r"(local), "r"(rank)
      : "memory");
}

// As cute::wait_barrier, but also ordered after arrivals from other CTAs of the cluster.
CUTE_DEVICE void wait_cluster(uint64_t& barrier, uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "WAIT:\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
      "@done bra DONE;\n"
      "bra WAIT;\n"
      "DONE:\n"
      "}\n"
      :
      : "r"(cute::cast_smem_ptr_to_uint(&barrier)), "r"(parity)
      : "memory");
}

// Copies `bytes` (a multiple of 16, both ends aligned to 16) to the same shared-memory place of every CTA in `mask`, and counts them at
// each one's own `barrier`.
CUTE_DEVICE void bulk_copy_multicast(void const* from, void* to, uint32_t bytes, uint64_t& barrier, uint16_t mask) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;\n"
               :
               : "r"(cute::cast_smem_ptr_to_uint(to)), "l"(from), "r"(bytes), "r"(cute::cast_smem_ptr_to_uint(&barrier)), "h"(mask)
               : "memory");
}

}  // namespace cutegen::gemm
