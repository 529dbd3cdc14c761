// Bounds, alignment, lifetime, uninitialised memory.
#include "planted.h"

PLANTED(past_end_global) {
  const int i = 16380 + threadIdx.x / 4;
  if (!Repaired || i < 16384) out[i] = 1;  // BUG past_end_global
}
TWINS(past_end_global)

PLANTED(before_start_global) {
  const int i = static_cast<int>(threadIdx.x) - (Repaired ? 0 : 1);
  out[i] = 1;  // BUG before_start_global
}
TWINS(before_start_global)

PLANTED(past_end_shared) {
  __shared__ float s[64];
  for (int i = threadIdx.x; i < (Repaired ? 64 : 96); i += 32) s[i] = i;  // BUG past_end_shared
  __syncwarp();
  out[threadIdx.x] = s[63 - threadIdx.x];
}
TWINS(past_end_shared)

PLANTED(dynamic_shared_overflow) {  // launched with 128 bytes
  extern __shared__ float dynamic[];
  const int i = Repaired ? threadIdx.x : threadIdx.x + 1;
  dynamic[i] = 1;  // BUG dynamic_shared_overflow
}
TWINS(dynamic_shared_overflow)

PLANTED(past_end_local) {
  float local[8];
  for (int i = 0; i < 8; ++i) local[i] = in[i];
  float sum = 0;
  const int n = 8 + zeros[0] + (Repaired ? 0 : 1024);
#pragma unroll 1
  for (int i = 0; i < n; ++i) sum += local[i ^ zeros[1]];  // BUG past_end_local
  out[threadIdx.x] = sum;
}
TWINS(past_end_local)

PLANTED(misaligned_vector_load) {
  const float* p = in + (Repaired ? 4 : 2);
  const float4 v = *reinterpret_cast<const float4*>(p);  // BUG misaligned_vector_load
  out[threadIdx.x] = v.x + v.w;
}
TWINS(misaligned_vector_load)

PLANTED(misaligned_shared_store) {
  __shared__ __align__(16) char s[256];
  *reinterpret_cast<volatile float*>(s + threadIdx.x * 4 + (Repaired ? 0 : 1)) = 1;  // BUG misaligned_shared_store
}
TWINS(misaligned_shared_store)

PLANTED(null_pointer) {
  const float* p = Repaired ? in : nullptr;
  out[threadIdx.x] = *const_cast<const volatile float*>(p + threadIdx.x);  // BUG null_pointer
}
TWINS(null_pointer)

PLANTED(writes_its_input) {
  float* p = Repaired ? out : const_cast<float*>(in);
  p[threadIdx.x] = 1;  // BUG writes_its_input
}
TWINS(writes_its_input)

PLANTED(freed_workspace) {
  const float* p = Repaired ? in : freed;
  out[threadIdx.x] = p[threadIdx.x];  // BUG freed_workspace
}
TWINS(freed_workspace)

__constant__ float table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
PLANTED(past_end_constant) {
  const int i = threadIdx.x % 8 + (Repaired ? 0 : 4096);
  out[threadIdx.x] = table[i];  // BUG past_end_constant
}
TWINS(past_end_constant)

__device__ int module_counters[16];
PLANTED(past_end_module_variable) {
  const int i = threadIdx.x + (Repaired ? 0 : 16);
  if (i < 32 && (!Repaired || i < 16)) atomicAdd(&module_counters[i], 1);  // BUG past_end_module_variable
}
TWINS(past_end_module_variable)

PLANTED(uninitialised_workspace) {
  if (Repaired) work[threadIdx.x] = 0;
  const float old = work[threadIdx.x];  // BUG uninitialised_workspace
  out[threadIdx.x] = old + in[threadIdx.x];
}
TWINS(uninitialised_workspace)

PLANTED(uninitialised_accumulator) {
  if (Repaired) {
    if (threadIdx.x == 0) work[5] = 0;
    __syncwarp();
  }
  atomicAdd(&work[5], in[threadIdx.x]);  // BUG uninitialised_accumulator
}
TWINS(uninitialised_accumulator)

PLANTED(uninitialised_border) {
  __shared__ float tile[34];
  tile[threadIdx.x + 1] = in[threadIdx.x];
  if (Repaired && threadIdx.x < 2) tile[threadIdx.x * 33] = 0;
  __syncwarp();
  out[threadIdx.x] = tile[threadIdx.x] + tile[threadIdx.x + 2];  // BUG uninitialised_border
}
TWINS(uninitialised_border)

PLANTED(uninitialised_byte) {
  __shared__ unsigned char flags[64];
  if (Repaired || threadIdx.x != 7) flags[threadIdx.x] = threadIdx.x;
  __syncwarp();
  out[threadIdx.x] = *const_cast<volatile unsigned char*>(&flags[31 - threadIdx.x]);  // BUG uninitialised_byte
}
TWINS(uninitialised_byte)

PLANTED(uninitialised_local) {
  float local[16];
  const int n = 12 + zeros[0];
#pragma unroll 1
  for (int i = 0; i < (Repaired ? 16 : n); ++i) local[i] = in[i];
  float sum = 0;
#pragma unroll 1
  for (int i = zeros[1]; i < 16; ++i) sum += local[i];  // BUG uninitialised_local
  out[threadIdx.x] = sum;
}
TWINS(uninitialised_local)

PLANTED(uninitialised_register) {
  float v;
  if (Repaired)
    asm volatile("{\n.reg .f32 t;\nmov.f32 t, 0f3F800000;\nadd.f32 %0, t, %1;\n}" : "=f"(v) : "f"(in[0]));
  else
    asm volatile("{\n.reg .f32 t;\nadd.f32 %0, t, %1;\n}" : "=f"(v) : "f"(in[0]));  // BUG uninitialised_register
  out[threadIdx.x] = v;
}
TWINS(uninitialised_register)

PLANTED(register_set_by_some_lanes) {
  float v;
  asm volatile(
      "{\n.reg .f32 t;\n.reg .pred p;\nsetp.lt.u32 p, %2, %3;\n@p mov.f32 t, 0f3F800000;\nadd.f32 %0, t, %1;\n}"
      : "=f"(v)
      : "f"(in[0]), "r"(threadIdx.x), "r"(Repaired ? 32 : 31));  // BUG register_set_by_some_lanes
  out[threadIdx.x] = v;
}
TWINS(register_set_by_some_lanes)
