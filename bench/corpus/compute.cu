// Arithmetic: each pipe, chains of different independence, divergence.
#include "corpus.cuh"

template <int CHAINS>
__device__ void fma_chains(float* y, int times) {
  float v[CHAINS];
#pragma unroll
  for (int c = 0; c < CHAINS; ++c) v[c] = threadIdx.x + c;
  for (int t = 0; t < times; ++t)
#pragma unroll
    for (int c = 0; c < CHAINS; ++c) v[c] = v[c] * 0.999f + 0.5f;
  float s = 0;
#pragma unroll
  for (int c = 0; c < CHAINS; ++c) s += v[c];
  y[global_thread()] = s;
}
KERNEL fma1(float* y, int times) { fma_chains<1>(y, times); }
KERNEL fma2(float* y, int times) { fma_chains<2>(y, times); }
KERNEL fma4(float* y, int times) { fma_chains<4>(y, times); }
KERNEL fma8(float* y, int times) { fma_chains<8>(y, times); }
KERNEL int_chain(int* y, int times) {
  int a = threadIdx.x, b = 3;
  for (int t = 0; t < times; ++t) a = (a ^ b) + (a >> 3), b = (b & a) + 7;
  y[global_thread()] = a + b;
}
KERNEL imad_chain(int* y, int times) {
  int a = threadIdx.x, b = 3;
  for (int t = 0; t < times; ++t) a = a * 1664525 + t, b = b * 22695477 + a;
  y[global_thread()] = a + b;
}
KERNEL exp_chain(float* y, int times) {
  float a = threadIdx.x * 0.01f, b = 0.3f;
  for (int t = 0; t < times; ++t) a = __expf(a) * 0.1f, b = __expf(b) * 0.2f;
  y[global_thread()] = a + b;
}
KERNEL sin_full(float const* x, float* y, int n) {
  int i = global_thread();
  if (i < n) y[i] = sinf(x[i]);
}
KERNEL gelu_erf(float4 const* x, float4* y, int n) {
  int i = global_thread();
  if (i >= n) return;
  float4 v = x[i];
  auto g = [](float a) { return 0.5f * a * (1 + erff(a * 0.70710678f)); };
  y[i] = make_float4(g(v.x), g(v.y), g(v.z), g(v.w));
}
KERNEL divide(float const* x, float* y, int n) {
  int i = global_thread();
  if (i < n) y[i] = 1.5f / x[i] + sqrtf(x[i]);
}
KERNEL int_divide(int const* x, int* y, int n, int d) {
  int i = global_thread();
  if (i < n) y[i] = x[i] / d + x[i] % (d + 1);
}
KERNEL fp64_chain(double* y, int times) {
  double a = threadIdx.x, b = 2, c = 3, d = 4;
  for (int t = 0; t < times; ++t) a = a * 0.999 + 0.5, b = b * 0.99 + 0.1, c = c * 0.9 + 0.1, d = d * 0.98 + 1;
  y[global_thread()] = a + b + c + d;
}
KERNEL half2_chain(half2* y, int times) {
  half2 a = __float2half2_rn(threadIdx.x * 0.1f), b = a, c = a, d = a, k = __float2half2_rn(0.5f);
  for (int t = 0; t < times; ++t) a = __hfma2(a, k, k), b = __hfma2(b, k, a), c = __hfma2(c, k, k), d = __hfma2(d, k, c);
  y[global_thread()] = __hadd2(__hadd2(a, b), __hadd2(c, d));
}
KERNEL mandelbrot(int* y, int width, int limit) {
  int i = global_thread();
  float cx = (i % width) * 3.0f / width - 2.0f, cy = (i / width) * 2.0f / width - 1.0f, a = 0, b = 0;
  int t = 0;
  for (; t < limit && a * a + b * b < 4; ++t) {
    float c = a * a - b * b + cx;
    b = 2 * a * b + cy, a = c;
  }
  y[i] = t;
}
KERNEL divergent(float const* x, float* y, int n) {
  int i = global_thread();
  if (i >= n) return;
  float v = x[i];
  switch (threadIdx.x & 3) {
    case 0: for (int k = 0; k < 16; ++k) v = __sinf(v); break;
    case 1: for (int k = 0; k < 16; ++k) v = sqrtf(v + 1); break;
    case 2: for (int k = 0; k < 32; ++k) v = v * v + 0.1f; break;
    default: v = -v;
  }
  y[i] = v;
}
KERNEL local_array(float const* x, float* y, int n) {  // indexed at run time: local memory
  float a[64];
  int i = global_thread();
  for (int k = 0; k < 64; ++k) a[(k * 7 + i) & 63] = x[i] + k;
  float s = 0;
  for (int k = 0; k < 64; ++k) s += a[(k + int(s)) & 63];
  y[i] = s;
}
