// 23_Softmax
//
// Inputs:   x0 float32 [4096, 393216]
// Outputs:   float32 [4096, 393216]
// Strategy: [4096, 393216, 1] reduced over the middle in 1 pass, a CTA a row, every pass reads it from memory
// Config:   strategy stream, threads 512, unroll 4, vec 4
#include <cutegen/kernel.cuh>
#include <cutegen/math.cuh>
#include <cutegen/reduce.cuh>
#include <cutegen/tile.cuh>

#include <task.h>

using namespace cute;

constexpr int kThreads = 512;
constexpr int kVec = 4;     // elements an access; divides kR
constexpr int kUnroll = 4;  // independent accesses in flight a thread
constexpr int kStep = kThreads * kVec;

using Index = int;
// The domain is [kOuter, kR, kInner]; a row runs over kR.
[[maybe_unused]] constexpr int64_t kOuter = 4096;
constexpr Index kR = 393216;
[[maybe_unused]] constexpr int kInner = 1;
[[maybe_unused]] constexpr double kCount = static_cast<double>(kR);

// Where each operand's element lies for (o, r, i).
using Layout_x0 = Layout<Shape<Int<4096>, Int<393216>, Int<1>>, Stride<Int<393216>, Int<1>, Int<0>>>;

using Layout_out = Layout<Shape<Int<4096>, Int<393216>, Int<1>>, Stride<Int<393216>, Int<1>, Int<0>>>;

// What one position of a row brings.
struct Element {
  float x0;
};

// What is known of a whole row: operands that do not vary along it, the reductions' results, and what follows from them.
struct Row {
  float softmax_stats_1_0;
  float softmax_stats_1_1;
};

// Reduction pass 1: softmax_stats of x0.
struct alignas(8) Level1 {
  cutegen::OnlineSoftmax<float> softmax_stats_acc;

  template <int N>
  __device__ __forceinline__ void add(Element const (&batch)[N], Row const& row) {
    float softmax_stats_acc_terms[N];
    CUTE_UNROLL
    for (int j = 0; j < N; ++j) {
      Element const& e = batch[j];

      softmax_stats_acc_terms[j] = e.x0;
    }
    softmax_stats_acc.add(softmax_stats_acc_terms);
  }
  __device__ __forceinline__ void merge(Level1 const& other) {
    softmax_stats_acc.merge(other.softmax_stats_acc);
  }
  __device__ __forceinline__ void finish(Row& row) const {
    row.softmax_stats_1_0 = static_cast<float>(softmax_stats_acc.largest());
    row.softmax_stats_1_1 = static_cast<float>(softmax_stats_acc.sum());
  }
};

// What is known of row (o, i) before any reduction.
__device__ __forceinline__ Row begin(int64_t o, int i) {
  Row row{};

  return row;
}

struct Result {
  float out0;
};

// The outputs at one position, once its row is known.
__device__ __forceinline__ Result map(Element const& e, Row const& row) {
  float const sub_2 = e.x0 - row.softmax_stats_1_0;
  float const exp_3 = cutegen::exp(sub_2);
  float const div_4 = exp_3 / row.softmax_stats_1_1;
  return { div_4 };
}

static_assert(kR % kVec == 0 && kInner == 1 && kThreads % 32 == 0);

// A CTA a row; every pass reads the row from memory.
extern "C" __global__ void __launch_bounds__(kThreads) k23_softmax(float const* __restrict__ in0, float* __restrict__ out0) {
  int64_t const o = blockIdx.x;
  Index const first = threadIdx.x * kVec, end = kR;
  Tensor g_x0 = make_tensor(make_gmem_ptr(in0), Layout_x0{})(o, _, 0);  // (kR)
  Row row = begin(o, 0);

  Level1 level1;
  {
    Index r = first;
    for (; r + (kUnroll - 1) * kStep < end; r += kUnroll * kStep) {
      Element e[kUnroll * kVec];
      CUTE_UNROLL
      for (int u = 0; u < kUnroll; ++u) {
        cutegen::load<cutegen::Streaming, kVec, &Element::x0>(g_x0, r + u * kStep, e + u * kVec);
      }
      level1.add(e, row);
    }
    for (; r < end; r += kStep) {
      Element e[kVec];
      cutegen::load<cutegen::Streaming, kVec, &Element::x0>(g_x0, r, e);
      level1.add(e, row);
    }
  }
  __shared__ cutegen::MergeStorage<Level1, kThreads> storage1;
  cutegen::cta_merge<kThreads>(level1, storage1).finish(row);

  Tensor g_out0 = make_tensor(make_gmem_ptr(out0), Layout_out{})(o, _, 0);  // (kR)
  Index r = first;
  for (; r + (kUnroll - 1) * kStep < end; r += kUnroll * kStep) {
    Element e[kUnroll][kVec];
    CUTE_UNROLL
    for (int u = 0; u < kUnroll; ++u) {
      cutegen::load<cutegen::Streaming, kVec, &Element::x0>(g_x0, r + u * kStep, e[u]);
    }
    CUTE_UNROLL
    for (int u = 0; u < kUnroll; ++u) {
      Result y[kVec];
      CUTE_UNROLL
      for (int j = 0; j < kVec; ++j) y[j] = map(e[u][j], row);
      cutegen::store<cutegen::Streaming, kVec, &Result::out0>(g_out0, r + u * kStep, y);
    }
  }
  for (; r < end; r += kStep) {
    Element e[kVec];
    Result y[kVec];
    cutegen::load<cutegen::Streaming, kVec, &Element::x0>(g_x0, r, e);
    CUTE_UNROLL
    for (int j = 0; j < kVec; ++j) y[j] = map(e[j], row);
    cutegen::store<cutegen::Streaming, kVec, &Result::out0>(g_out0, r, y);
  }
}

CUTEGEN_PLAN(cutegen::plan(
    CUTEGEN_LAUNCH(k23_softmax).grid(4096).block(kThreads).args(cutegen::input(0), cutegen::output(0))));
