// 47_Reduction
//
// Inputs:   x0 float32 [1000000, 3]
// Outputs:   float32 [1, 3]
// Strategy: [1, 1000000, 3] reduced over the middle in 1 pass, 1056 CTAs a column leave partial results that later launches merge
// Config:   splits 1056, strategy column_split, threads_x 4, threads_y 64, unroll 4, vec 1
#include <cutegen/kernel.cuh>
#include <cutegen/math.cuh>
#include <cutegen/reduce.cuh>
#include <cutegen/tile.cuh>

#include <task.h>

using namespace cute;

constexpr int kThreadsX = 4;  // along kInner
constexpr int kThreadsY = 64;  // along kR
constexpr int kThreads = kThreadsX * kThreadsY;
constexpr int kVec = 1;     // neighbouring columns a thread; divides kInner
constexpr int kUnroll = 4;  // independent accesses in flight a thread
constexpr int kSplits = 1056;  // CTAs along kR

using Index = int;
// The domain is [kOuter, kR, kInner]; a row runs over kR.
[[maybe_unused]] constexpr int64_t kOuter = 1;
constexpr Index kR = 1000000;
[[maybe_unused]] constexpr int kInner = 3;
[[maybe_unused]] constexpr double kCount = static_cast<double>(kR);

// Where each operand's element lies for (o, r, i).
using Layout_x0 = Layout<Shape<Int<1>, Int<1000000>, Int<3>>, Stride<Int<0>, Int<3>, Int<1>>>;

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
constexpr Index kChunk = (kR + Index(kSplits) * kThreadsY - 1) / (Index(kSplits) * kThreadsY) * kThreadsY;
static_assert(kInner % kVec == 0 && kThreads <= 1024);

// Partial results of pass n: [kSplits][kOuter * kInner], merged in a fixed order by whoever needs them.
constexpr int64_t kPartials1 = 0;  // byte offset in the workspace
constexpr int64_t kWorkspace = kPartials1 + kSplits * kOuter * kInner * int64_t(sizeof(Level1));

// All partial results of a thread's kVec columns, merged and finished into their rows.
template <class Level>
__device__ __forceinline__ void finish_from(char const* partials, int64_t column, bool live, int ty, Row (&row)[kVec]) {
  Level merged[kVec];
  if (live) {
    for (int s = ty; s < kSplits; s += kThreadsY) {
      CUTE_UNROLL
      for (int v = 0; v < kVec; ++v) merged[v].merge(reinterpret_cast<Level const*>(partials)[s * kOuter * kInner + column + v]);
    }
  }
  cutegen::column_merge<kThreadsX, kThreadsY>(merged);
  CUTE_UNROLL
  for (int v = 0; v < kVec; ++v) merged[v].finish(row[v]);
}

extern "C" __global__ void __launch_bounds__(kThreads) k47_reduction_reduce1(float const* __restrict__ in0, char* partials) {
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
    Index r = blockIdx.y * kChunk + ty;
    Index const end = min(Index(kR), Index((blockIdx.y + 1) * kChunk));
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
  if (live && ty == 0) {
    CUTE_UNROLL
    for (int v = 0; v < kVec; ++v)
      reinterpret_cast<Level1*>(partials + kPartials1)[blockIdx.y * kOuter * kInner + o * kInner + i + v] = level1[v];
  }
}

extern "C" __global__ void __launch_bounds__(kThreads) k47_reduction_finish(float const* __restrict__ in0, float* __restrict__ out0, char const* partials) {
  int const tx = threadIdx.x % kThreadsX, ty = threadIdx.x / kThreadsX;
  int64_t const o = blockIdx.x / kTiles;
  int const i = (blockIdx.x % kTiles * kThreadsX + tx) * kVec;
  bool const live = i < kInner;
  Row row[kVec];
  CUTE_UNROLL
  for (int v = 0; v < kVec; ++v) row[v] = begin(o, live ? i + v : 0);
  finish_from<Level1>(partials + kPartials1, o * kInner + i, live, ty, row);
  if (!live) return;

  if (blockIdx.y == 0 && ty == 0) {
    CUTE_UNROLL
    for (int v = 0; v < kVec; ++v) out0[o * kInner + i + v] = static_cast<float>(row[v].sum_1);
  }
}

CUTEGEN_PLAN(cutegen::plan(
    CUTEGEN_LAUNCH(k47_reduction_reduce1).grid(1, kSplits).block(kThreads).args(cutegen::input(0), cutegen::workspace(0)),
    CUTEGEN_LAUNCH(k47_reduction_finish).grid(1, 1).block(kThreads).args(cutegen::input(0), cutegen::output(0), cutegen::workspace(0)))
  .workspace(kWorkspace));
