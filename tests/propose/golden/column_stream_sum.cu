// 47_Reduction
//
// Inputs:   x0 float32 [128, 4096, 4095]
// Outputs:   float32 [128, 1, 4095]
// Strategy: [128, 4096, 4095] reduced over the middle in 1 pass, threads along the columns, every pass reads them from memory
// Config:   strategy column_stream, threads_x 512, threads_y 1, unroll 8, vec 1
#include <cutegen/kernel.cuh>
#include <cutegen/math.cuh>
#include <cutegen/reduce.cuh>
#include <cutegen/tile.cuh>

#include <task.h>

using namespace cute;

constexpr int kThreadsX = 512;  // along kInner
constexpr int kThreadsY = 1;  // along kR
constexpr int kThreads = kThreadsX * kThreadsY;
constexpr int kVec = 1;     // neighbouring columns a thread; divides kInner

constexpr int kUnroll = 8;  // independent accesses in flight a thread

using Index = int;
// The domain is [kOuter, kR, kInner]; a row runs over kR.
[[maybe_unused]] constexpr int64_t kOuter = 128;
constexpr Index kR = 4096;
[[maybe_unused]] constexpr int kInner = 4095;
[[maybe_unused]] constexpr double kCount = static_cast<double>(kR);

// Where each operand's element lies for (o, r, i).
using Layout_x0 = Layout<Shape<Int<128>, Int<4096>, Int<4095>>, Stride<Int<16773120>, Int<4095>, Int<1>>>;

// What one position of a row brings.
struct Element {
  float x0;
};

// What is known of a whole row: operands that do not vary along it, the reductions' results, and what follows from them.
struct Row {
  float sum_1;
};

// Reduction pass 1: sum of x0.
struct alignas(8) Level1 {
  cutegen::Sum<float> sum_acc;

  template <int N>
  __device__ __forceinline__ void add(Element const (&batch)[N], Row const& row) {
    float sum_acc_terms[N];
    CUTE_UNROLL
    for (int j = 0; j < N; ++j) {
      Element const& e = batch[j];

      sum_acc_terms[j] = e.x0;
    }
    sum_acc.add(sum_acc_terms);
  }
  __device__ __forceinline__ void merge(Level1 const& other) {
    sum_acc.merge(other.sum_acc);
  }
  __device__ __forceinline__ void finish(Row& row) const {
    row.sum_1 = static_cast<float>(sum_acc.value());
  }
};

// What is known of row (o, i) before any reduction.
__device__ __forceinline__ Row begin(int64_t o, int i) {
  Row row{};

  return row;
}

constexpr int kTiles = (kInner + kThreadsX * kVec - 1) / (kThreadsX * kVec);  // CTAs along kInner
static_assert(kInner % kVec == 0 && kThreads <= 1024);

// A CTA for kThreadsX * kVec neighbouring columns of one o; the threads of a column share its kR elements.
extern "C" __global__ void __launch_bounds__(kThreads) k47_reduction(float const* __restrict__ in0, float* __restrict__ out0) {
  int const tx = threadIdx.x % kThreadsX, ty = threadIdx.x / kThreadsX;
  int64_t const o = blockIdx.x / kTiles;
  int const i = (blockIdx.x % kTiles * kThreadsX + tx) * kVec;
  bool const live = i < kInner;
  Tensor g_x0 = make_tensor(make_gmem_ptr(in0), Layout_x0{})(o, _, _);  // (kR, kInner)
  Row row[kVec];
  CUTE_UNROLL
  for (int v = 0; v < kVec; ++v) row[v] = begin(o, live ? i + v : 0);

  Level1 level1[kVec];

  if (live) {
    Index const end = kR;
    Index r = ty;
    for (; r + (kUnroll - 1) * kThreadsY < end; r += kUnroll * kThreadsY) {
      Element e[kVec][kUnroll];
      CUTE_UNROLL
      for (int u = 0; u < kUnroll; ++u) {
        Element across[kVec];
        cutegen::load<cutegen::Streaming, kVec, &Element::x0>(g_x0(r + u * kThreadsY, _), i, across);
        CUTE_UNROLL
        for (int v = 0; v < kVec; ++v) e[v][u] = across[v];
      }
      CUTE_UNROLL
      for (int v = 0; v < kVec; ++v) level1[v].add(e[v], row[v]);
    }
    for (; r < end; r += kThreadsY) {
      Element across[kVec];
      cutegen::load<cutegen::Streaming, kVec, &Element::x0>(g_x0(r, _), i, across);
      CUTE_UNROLL
      for (int v = 0; v < kVec; ++v) {
        Element const one[1] = {across[v]};
        level1[v].add(one, row[v]);
      }
    }
  }
  cutegen::column_merge<kThreadsX, kThreadsY>(level1);
  CUTE_UNROLL
  for (int v = 0; v < kVec; ++v) level1[v].finish(row[v]);
  if (!live) return;

  if (ty == 0) {
    CUTE_UNROLL
    for (int v = 0; v < kVec; ++v) out0[o * kInner + i + v] = static_cast<float>(row[v].sum_1);
  }
}

CUTEGEN_PLAN(cutegen::plan(
    CUTEGEN_LAUNCH(k47_reduction).grid(1024).block(kThreads).args(cutegen::input(0), cutegen::output(0))));
