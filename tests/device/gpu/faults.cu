// Kernels that behave and kernels that do not, all of one signature: the test takes this file's plan and names another kernel in it.
#include <cassert>
#include <cutegen/kernel.cuh>
#include <task.h>

__device__ int64_t first_index() { return int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ bool first_thread() { return first_index() == 0; }

extern "C" __global__ void __launch_bounds__(256) copy(float const* x, float* y, int64_t n) {
  auto const* from = reinterpret_cast<float4 const*>(x);
  auto* to = reinterpret_cast<float4*>(y);
  for (int64_t i = first_index(); i < n / 4; i += int64_t{gridDim.x} * blockDim.x) to[i] = from[i];
}

extern "C" __global__ void nothing(float const* x, float* y, int64_t n) {}

extern "C" __global__ void past_end(float const* x, float* y, int64_t n) {
  if (first_thread()) y[n] = 1.0f;
}

extern "C" __global__ void before_start(float const* x, float* y, int64_t n) {
  if (first_thread()) y[-1] = 1.0f;
}

extern "C" __global__ void write_input(float const* x, float* y, int64_t n) {
  if (first_thread()) const_cast<float*>(x)[n - 1] += 1.0f;
}

extern "C" __global__ void illegal_address(float const* x, float* y, int64_t n) {
  if (first_thread()) y[int64_t{1} << 44] = 1.0f;
}

extern "C" __global__ void misaligned(float const* x, float* y, int64_t n) {
  if (first_thread()) *reinterpret_cast<float volatile*>(reinterpret_cast<char*>(y) + 1) = 1.0f;
}

extern "C" __global__ void endless(float const* x, float* y, int64_t n) {
  while (*static_cast<float const volatile*>(x) >= 0.0f) {
  }
}

extern "C" __global__ void failed_assert(float const* x, float* y, int64_t n) {
  assert(x == nullptr);
}

extern "C" __global__ void trap(float const* x, float* y, int64_t n) {
  if (first_thread()) asm volatile("trap;");
}

CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(copy).grid(132 * 8).block(256).args(cutegen::input(0), cutegen::output(0), task::in0::elements)));
