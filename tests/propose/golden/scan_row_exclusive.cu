// exclusive_cumsum
//
// Inputs:   x0 float32 [16, 4096]
// Outputs:   float32 [16, 4096]
// Strategy: exclusive sum scan over 4096 of 16 rows, a CTA a row
// Config:   strategy scan_row, threads 128, unroll 4, vec 4
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
[[maybe_unused]] constexpr int64_t kOuter = 16;
constexpr Index kR = 4096;
[[maybe_unused]] constexpr int kInner = 1;

// Where each operand's element lies for (o, r, i).
using Layout_x0 = Layout<Shape<Int<16>, Int<4096>, Int<1>>, Stride<Int<4096>, Int<1>, Int<0>>>;
using Layout_out = Layout<Shape<Int<16>, Int<4096>, Int<1>>, Stride<Int<4096>, Int<1>, Int<0>>>;

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
constexpr int kVec = 4;     // elements an access; divides kR
constexpr int kUnroll = 4;  // accesses a thread and tile
constexpr int kAccess = 32 * kVec;  // elements of one access of a warp
constexpr Index kTile = kThreads / 32 * kUnroll * kAccess;
constexpr bool kExact = kR % kTile == 0;

static_assert(kThreads % 32 == 0 && kThreads <= 1024);
static_assert(kR % kVec == 0 && kInner == 1);

// A CTA a row, tile by tile. A thread's element (u, v) is number u * kAccess + v after its first, in the order of the scan.
extern "C" __global__ void __launch_bounds__(kThreads) exclusive_cumsum(float const* __restrict__ in0, float* __restrict__ out0) {
  __shared__ cutegen::ScanStorage<Op, kThreads> storage;
  int64_t const o = blockIdx.x;
  Tensor g_x0 = make_tensor(make_gmem_ptr(in0), Layout_x0{})(o, _, 0);  // (kR)
  Tensor g_out0 = make_tensor(make_gmem_ptr(out0), Layout_out{})(o, _, 0);  // (kR)

  Index const first = Index(threadIdx.x / 32) * kUnroll * kAccess + Index(threadIdx.x % 32) * kVec;
  Op::Wide carry = Op::neutral();
  int parity = 0;
  for (Index tile = 0; tile < kR; tile += kTile, parity ^= 1) {
    Element e[kUnroll][kVec];
    CUTE_UNROLL
    for (int u = 0; u < kUnroll; ++u) {
      Index const at = tile + first + u * kAccess;
      if (kExact || at < kR) {
        cutegen::load<cutegen::Streaming, kVec, &Element::x0>(g_x0, at, e[u]);
      }
    }
    Value t[kUnroll][kVec];
    CUTE_UNROLL
    for (int u = 0; u < kUnroll; ++u) {
      bool const live = kExact || tile + first + u * kAccess < kR;
      CUTE_UNROLL
      for (int v = 0; v < kVec; ++v) t[u][v] = live ? term(e[u][v]) : Op::neutral();
    }
    cutegen::tile_scan<Op, kThreads, true>(t, carry, storage, parity);
    CUTE_UNROLL
    for (int u = 0; u < kUnroll; ++u) {
      Index const at = tile + first + u * kAccess;
      if (!kExact && at >= kR) continue;
      Result y[kVec];
      CUTE_UNROLL
      for (int v = 0; v < kVec; ++v) y[v].out0 = t[u][v];
      cutegen::store<cutegen::Streaming, kVec, &Result::out0>(g_out0, at, y);
    }
  }
}

CUTEGEN_PLAN(cutegen::plan(
    CUTEGEN_LAUNCH(exclusive_cumsum).grid(16).block(kThreads).args(cutegen::input(0), cutegen::output(0))));
