// Data that crosses shared memory: transposes, bank conflicts, asynchronous copies.
#include "corpus.cuh"

KERNEL transpose_naive(float const* x, float* y, int n) {
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8) y[c * n + r + k] = x[(r + k) * n + c];
}
template <int PAD>
__device__ void transpose_tile(float const* x, float* y, int n) {
  __shared__ float tile[32][32 + PAD];
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8) tile[threadIdx.y + k][threadIdx.x] = x[(r + k) * n + c];
  __syncthreads();
  c = blockIdx.y * 32 + threadIdx.x, r = blockIdx.x * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8) y[(r + k) * n + c] = tile[threadIdx.x][threadIdx.y + k];
}
KERNEL transpose_conflicts(float const* x, float* y, int n) { transpose_tile<0>(x, y, n); }
KERNEL transpose_padded(float const* x, float* y, int n) { transpose_tile<1>(x, y, n); }
KERNEL transpose_pad2(float const* x, float* y, int n) { transpose_tile<2>(x, y, n); }
KERNEL transpose_pad8(float const* x, float* y, int n) { transpose_tile<8>(x, y, n); }

KERNEL smem_stride(float* y, int stride, int times) {  // conflicts of degree gcd(stride, 32)
  __shared__ float s[8192];
  for (int i = threadIdx.x; i < 8192; i += blockDim.x) s[i] = i;
  __syncthreads();
  float v = 0;
  int at = threadIdx.x * stride;
  for (int t = 0; t < times; ++t) v += s[(at + t * 33) & 8191];
  y[global_thread()] = v;
}
KERNEL smem_vec4(float* y, int times) {
  __shared__ float4 s[2048];
  for (int i = threadIdx.x; i < 2048; i += blockDim.x) s[i] = make_float4(i, 1, 2, 3);
  __syncthreads();
  float v = 0;
  for (int t = 0; t < times; ++t) {
    float4 q = s[(threadIdx.x + t * 32) & 2047];
    v += q.x + q.y + q.z + q.w;
  }
  y[global_thread()] = v;
}
KERNEL smem_vec4_conflicts(float* y, int times) {
  __shared__ float4 s[2048];
  for (int i = threadIdx.x; i < 2048; i += blockDim.x) s[i] = make_float4(i, 1, 2, 3);
  __syncthreads();
  float v = 0;
  for (int t = 0; t < times; ++t) {
    float4 q = s[(threadIdx.x * 2 + t * 32) & 2047];
    v += q.x + q.y + q.z + q.w;
  }
  y[global_thread()] = v;
}
KERNEL smem_double(double* y, int times) {
  __shared__ double s[4096];
  for (int i = threadIdx.x; i < 4096; i += blockDim.x) s[i] = i;
  __syncthreads();
  double v = 0;
  for (int t = 0; t < times; ++t) v += s[(threadIdx.x * 3 + t * 32) & 4095];
  y[global_thread()] = v;
}
KERNEL smem_broadcast(float* y, int times) {
  __shared__ float s[1024];
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) s[i] = i;
  __syncthreads();
  float v = 0;
  for (int t = 0; t < times; ++t) v += s[t & 1023] * s[(t * 7) & 1023];
  y[global_thread()] = v;
}
KERNEL smem_store_stride(float* y, int stride, int times) {
  __shared__ float s[8192];
  for (int t = 0; t < times; ++t) s[(threadIdx.x * stride + t * 33) & 8191] = t;
  __syncthreads();
  y[global_thread()] = s[threadIdx.x];
}
// A ring of four tiles filled by cp.async.
KERNEL cp_async_ring(float4 const* x, float4* y, int tiles) {
  __shared__ float4 ring[4][256];
  float4 const* mine = x + size_t(blockIdx.x) * tiles * 256;
  auto fetch = [&](int t) {
    if (t < tiles)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(&ring[t & 3][threadIdx.x])), "l"(mine + t * 256 + threadIdx.x));
    asm volatile("cp.async.commit_group;");
  };
  for (int t = 0; t < 3; ++t) fetch(t);
  float4 s = make_float4(0, 0, 0, 0);
  for (int t = 0; t < tiles; ++t) {
    asm volatile("cp.async.wait_group 2;");
    __syncthreads();
    float4 v = ring[t & 3][threadIdx.x ^ 1];
    s.x += v.x, s.y += v.y, s.z += v.z, s.w += v.w;
    fetch(t + 3);
  }
  y[global_thread()] = s;
}
// One thread fetches 16 KB at a time with the bulk engine, two stages.
KERNEL bulk_copy_ring(float4 const* x, float4* y, int tiles) {
  __shared__ alignas(128) float4 ring[2][1024];
  __shared__ unsigned long long full[2];
  float4 const* mine = x + size_t(blockIdx.x) * tiles * 1024;
  unsigned const bar[2] = {shared_address(&full[0]), shared_address(&full[1])};
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(bar[0]));
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(bar[1]));
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  __syncthreads();
  auto fetch = [&](int t) {
    if (threadIdx.x != 0 || t >= tiles) return;
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 16384;" ::"r"(bar[t & 1]) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 16384, [%2];" ::"r"(shared_address(ring[t & 1])),
                 "l"(mine + t * 1024), "r"(bar[t & 1])
                 : "memory");
  };
  fetch(0), fetch(1);
  float4 s = make_float4(0, 0, 0, 0);
  for (int t = 0; t < tiles; ++t) {
    asm volatile(
        "{ .reg .pred p;\nWAIT: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@p bra DONE;\nbra WAIT;\nDONE: }" ::"r"(bar[t & 1]),
        "r"((t >> 1) & 1)
        : "memory");
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) {
      float4 v = ring[t & 1][i];
      s.x += v.x, s.y += v.y, s.z += v.z, s.w += v.w;
    }
    __syncthreads();
    fetch(t + 2);
  }
  y[global_thread()] = s;
}
