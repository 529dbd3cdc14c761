// Neighbourhoods: reuse through L1, L2 and shared memory.
#include "corpus.cuh"

KERNEL stencil3(float const* x, float* y, int n) {
  int i = global_thread();
  if (i > 0 && i < n - 1) y[i] = 0.25f * x[i - 1] + 0.5f * x[i] + 0.25f * x[i + 1];
}
KERNEL stencil5(float const* x, float* y, int w, int h) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (c < 1 || r < 1 || c >= w - 1 || r >= h - 1) return;
  float const* p = x + r * w + c;
  y[r * w + c] = p[0] + 0.2f * (p[-1] + p[1] + p[-w] + p[w]);
}
KERNEL stencil7(float const* x, float* y, int w, int h, int d) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
  if (c < 1 || r < 1 || z < 1 || c >= w - 1 || r >= h - 1 || z >= d - 1) return;
  float const* p = x + (z * h + r) * w + c;
  y[(z * h + r) * w + c] = p[0] + 0.1f * (p[-1] + p[1] + p[-w] + p[w] + p[-w * h] + p[w * h]);
}
KERNEL stencil_tile(float const* x, float* y, int w, int h) {
  __shared__ float t[18][34];
  int c0 = blockIdx.x * 32 - 1, r0 = blockIdx.y * 16 - 1;
  for (int i = threadIdx.y * 32 + threadIdx.x; i < 18 * 34; i += 512) {
    int r = min(max(r0 + i / 34, 0), h - 1), c = min(max(c0 + i % 34, 0), w - 1);
    t[i / 34][i % 34] = x[r * w + c];
  }
  __syncthreads();
  float s = 0;
#pragma unroll
  for (int a = 0; a < 3; ++a)
#pragma unroll
    for (int b = 0; b < 3; ++b) s += t[threadIdx.y + a][threadIdx.x + b];
  y[(r0 + 1 + threadIdx.y) * w + c0 + 1 + threadIdx.x] = s / 9;
}
__constant__ float filter[25] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25};
KERNEL conv5x5(float const* x, float* y, int w, int h) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (c >= w - 4 || r >= h - 4) return;
  float s = 0;
#pragma unroll
  for (int a = 0; a < 5; ++a)
#pragma unroll
    for (int b = 0; b < 5; ++b) s += x[(r + a) * w + c + b] * filter[a * 5 + b];
  y[r * w + c] = s;
}
KERNEL max_pool(float const* x, float* y, int w, int h) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y;
  float const* p = x + r * 2 * w + c * 2;
  if (c < w / 2) y[r * (w / 2) + c] = fmaxf(fmaxf(p[0], p[1]), fmaxf(p[w], p[w + 1]));
}
