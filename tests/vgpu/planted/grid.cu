// Between CTAs: races in global memory, fences, clusters, cooperative grids.
#include <cooperative_groups.h>

#include "planted.h"

PLANTED(counter_of_the_grid) {
  if (threadIdx.x != 0) return;
  if constexpr (Repaired)
    atomicAdd(zeros, 1);
  else
    zeros[0] = zeros[0] + 1;  // BUG counter_of_the_grid
}
TWINS(counter_of_the_grid)

PLANTED(ctas_overlap) {  // blocks of 128 threads write tiles of 128 (repaired) or of 128 every 96
  const int i = blockIdx.x * (Repaired ? 128 : 96) + threadIdx.x;
  out[i] = blockIdx.x;  // BUG ctas_overlap
}
TWINS(ctas_overlap)

PLANTED(halo_in_place) {  // reads what the neighbouring CTA writes
  float* p = Repaired ? out : work;
  const int i = blockIdx.x * 32 + threadIdx.x;
  if constexpr (Repaired) {
    p[i] = in[i] + in[i + 1];
  } else {
    p[i] = in[i];
    if (i > 0) out[i] = p[i - 1];  // BUG halo_in_place
  }
}
TWINS(halo_in_place)

// The first CTA sends, the second receives.
PLANTED(message_without_fence) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    work[0] = 42;
    if constexpr (Repaired) __threadfence();
    atomicExch(zeros, 1);
  } else {
    while (atomicAdd(zeros, 0) == 0) {
    }
    __threadfence();
    out[0] = *const_cast<volatile float*>(work);  // BUG message_without_fence
  }
}
TWINS(message_without_fence)

PLANTED(message_without_receiving_fence) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    work[0] = 42;
    __threadfence();
    atomicExch(zeros, 1);
  } else {
    while (atomicAdd(zeros, 0) == 0) {
    }
    if constexpr (Repaired) __threadfence();
    out[0] = work[0];  // BUG message_without_receiving_fence
  }
}
TWINS(message_without_receiving_fence)

PLANTED(fence_of_the_block) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    work[0] = 42;
    if constexpr (Repaired)
      __threadfence();
    else
      __threadfence_block();
    atomicExch(zeros, 1);
  } else {
    while (atomicAdd(zeros, 0) == 0) {
    }
    __threadfence();
    out[0] = work[0];  // BUG fence_of_the_block
  }
}
TWINS(fence_of_the_block)

PLANTED(fence_before_the_data) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    if constexpr (!Repaired) __threadfence();
    work[0] = 42;
    if constexpr (Repaired) __threadfence();
    atomicExch(zeros, 1);
  } else {
    while (atomicAdd(zeros, 0) == 0) {
    }
    __threadfence();
    out[0] = work[0];  // BUG fence_before_the_data
  }
}
TWINS(fence_before_the_data)

PLANTED(flag_is_a_plain_store) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    work[0] = 42;
    __threadfence();
    if constexpr (Repaired)
      atomicExch(zeros, 1);
    else
      zeros[0] = 1;
  } else {
    while (*const_cast<volatile int*>(zeros) == 0) {  // BUG flag_is_a_plain_store
    }
    __threadfence();
    out[0] = work[0];  // BUG flag_is_a_plain_store
  }
}
TWINS(flag_is_a_plain_store)

PLANTED(release_and_acquire) {
  if (threadIdx.x != 0) return;
  int ready = 0;
  if (blockIdx.x == 0) {
    work[0] = 42;
    if constexpr (Repaired)
      asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(zeros) : "memory");
    else
      asm volatile("st.relaxed.gpu.global.u32 [%0], 1;" ::"l"(zeros) : "memory");
  } else {
    while (ready == 0) asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(ready) : "l"(zeros) : "memory");
    out[0] = work[0];  // BUG release_and_acquire
  }
}
TWINS(release_and_acquire)

PLANTED(last_cta_sums) {  // every CTA leaves a partial sum; the last adds them up
  __shared__ bool last;
  if (threadIdx.x == 0) {
    work[blockIdx.x] = blockIdx.x;
    if constexpr (Repaired) __threadfence();
    last = atomicAdd(zeros, 1) == static_cast<int>(gridDim.x) - 1;
    if constexpr (Repaired) __threadfence();
  }
  __syncthreads();
  if (!last) return;
  out[threadIdx.x] = work[threadIdx.x % gridDim.x];  // BUG last_cta_sums
}
TWINS(last_cta_sums)

PLANTED(missing_grid_sync) {
  const int i = blockIdx.x * 32 + threadIdx.x, n = gridDim.x * 32;
  work[i] = in[i];
  if constexpr (Repaired)
    cooperative_groups::this_grid().sync();
  else
    __syncthreads();
  out[i] = work[n - 1 - i];  // BUG missing_grid_sync
}
TWINS(missing_grid_sync)

PLANTED(remote_read_too_early) {
  __shared__ float s[32];
  s[threadIdx.x] = in[threadIdx.x];
  if constexpr (Repaired) {
    cluster_arrive();
    cluster_wait();
  } else {
    __syncthreads();
  }
  out[threadIdx.x] = remote_load(remote(&s[threadIdx.x], cluster_rank() ^ 1));  // BUG remote_read_too_early
  cluster_arrive();
  cluster_wait();
}
TWINS(remote_read_too_early)

PLANTED(remote_write_unordered) {
  __shared__ float s[32];
  remote_store(remote(&s[threadIdx.x], cluster_rank() ^ 1), threadIdx.x);
  if constexpr (Repaired) {
    cluster_arrive();
    cluster_wait();
  } else {
    cluster_arrive_relaxed();
    cluster_wait();
  }
  out[threadIdx.x] = s[threadIdx.x];  // BUG remote_write_unordered
}
TWINS(remote_write_unordered)

PLANTED(rank_outside_the_cluster) {
  __shared__ float s[32];
  s[threadIdx.x] = in[threadIdx.x];
  cluster_arrive();
  cluster_wait();
  out[threadIdx.x] = remote_load(remote(&s[threadIdx.x], Repaired ? 1 : 2));  // BUG rank_outside_the_cluster
  cluster_arrive();
  cluster_wait();
}
TWINS(rank_outside_the_cluster)
