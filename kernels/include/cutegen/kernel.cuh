// The launch plan of a candidate: which kernels run, in what order, with which shape, memory and arguments.
//
//   #include <cutegen/kernel.cuh>
//   #include <task.h>
//
//   extern "C" __global__ void __launch_bounds__(256) scale(float const* x, float* y, int64_t n) { ... }
//
//   CUTEGEN_PLAN(cutegen::plan(
//       CUTEGEN_LAUNCH(scale).grid(132 * 8).block(256).args(cutegen::input(0), cutegen::output(0), task::in0::elements)));
//
// The plan is computed while compiling and leaves the compiler as the bytes of `cutegen_plan` (plan/format.cuh); nothing of it runs on
// the CPU or the GPU. A plan that contradicts its kernels, the task or the hardware does not compile (plan/check.cuh has the sentences).
//
// task.h is generated for each task:
//   namespace task {
//   inline constexpr int num_inputs, num_params, num_outputs;
//   struct in0 {                              // also in1 ..., param0 ..., out0 ...
//     using type = float;                     // __half, __nv_bfloat16, double, int64_t, int32_t, int16_t, int8_t, uint8_t, bool
//     static constexpr int rank;
//     static constexpr int64_t shape[rank];   // dense, row-major
//     static constexpr int64_t elements, bytes;
//   };
//   }
#pragma once

#include <task.h>

#include "plan/check.cuh"
#include "plan/format.cuh"

// A launch of an `extern "C" __global__` function: .grid(x, y, z) .block(x, y, z) .cluster(x, y, z) .smem(bytes) .cooperative() .pdl() .args(...).
#define CUTEGEN_LAUNCH(kernel) (::cutegen::launch<decltype(&kernel)>(#kernel))

// The plan of this file; exactly one, at namespace scope, behind the kernels.
#define CUTEGEN_PLAN(...)                                                                                                                       \
  inline constexpr auto cutegen_plan_value = (__VA_ARGS__);                                                                                     \
  inline constexpr auto cutegen_plan_finding = ::cutegen::detail::Checker<::cutegen::detail::Tensors<::task::inputs>,                           \
                                                                          ::cutegen::detail::Tensors<::task::params>,                           \
                                                                          ::cutegen::detail::Tensors<::task::outputs>>::check(cutegen_plan_value); \
  static_assert(::cutegen::detail::Verify<cutegen_plan_finding.problem, cutegen_plan_finding.launch, cutegen_plan_finding.arg>::ok);            \
  extern "C" __device__ const auto cutegen_plan =                                                                                               \
      ::cutegen::detail::encode<::cutegen::detail::encoded_size(cutegen_plan_value)>(cutegen_plan_value)
