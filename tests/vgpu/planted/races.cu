// Races within a CTA.
#include "planted.h"

PLANTED(missing_syncthreads) {
  __shared__ float s[128];
  s[threadIdx.x] = in[threadIdx.x];
  if constexpr (Repaired) __syncthreads();
  out[threadIdx.x] = s[127 - threadIdx.x];  // BUG missing_syncthreads
}
TWINS(missing_syncthreads)

PLANTED(missing_second_barrier) {
  __shared__ float s[128];
#pragma unroll 1
  for (int i = 0; i < 4; ++i) {
    s[threadIdx.x] = in[threadIdx.x + i];  // BUG missing_second_barrier
    __syncthreads();
    out[threadIdx.x + 128 * i] = s[127 - threadIdx.x];
    if constexpr (Repaired) __syncthreads();
  }
}
TWINS(missing_second_barrier)

PLANTED(two_warps_write) {
  __shared__ float s[128];
  s[Repaired ? threadIdx.x : threadIdx.x % 32] = threadIdx.x;  // BUG two_warps_write
  __syncthreads();
  out[threadIdx.x] = s[Repaired ? 0 : threadIdx.x % 32];
}
TWINS(two_warps_write)

PLANTED(lanes_write_one_word) {
  __shared__ int s[16];
  s[Repaired ? threadIdx.x / 2 : threadIdx.x % 16] = threadIdx.x / 2;  // BUG lanes_write_one_word
  __syncwarp();
  out[threadIdx.x] = s[threadIdx.x % 16];
}
TWINS(lanes_write_one_word)

PLANTED(missing_syncwarp) {
  __shared__ float s[32];
  s[threadIdx.x] = in[threadIdx.x];
  if constexpr (Repaired) __syncwarp();
  out[threadIdx.x] = s[threadIdx.x ^ 1];  // BUG missing_syncwarp
}
TWINS(missing_syncwarp)

PLANTED(warp_reduction_in_step) {  // as it was written before Volta
  __shared__ float s[64];
  s[threadIdx.x] = in[threadIdx.x];
  s[threadIdx.x + 32] = 0;
  __syncwarp();
#pragma unroll 1
  for (int d = 16; d > 0; d /= 2) {
    const float other = s[threadIdx.x + d];  // BUG warp_reduction_in_step
    if constexpr (Repaired) __syncwarp();
    s[threadIdx.x] += other;  // BUG warp_reduction_in_step
    if constexpr (Repaired) __syncwarp();
  }
  out[threadIdx.x] = s[threadIdx.x];
}
TWINS(warp_reduction_in_step)

PLANTED(syncwarp_of_half) {
  __shared__ float s[32];
  s[threadIdx.x] = in[threadIdx.x];
  if constexpr (Repaired)
    __syncwarp();
  else if (threadIdx.x < 16)
    __syncwarp(0xffff);
  else
    __syncwarp(0xffff0000);
  out[threadIdx.x] = s[31 - threadIdx.x];  // BUG syncwarp_of_half
}
TWINS(syncwarp_of_half)

PLANTED(shared_counter) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  if constexpr (Repaired)
    atomicAdd(&count, 1);
  else if (threadIdx.x % 32 == 0)
    count = count + 1;  // BUG shared_counter
  __syncthreads();
  out[threadIdx.x] = count;
}
TWINS(shared_counter)

PLANTED(wrong_stage) {
  __shared__ float s[2][128];
  s[0][threadIdx.x] = in[threadIdx.x];
  __syncthreads();
#pragma unroll 1
  for (int i = 0; i < 4; ++i) {
    const int next = Repaired ? (i + 1) % 2 : i % 2;
    s[next][threadIdx.x] = in[threadIdx.x + i];  // BUG wrong_stage
    out[threadIdx.x] = s[i % 2][127 - threadIdx.x];  // BUG wrong_stage
    __syncthreads();
  }
}
TWINS(wrong_stage)

PLANTED(overlapping_vectors) {
  __shared__ __align__(16) float s[512];
  float* p = &s[threadIdx.x * (Repaired ? 4 : 2) & ~3u];
  *reinterpret_cast<float4*>(p) = make_float4(threadIdx.x, 1, 2, 3);  // BUG overlapping_vectors
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}
TWINS(overlapping_vectors)

PLANTED(bits_of_one_byte) {
  __shared__ unsigned char bits[128];
  bits[threadIdx.x] = 0;
  __syncthreads();
  unsigned char* p = &bits[Repaired ? threadIdx.x : threadIdx.x % 64];
  *p = *p | (1 << threadIdx.x / 64);  // BUG bits_of_one_byte
  __syncthreads();
  out[threadIdx.x] = bits[threadIdx.x % 64];
}
TWINS(bits_of_one_byte)

PLANTED(arrives_before_it_writes) {  // the first two warps produce, the others consume
  __shared__ float s[64];
  if (threadIdx.x < 64) {
    if constexpr (!Repaired) asm volatile("bar.arrive 1, 128;" ::: "memory");
    s[threadIdx.x] = in[threadIdx.x];
    if constexpr (Repaired) asm volatile("bar.arrive 1, 128;" ::: "memory");
  } else {
    asm volatile("bar.sync 1, 128;" ::: "memory");
    out[threadIdx.x] = s[threadIdx.x - 64];  // BUG arrives_before_it_writes
  }
}
TWINS(arrives_before_it_writes)

PLANTED(barrier_of_too_few) {  // the barrier joins two of the three warps that share
  __shared__ float s[96];
  s[threadIdx.x] = in[threadIdx.x];
  if constexpr (Repaired)
    asm volatile("bar.sync 1, 96;" ::: "memory");
  else if (threadIdx.x < 64)
    asm volatile("bar.sync 1, 64;" ::: "memory");
  out[threadIdx.x] = s[95 - threadIdx.x];  // BUG barrier_of_too_few
}
TWINS(barrier_of_too_few)

PLANTED(plain_store_beside_atomics) {
  __shared__ int count;
  if (threadIdx.x == 64) count = 0;  // BUG plain_store_beside_atomics
  if constexpr (Repaired) __syncthreads();
  atomicAdd(&count, 1);  // BUG plain_store_beside_atomics
  __syncthreads();
  out[threadIdx.x] = count;
}
TWINS(plain_store_beside_atomics)

PLANTED(only_one_lane_waits) {  // lane 0 learns what the other warp did; its neighbours do not
  __shared__ float s[32];
  __shared__ uint64_t ready;
  if (threadIdx.x == 0) mbarrier_init(&ready, 32);
  __syncthreads();
  if (threadIdx.x >= 32) {
    s[threadIdx.x - 32] = in[threadIdx.x];
    mbarrier_arrive(&ready);
  } else {
    if (Repaired || threadIdx.x == 0) mbarrier_wait(&ready, 0);
    out[threadIdx.x] = s[threadIdx.x];  // BUG only_one_lane_waits
  }
}
TWINS(only_one_lane_waits)
