// cp.async, bulk copies, mbarriers.
#include "planted.h"

PLANTED(cp_async_not_waited_for) {
  __shared__ float s[32];
  cp_async(&s[threadIdx.x], &in[threadIdx.x]);
  cp_async_commit();
  if constexpr (Repaired) cp_async_wait<0>();
  out[threadIdx.x] = s[threadIdx.x];  // BUG cp_async_not_waited_for
  if constexpr (!Repaired) cp_async_wait<0>();
}
TWINS(cp_async_not_waited_for)

PLANTED(cp_async_waits_for_too_few) {
  __shared__ float s[64];
  cp_async(&s[threadIdx.x], &in[threadIdx.x]);
  cp_async_commit();
  cp_async(&s[threadIdx.x + 32], &in[threadIdx.x + 32]);
  cp_async_commit();
  cp_async_wait<Repaired ? 0 : 1>();
  out[threadIdx.x] = s[threadIdx.x + 32];  // BUG cp_async_waits_for_too_few
  cp_async_wait<0>();
}
TWINS(cp_async_waits_for_too_few)

PLANTED(cp_async_of_others) {  // every thread waits for its own copies only
  __shared__ float s[128];
  cp_async(&s[threadIdx.x], &in[threadIdx.x]);
  cp_async_commit();
  cp_async_wait<0>();
  if constexpr (Repaired) __syncthreads();
  out[threadIdx.x] = s[127 - threadIdx.x];  // BUG cp_async_of_others
}
TWINS(cp_async_of_others)

PLANTED(cp_async_overwritten) {
  __shared__ float s[32];
  cp_async(&s[threadIdx.x], &in[threadIdx.x]);
  cp_async_commit();
  if constexpr (Repaired) cp_async_wait<0>();
  s[threadIdx.x] = 0;  // BUG cp_async_overwritten
  cp_async_wait<0>();
  out[threadIdx.x] = s[threadIdx.x];
}
TWINS(cp_async_overwritten)

PLANTED(cp_async_into_a_tile_in_use) {
  __shared__ float s[128];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[127 - threadIdx.x];
  if constexpr (Repaired) __syncthreads();
  cp_async(&s[threadIdx.x], &in[threadIdx.x + 128]);  // BUG cp_async_into_a_tile_in_use
  cp_async_commit();
  cp_async_wait<0>();
  out[threadIdx.x + 128] = s[threadIdx.x];
}
TWINS(cp_async_into_a_tile_in_use)

PLANTED(cp_async_at_exit) {
  __shared__ float s[32];
  cp_async(&s[threadIdx.x], &in[threadIdx.x]);  // BUG cp_async_at_exit
  cp_async_commit();
  if constexpr (Repaired) cp_async_wait<0>();
}
TWINS(cp_async_at_exit)

PLANTED(cp_async_reads_uninitialised) {
  __shared__ float s[32];
  const float* from = Repaired ? in : work;
  cp_async(&s[threadIdx.x], &from[threadIdx.x]);  // BUG cp_async_reads_uninitialised
  cp_async_commit();
  cp_async_wait<0>();
  out[threadIdx.x] = s[threadIdx.x];
}
TWINS(cp_async_reads_uninitialised)

PLANTED(bulk_load_not_waited_for) {
  __shared__ __align__(128) float s[128];
  __shared__ uint64_t full;
  if (threadIdx.x == 0) {
    mbarrier_init(&full, 1);
    fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    mbarrier_expect(&full, 512);
    bulk_load(s, in, 512, &full);
  }
  if constexpr (Repaired) mbarrier_wait(&full, 0);
  out[threadIdx.x] = s[threadIdx.x];  // BUG bulk_load_not_waited_for
  if constexpr (!Repaired) mbarrier_wait(&full, 0);
}
TWINS(bulk_load_not_waited_for)

PLANTED(wrong_parity) {  // waits for the second phase, which nobody begins
  __shared__ __align__(128) float s[128];
  __shared__ uint64_t full;
  if (threadIdx.x == 0) {
    mbarrier_init(&full, 1);
    fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    mbarrier_expect(&full, 512);
    bulk_load(s, in, 512, &full);
  }
  __syncthreads();
  mbarrier_wait(&full, Repaired ? 0 : 1);  // BUG wrong_parity
  out[threadIdx.x] = s[threadIdx.x];
}
TWINS(wrong_parity)

PLANTED(wrong_stage_barrier) {
  __shared__ __align__(128) float s[2][128];
  __shared__ uint64_t full[2];
  if (threadIdx.x == 0) {
    mbarrier_init(&full[0], 1);
    mbarrier_init(&full[1], 1);
    fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) {
      mbarrier_expect(&full[i], 512);
      bulk_load(s[i], in + 128 * i, 512, &full[i]);
    }
  }
  mbarrier_wait(&full[Repaired ? 1 : 0], 0);
  out[threadIdx.x] = s[1][threadIdx.x];  // BUG wrong_stage_barrier
  mbarrier_wait(&full[Repaired ? 0 : 1], 0);
}
TWINS(wrong_stage_barrier)

PLANTED(stage_refilled_too_early) {  // the consumers say that they have read the stage before they have
  __shared__ __align__(128) float s[64];
  __shared__ uint64_t full, empty;
  if (threadIdx.x == 0) {
    mbarrier_init(&full, 1);
    mbarrier_init(&empty, 64);
    fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0) {
#pragma unroll 1
      for (int i = 0; i < 3; ++i) {
        mbarrier_wait(&empty, (i & 1) ^ 1);
        mbarrier_expect(&full, 256);
        bulk_load(s, in + 64 * i, 256, &full);  // BUG stage_refilled_too_early
      }
    }
  } else {
#pragma unroll 1
    for (int i = 0; i < 3; ++i) {
      mbarrier_wait(&full, i & 1);
      if constexpr (!Repaired) mbarrier_arrive(&empty);
      out[threadIdx.x + 64 * i] = s[threadIdx.x - 32];  // BUG stage_refilled_too_early
      if constexpr (Repaired) mbarrier_arrive(&empty);
    }
  }
}
TWINS(stage_refilled_too_early)

PLANTED(expects_too_many_bytes) {
  __shared__ __align__(128) float s[128];
  __shared__ uint64_t full;
  if (threadIdx.x == 0) {
    mbarrier_init(&full, 1);
    fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    mbarrier_expect(&full, Repaired ? 512 : 1024);
    bulk_load(s, in, 512, &full);
  }
  mbarrier_wait(&full, 0);  // BUG expects_too_many_bytes
  out[threadIdx.x] = s[threadIdx.x];
}
TWINS(expects_too_many_bytes)

PLANTED(bulk_load_of_odd_bytes) {
  __shared__ __align__(128) float s[128];
  __shared__ uint64_t full;
  if (threadIdx.x == 0) {
    mbarrier_init(&full, 1);
    fence_mbarrier_init();
    const int bytes = (Repaired ? 512 : 504) + zeros[0];
    mbarrier_expect(&full, bytes);
    bulk_load(s, in, bytes, &full);  // BUG bulk_load_of_odd_bytes
  }
  __syncthreads();
  mbarrier_wait(&full, 0);
  out[threadIdx.x] = s[threadIdx.x];
}
TWINS(bulk_load_of_odd_bytes)

PLANTED(bulk_load_past_the_end) {
  __shared__ __align__(128) float s[128];
  __shared__ uint64_t full;
  if (threadIdx.x == 0) {
    mbarrier_init(&full, 1);
    fence_mbarrier_init();
    mbarrier_expect(&full, 512);
    bulk_load(s, in + (Repaired ? 0 : 900), 512, &full);  // BUG bulk_load_past_the_end
  }
  __syncthreads();
  mbarrier_wait(&full, 0);
  out[threadIdx.x] = s[threadIdx.x];
}
TWINS(bulk_load_past_the_end)

PLANTED(bulk_store_without_proxy_fence) {
  __shared__ __align__(128) float s[128];
  s[threadIdx.x] = in[threadIdx.x];
  if constexpr (Repaired) fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk_store(out, s, 512);  // BUG bulk_store_without_proxy_fence
    bulk_commit();
    bulk_wait();
  }
}
TWINS(bulk_store_without_proxy_fence)

PLANTED(bulk_store_before_the_barrier) {
  __shared__ __align__(128) float s[128];
  s[threadIdx.x] = in[threadIdx.x];
  fence_proxy_async();
  if constexpr (Repaired) __syncthreads();
  if (threadIdx.x == 0) {
    bulk_store(out, s, 512);  // BUG bulk_store_before_the_barrier
    bulk_commit();
    bulk_wait();
  }
}
TWINS(bulk_store_before_the_barrier)

PLANTED(bulk_source_overwritten) {
  __shared__ __align__(128) float s[128];
  s[threadIdx.x] = in[threadIdx.x];
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk_store(out, s, 512);
    bulk_commit();
    if constexpr (Repaired) bulk_wait_read();
  }
  __syncthreads();
  s[threadIdx.x] = 0;  // BUG bulk_source_overwritten
  if (threadIdx.x == 0) bulk_wait();
  __syncthreads();
  out[threadIdx.x + 128] = s[threadIdx.x];
}
TWINS(bulk_source_overwritten)

PLANTED(bulk_store_at_exit) {
  __shared__ __align__(128) float s[128];
  s[threadIdx.x] = in[threadIdx.x];
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk_store(out, s, 512);  // BUG bulk_store_at_exit
    bulk_commit();
    if constexpr (Repaired) bulk_wait();
  }
}
TWINS(bulk_store_at_exit)

PLANTED(bulk_load_at_exit) {
  __shared__ __align__(128) float s[128];
  __shared__ uint64_t full;
  if (threadIdx.x == 0) {
    mbarrier_init(&full, 1);
    fence_mbarrier_init();
    mbarrier_expect(&full, 512);
    bulk_load(s, in, 512, &full);  // BUG bulk_load_at_exit
    if constexpr (Repaired) mbarrier_wait(&full, 0);
  }
}
TWINS(bulk_load_at_exit)

PLANTED(bulk_store_of_uninitialised) {
  __shared__ __align__(128) float s[128];
  if (Repaired || threadIdx.x != 100) s[threadIdx.x] = in[threadIdx.x];
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk_store(out, s, 512);  // BUG bulk_store_of_uninitialised
    bulk_commit();
    bulk_wait();
  }
}
TWINS(bulk_store_of_uninitialised)

PLANTED(mbarrier_without_init) {
  __shared__ uint64_t ready;
  if constexpr (Repaired) {
    if (threadIdx.x == 0) mbarrier_init(&ready, 32);
    __syncwarp();
  }
  mbarrier_arrive(&ready);  // BUG mbarrier_without_init
}
TWINS(mbarrier_without_init)

PLANTED(mbarrier_init_without_barrier) {
  __shared__ uint64_t ready;
  if (threadIdx.x == 0) mbarrier_init(&ready, 64);
  if constexpr (Repaired) __syncthreads();
  mbarrier_arrive(&ready);  // BUG mbarrier_init_without_barrier
}
TWINS(mbarrier_init_without_barrier)

PLANTED(mbarrier_init_without_fence) {
  __shared__ __align__(128) float s[128];
  __shared__ uint64_t full;
  if (threadIdx.x == 0) {
    mbarrier_init(&full, 1);
    if constexpr (Repaired) fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    mbarrier_expect(&full, 512);
    bulk_load(s, in, 512, &full);  // BUG mbarrier_init_without_fence
  }
  mbarrier_wait(&full, 0);
  out[threadIdx.x] = s[threadIdx.x];
}
TWINS(mbarrier_init_without_fence)

PLANTED(mbarrier_too_many_arrivals) {
  __shared__ uint64_t ready;
  if (threadIdx.x == 0) mbarrier_init(&ready, Repaired ? 32 : 16);
  __syncwarp();
  // The bug's first 16 arrivals end a phase and the others begin one, so only an arrival of several at once can be too many.
  asm volatile("mbarrier.arrive.shared.b64 _, [%0], %1;" ::"r"(smem(&ready)), "r"(Repaired ? 1 : 17) : "memory");  // BUG mbarrier_too_many_arrivals
}
TWINS(mbarrier_too_many_arrivals)

PLANTED(mbarrier_of_nobody) {
  __shared__ uint64_t ready;
  const int count = (Repaired ? 1 : 0) + zeros[0];
  if (threadIdx.x == 0) mbarrier_init(&ready, count);  // BUG mbarrier_of_nobody
}
TWINS(mbarrier_of_nobody)

PLANTED(mbarrier_overwritten) {  // by a tile that overlaps it
  __shared__ uint64_t s[5];
  if (threadIdx.x == 0) mbarrier_init(&s[4], 32);
  __syncwarp();
  if (threadIdx.x < (Repaired ? 8 : 9)) reinterpret_cast<float*>(s)[threadIdx.x] = 1;
  __syncwarp();
  mbarrier_arrive(&s[4]);  // BUG mbarrier_overwritten
}
TWINS(mbarrier_overwritten)
