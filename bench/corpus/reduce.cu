// Reductions, atomics, scans, histograms.
#include "corpus.cuh"

__device__ float warp_sum(float v) {
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);
  return v;
}
__device__ float block_sum(float v) {
  __shared__ float part[32];
  v = warp_sum(v);
  __syncthreads();
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  return warp_sum(threadIdx.x % 32 < blockDim.x / 32 ? part[threadIdx.x % 32] : 0.0f);
}
KERNEL sum_atomic(float const* x, float* y, int n) {
  float s = 0;
  for (int i = global_thread(); i < n; i += all_threads()) s += x[i];
  s = block_sum(s);
  if (threadIdx.x == 0) atomicAdd(y, s);
}
KERNEL row_sum(float const* x, float* y, int columns) {
  float s = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) s += x[size_t(blockIdx.x) * columns + i];
  s = block_sum(s);
  if (threadIdx.x == 0) y[blockIdx.x] = s;
}
KERNEL column_sum(float const* x, float* y, int rows, int columns) {
  int c = global_thread();
  float s = 0;
  for (int r = 0; r < rows; ++r) s += x[size_t(r) * columns + c];
  y[c] = s;
}
KERNEL softmax_row(float const* x, float* y, int columns) {
  float const* row = x + size_t(blockIdx.x) * columns;
  float s = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) s += __expf(row[i]);
  s = 1 / block_sum(s);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) y[size_t(blockIdx.x) * columns + i] = __expf(row[i]) * s;
}
KERNEL layer_norm_row(float4 const* x, float4* y, int vectors) {  // one warp a row
  int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  float4 v[8];
  float s = 0, q = 0;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    v[k] = x[size_t(row) * vectors + k * 32 + lane];
    s += v[k].x + v[k].y + v[k].z + v[k].w;
    q += v[k].x * v[k].x + v[k].y * v[k].y + v[k].z * v[k].z + v[k].w * v[k].w;
  }
  float mean = warp_sum(s) / 1024, scale = rsqrtf(warp_sum(q) / 1024 - mean * mean + 1e-5f);
#pragma unroll
  for (int k = 0; k < 8; ++k)
    y[size_t(row) * vectors + k * 32 + lane] =
        make_float4((v[k].x - mean) * scale, (v[k].y - mean) * scale, (v[k].z - mean) * scale, (v[k].w - mean) * scale);
}
KERNEL atomic_spread(int const* index, int* y, int n) {
  int i = global_thread();
  if (i < n) atomicAdd(y + index[i], 1);
}
KERNEL atomic_same(int* y, int n) {  // all threads of a warp add to one address, warps to 64 addresses
  int i = global_thread();
  if (i < n) atomicAdd(y + (i / 32) % 64 * 32, i & 1);
}
KERNEL atomic_coalesced(float* y, int n) {
  int i = global_thread();
  if (i < n) atomicAdd(y + i, 1.0f);
}
KERNEL histogram_smem(int const* x, int* y, int n) {
  __shared__ int bins[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) bins[i] = 0;
  __syncthreads();
  for (int i = global_thread(); i < n; i += all_threads()) atomicAdd(bins + (x[i] & 255), 1);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(y + i, bins[i]);
}
KERNEL scan_block(float const* x, float* y) {  // Hillis-Steele over 1024 elements: twenty barriers
  __shared__ float s[2][1024];
  int i = threadIdx.x, at = 0;
  s[0][i] = x[global_thread()];
  for (int d = 1; d < 1024; d *= 2) {
    __syncthreads();
    s[1 - at][i] = s[at][i] + (i >= d ? s[at][i - d] : 0.0f);
    at = 1 - at;
  }
  __syncthreads();
  y[global_thread()] = s[at][i];
}
KERNEL barriers_only(float* y, int times) {
  float v = threadIdx.x;
  for (int t = 0; t < times; ++t) {
    __syncthreads();
    v += 1.0f;
  }
  y[global_thread()] = v;
}
