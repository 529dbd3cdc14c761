// Barriers that not everybody reaches, and lanes that do not come.
#include "planted.h"

PLANTED(barrier_in_divergent_code) {
  if (Repaired || threadIdx.x % 2) __syncthreads();  // BUG barrier_in_divergent_code
  out[threadIdx.x] = 1;
}
TWINS(barrier_in_divergent_code)

PLANTED(barrier_lacks_a_warp) {
  if constexpr (Repaired)
    asm volatile("bar.sync 1, 64;" ::: "memory");
  else
    asm volatile("bar.sync 1, 96;" ::: "memory");  // BUG barrier_lacks_a_warp
  out[threadIdx.x] = 1;
}
TWINS(barrier_lacks_a_warp)

PLANTED(barrier_for_part_of_a_warp) {
  if constexpr (Repaired)
    asm volatile("bar.sync 1, 64;" ::: "memory");
  else
    asm volatile("bar.sync 1, %0;" ::"r"(48 + zeros[0]) : "memory");  // BUG barrier_for_part_of_a_warp
  out[threadIdx.x] = 1;
}
TWINS(barrier_for_part_of_a_warp)

PLANTED(barrier_counts_differ) {
  if (Repaired || threadIdx.x < 32)
    asm volatile("bar.sync 1, 64;" ::: "memory");
  else
    asm volatile("bar.sync 1, 32;" ::: "memory");  // BUG barrier_counts_differ
  out[threadIdx.x] = 1;
}
TWINS(barrier_counts_differ)

PLANTED(barrier_does_not_exist) {
  const int id = (Repaired ? 15 : 16) + zeros[0];
  asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory");  // BUG barrier_does_not_exist
  out[threadIdx.x] = 1;
}
TWINS(barrier_does_not_exist)

PLANTED(shuffle_without_partners) {
  float v = in[threadIdx.x];
  if (Repaired || threadIdx.x < 8) v = __shfl_xor_sync(0xffffffff, v, 1);  // BUG shuffle_without_partners
  if (!Repaired && threadIdx.x >= 8) __syncwarp();
  out[threadIdx.x] = v;
}
TWINS(shuffle_without_partners)

PLANTED(lane_outside_its_mask) {
  out[threadIdx.x] = __shfl_sync(Repaired ? 0xffffffff : 0x0000ffff, in[threadIdx.x], 0);  // BUG lane_outside_its_mask
}
TWINS(lane_outside_its_mask)

PLANTED(cluster_barrier_lacks_a_cta) {
  if (Repaired || cluster_rank() == 0) {
    cluster_arrive();
    cluster_wait();  // BUG cluster_barrier_lacks_a_cta
  } else {
    asm volatile("bar.sync 1, 128;" ::: "memory");
  }
  out[threadIdx.x] = 1;
}
TWINS(cluster_barrier_lacks_a_cta)
