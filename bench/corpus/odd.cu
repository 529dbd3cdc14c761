// Latency, low occupancy, odd launch shapes.
#include "corpus.cuh"

KERNEL nothing() {}
KERNEL chase(int const* next, int* y, int times) {  // one dependent load after another
  int at = global_thread() * 32;
  for (int t = 0; t < times; ++t) at = next[at];
  y[global_thread()] = at;
}
KERNEL chase_smem(int* y, int times) {
  __shared__ int next[1024];
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) next[i] = (i * 5 + 37) & 1023;
  __syncthreads();
  int at = threadIdx.x;
  for (int t = 0; t < times; ++t) at = next[at];
  y[global_thread()] = at;
}
KERNEL low_occupancy(float const* x, float* y, int n) {  // most of the shared memory: one CTA of 128 threads on an SM
  extern __shared__ float s[];
  float v = 0;
  for (int i = global_thread(); i < n; i += all_threads()) v += x[i];
  s[threadIdx.x] = v;
  __syncthreads();
  y[global_thread()] = s[threadIdx.x ^ 1];
}
KERNEL low_occupancy_ilp(float const* x, float* y, int n) {
  extern __shared__ float s[];
  float v[8] = {};
  for (int i = global_thread(); i < n; i += all_threads() * 8)
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] += x[i + k * all_threads()];
  s[threadIdx.x] = v[0] + v[1] + v[2] + v[3] + v[4] + v[5] + v[6] + v[7];
  __syncthreads();
  y[global_thread()] = s[threadIdx.x ^ 1];
}
KERNEL uneven(float* y, int times) {  // later CTAs work longer
  float v = threadIdx.x;
  for (int t = 0; t < times * int(blockIdx.x % 16 + 1); ++t) v = v * 0.99f + 0.1f;
  y[global_thread()] = v;
}
KERNEL odd_block(float const* x, float* y) {
  int i = (blockIdx.x * blockDim.z + threadIdx.z) * blockDim.y * blockDim.x + threadIdx.y * blockDim.x + threadIdx.x;
  y[i] = x[i] * 2 + threadIdx.y;
}
KERNEL __launch_bounds__(1024) many_registers(float const* x, float* y, int n) {
  float v[32];
  int i = global_thread();
#pragma unroll
  for (int k = 0; k < 32; ++k) v[k] = x[(i + k * 8192) % n];
#pragma unroll
  for (int k = 0; k < 32; ++k) v[k] = v[k] * v[(k * 7) % 32] + v[(k * 5 + 3) % 32];
  float s = 0;
#pragma unroll
  for (int k = 0; k < 32; ++k) s += v[k];
  y[i] = s;
}
KERNEL __cluster_dims__(4, 1, 1) cluster_sum(float const* x, float* y, int per_cta) {  // partial sums through distributed shared memory
  __shared__ float part[256];
  float v = 0;
  for (int i = threadIdx.x; i < per_cta; i += 256) v += x[blockIdx.x * per_cta + i];
  part[threadIdx.x] = v;
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  float s = 0;
  for (unsigned r = 0; r < 4; ++r) {
    unsigned remote;
    float w;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(shared_address(part + threadIdx.x)), "r"(r));
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(w) : "r"(remote) : "memory");
    s += w;
  }
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  y[global_thread()] = s;
}
