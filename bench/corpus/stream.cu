// Streams: coalesced, vectorised, strided, misaligned and indexed accesses to global memory.
#include "corpus.cuh"

KERNEL copy1(float const* x, float* y, int n) {
  int i = global_thread();
  if (i < n) y[i] = x[i];
}
KERNEL copy4(float4 const* x, float4* y, int n) {
  int i = global_thread();
  if (i < n) y[i] = x[i];
}
KERNEL copy4_unrolled(float4 const* x, float4* y, int n) {
  int i = blockIdx.x * blockDim.x * 4 + threadIdx.x;
  float4 v[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) v[k] = x[i + k * blockDim.x];
#pragma unroll
  for (int k = 0; k < 4; ++k) y[i + k * blockDim.x] = v[k];
}
KERNEL copy_loop(float const* x, float* y, int n) {
  for (int i = global_thread(); i < n; i += all_threads()) y[i] = x[i];
}
KERNEL axpy_loop(float a, float const* x, float* y, int n) {
  for (int i = global_thread(); i < n; i += all_threads()) y[i] = a * x[i] + y[i];
}
KERNEL triad4(float4 const* x, float4 const* z, float4* y, float a, int n) {
  int i = global_thread();
  if (i >= n) return;
  float4 p = x[i], q = z[i];
  y[i] = make_float4(p.x + a * q.x, p.y + a * q.y, p.z + a * q.z, p.w + a * q.w);
}
KERNEL fill4(float4* y, float a, int n) {
  int i = global_thread();
  if (i < n) y[i] = make_float4(a, a, a, a);
}
KERNEL read4(float4 const* x, float* y, int n) {
  float s = 0;
  for (int i = global_thread(); i < n; i += all_threads()) {
    float4 v = x[i];
    s += v.x + v.y + v.z + v.w;
  }
  if (s == -1.0f) y[0] = s;
}
KERNEL copy_misaligned(float const* x, float* y, int n) {
  int i = global_thread();
  if (i < n) y[i] = x[i + 1];
}
KERNEL copy_bytes(unsigned char const* x, unsigned char* y, int n) {
  int i = global_thread();
  if (i < n) y[i] = x[i];
}
KERNEL copy_half2(half2 const* x, half2* y, int n) {
  int i = global_thread();
  if (i < n) y[i] = __hmul2(x[i], x[i]);
}
KERNEL copy_double(double const* x, double* y, int n) {
  int i = global_thread();
  if (i < n) y[i] = x[i];
}
KERNEL strided_read(float const* x, float* y, int n, int stride) {
  int i = global_thread();
  if (i < n) y[i] = x[i * stride];
}
KERNEL strided_write(float const* x, float* y, int n, int stride) {
  int i = global_thread();
  if (i < n) y[i * stride] = x[i];
}
KERNEL gather(int const* index, float const* x, float* y, int n) {
  int i = global_thread();
  if (i < n) y[i] = x[index[i]];
}
KERNEL scatter(int const* index, float const* x, float* y, int n) {
  int i = global_thread();
  if (i < n) y[index[i]] = x[i];
}
KERNEL reread(float const* x, float* y, int n, int times) {  // each CTA reads its own 16 KB again and again: L1 hits
  float s = 0;
  float const* mine = x + blockIdx.x * 4096;
  for (int t = 0; t < times; ++t)
    for (int i = threadIdx.x; i < 4096; i += blockDim.x) s += mine[(i + t * 32) & 4095];
  y[global_thread()] = s;
}
KERNEL read_shared_table(float4 const* x, float* y, int n) {  // every CTA reads all of x: L2 hits
  float s = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    float4 v = __ldcg(x + (i + blockIdx.x * 64) % n);
    s += v.x + v.y + v.z + v.w;
  }
  y[global_thread()] = s;
}
