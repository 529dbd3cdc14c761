// 19_ReLU
//
// Inputs:   x0 float32 [7, 1009]
// Outputs:   float32 [7, 1009]
// Strategy: 1 fused pointwise operator over 7063 elements in one pass, 1 x 4 elements a thread
// Config:   loads cached, stores streaming, threads 256, unroll 1, vec 4
#include <cutegen/kernel.cuh>
#include <cutegen/math.cuh>
#include <cutegen/tile.cuh>

#include <task.h>

using namespace cute;

using Index = int;
constexpr int kThreads = 256;
constexpr int kVec = 4;        // elements an access
constexpr int kUnroll = 1;     // independent accesses a thread
constexpr int kStep = kThreads * kVec;      // elements between two accesses of a thread
constexpr int kTile = kStep * kUnroll;      // elements a CTA
constexpr int64_t kElements = 7063;
constexpr bool kExact = kElements > 0 && kElements % kTile == 0;

static_assert(kThreads % 32 == 0 && kThreads <= 1024);
static_assert((kVec & (kVec - 1)) == 0);

// What each operand's element has to do with the linear index of the outputs.
using Layout_x0 = Layout<Int<7063>, Int<1>>;
using Layout_out = Layout<Int<7063>>;

struct Element {
  float x0;
};

struct Result {
  float out0;
};

// One element of the fused chain.
__device__ __forceinline__ Result map(Element const& e) {
  float const relu = cutegen::relu(e.x0);
  return { relu };
}

extern "C" __global__ void __launch_bounds__(kThreads) k19_relu(float const* __restrict__ in0, float* __restrict__ out0) {
  Tensor g_x0 = make_tensor(make_gmem_ptr(in0), Layout_x0{});  // (kElements)
  Tensor g_out0 = make_tensor(make_gmem_ptr(out0), Layout_out{});  // (kElements)

  // Access u of a thread covers elements k + u * kStep + (0, ..., kVec - 1): a warp's accesses are contiguous.
  Index const k = Index(blockIdx.x) * kTile + Index(threadIdx.x) * kVec;
  Element e[kUnroll][kVec];
  Result y[kUnroll][kVec];

  if (kExact || k + (kUnroll - 1) * kStep + kVec <= kElements) {
    CUTE_UNROLL
    for (int u = 0; u < kUnroll; ++u) {
      cutegen::load<cutegen::Cached, kVec, &Element::x0>(g_x0, k + u * kStep, e[u]);
    }
    CUTE_UNROLL
    for (int u = 0; u < kUnroll; ++u) {
      CUTE_UNROLL
      for (int j = 0; j < kVec; ++j) y[u][j] = map(e[u][j]);
      cutegen::store<cutegen::Streaming, kVec, &Result::out0>(g_out0, k + u * kStep, y[u]);
    }
    return;
  }

  if constexpr (!kExact) {  // the last tile, element by element
    for (int u = 0; u < kUnroll; ++u) {
      for (int j = 0; j < kVec; ++j) {
        Index const at = k + u * kStep + j;
        if (at >= kElements) continue;
        cutegen::load<cutegen::Gather, 1, &Element::x0>(g_x0, at, e[0]);
        y[0][0] = map(e[0][0]);
        cutegen::store<cutegen::Gather, 1, &Result::out0>(g_out0, at, y[0]);
      }
    }
  }
}

CUTEGEN_PLAN(cutegen::plan(
    CUTEGEN_LAUNCH(k19_relu).grid(7).block(kThreads).args(cutegen::input(0), cutegen::output(0))));
