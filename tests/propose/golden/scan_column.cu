// cumsum
//
// Inputs:   x0 float32 [8, 512, 96]
// Outputs:   float32 [8, 512, 96]
// Strategy: sum scan over 512 of 768 rows, a thread for 4 neighbouring columns
// Config:   strategy scan_column, threads 128, unroll 8, vec 4
#include <cutegen/kernel.cuh>
#include <cutegen/math.cuh>
#include <cutegen/scan.cuh>
#include <cutegen/tile.cuh>

#include <task.h>

using namespace cute;

using Index = int;
using Op = cutegen::ScanSum<float>;
using Value = Op::Value;

// The tensor is [kOuter, kR, kInner]; the scan runs along kR.
[[maybe_unused]] constexpr int64_t kOuter = 8;
constexpr Index kR = 512;
[[maybe_unused]] constexpr int kInner = 96;

// Where each operand's element lies for (o, r, i).
using Layout_x0 = Layout<Shape<Int<8>, Int<512>, Int<96>>, Stride<Int<49152>, Int<96>, Int<1>>>;
using Layout_out = Layout<Shape<Int<8>, Int<512>, Int<96>>, Stride<Int<49152>, Int<96>, Int<1>>>;

struct Element {
  float x0;
};

struct Result {
  Value out0;
};

// What is scanned.
__device__ __forceinline__ Value term(Element const& e) {
  return static_cast<Value>(e.x0);
}

constexpr int kThreads = 128;
constexpr int kVec = 4;     // neighbouring columns a thread; divides kInner
constexpr int kUnroll = 8;  // rows in flight a thread

constexpr int kTiles = (kInner + kThreads * kVec - 1) / (kThreads * kVec);  // CTAs along kInner
static_assert(kThreads % 32 == 0 && kThreads <= 1024);
static_assert(kInner % kVec == 0);

// A thread walks kVec neighbouring columns.
extern "C" __global__ void __launch_bounds__(kThreads) cumsum(float const* __restrict__ in0, float* __restrict__ out0) {
  int64_t const o = blockIdx.x / kTiles;
  int const i = (blockIdx.x % kTiles * kThreads + threadIdx.x) * kVec;
  if (i >= kInner) return;
  Tensor g_x0 = make_tensor(make_gmem_ptr(in0), Layout_x0{})(o, _, _);  // (kR, kInner)
  Tensor g_out0 = make_tensor(make_gmem_ptr(out0), Layout_out{})(o, _, _);  // (kR, kInner)

  Op::Wide total[kVec];
  CUTE_UNROLL
  for (int v = 0; v < kVec; ++v) total[v] = Op::neutral();
  for (Index done = 0; done < kR; done += kUnroll) {
    Element e[kUnroll][kVec];
    CUTE_UNROLL
    for (int u = 0; u < kUnroll; ++u) {
      Index const r = done + u;
      if (kR % kUnroll == 0 || done + u < kR) {
        cutegen::load<cutegen::Streaming, kVec, &Element::x0>(g_x0(r, _), i, e[u]);
      }
    }
    CUTE_UNROLL
    for (int u = 0; u < kUnroll; ++u) {
      Index const r = done + u;
      if (kR % kUnroll != 0 && done + u >= kR) continue;
      Result y[kVec];
      CUTE_UNROLL
      for (int v = 0; v < kVec; ++v) {
        Op::Wide const next = Op::combine(total[v], static_cast<Op::Wide>(term(e[u][v])));
        y[v].out0 = static_cast<Value>(next);
        total[v] = next;
      }
      cutegen::store<cutegen::Streaming, kVec, &Result::out0>(g_out0(r, _), i, y);
    }
  }
}

CUTEGEN_PLAN(cutegen::plan(
    CUTEGEN_LAUNCH(cumsum).grid(8).block(kThreads).args(cutegen::input(0), cutegen::output(0))));
