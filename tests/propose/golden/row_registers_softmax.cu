// 23_Softmax
//
// Inputs:   x0 float32 [4096, 1000]
// Outputs:   float32 [4096, 1000]
// Strategy: [4096, 1000, 1] reduced over the middle in 1 pass, 64 threads keep a row in registers: one read
// Config:   rows_per_cta 1, strategy registers, threads_per_row 64, vec 4
#include <cutegen/kernel.cuh>
#include <cutegen/math.cuh>
#include <cutegen/reduce.cuh>
#include <cutegen/tile.cuh>

#include <task.h>

using namespace cute;

constexpr int kThreadsPerRow = 64;
constexpr int kRowsPerCta = 1;
constexpr int kThreads = kThreadsPerRow * kRowsPerCta;
constexpr int kVec = 4;    // elements an access; divides kR
constexpr int kSteps = 4;  // accesses a thread: the row stays in registers
constexpr int kStep = kThreadsPerRow * kVec;

using Index = int;
// The domain is [kOuter, kR, kInner]; a row runs over kR.
[[maybe_unused]] constexpr int64_t kOuter = 4096;
constexpr Index kR = 1000;
[[maybe_unused]] constexpr int kInner = 1;
[[maybe_unused]] constexpr double kCount = static_cast<double>(kR);

// Where each operand's element lies for (o, r, i).
using Layout_x0 = Layout<Shape<Int<4096>, Int<1000>, Int<1>>, Stride<Int<1000>, Int<1>, Int<0>>>;

using Layout_out = Layout<Shape<Int<4096>, Int<1000>, Int<1>>, Stride<Int<1000>, Int<1>, Int<0>>>;

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

constexpr bool kExact = kSteps * kStep == kR;
static_assert(int64_t(kSteps) * kStep >= kR && kR % kVec == 0 && kInner == 1);
static_assert(kThreads <= 1024 && kThreads % 32 == 0);
static_assert(kThreadsPerRow <= 32 || kRowsPerCta == 1, "rows of more than a warp have a CTA of their own");

// Merges over the threads of a row.
template <class Acc>
__device__ __forceinline__ Acc merge_row(Acc acc) {
  if constexpr (kThreadsPerRow <= 32) {
    return cutegen::warp_merge<kThreadsPerRow>(acc);
  } else {
    __shared__ cutegen::MergeStorage<Acc, kThreads> storage;
    return cutegen::cta_merge<kThreads>(acc, storage);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads) k23_softmax(float const* __restrict__ in0, float* __restrict__ out0) {
  int const lane = threadIdx.x % kThreadsPerRow;
  int64_t const wanted = int64_t(blockIdx.x) * kRowsPerCta + threadIdx.x / kThreadsPerRow;
  bool const live = wanted < kOuter;          // the last CTA may have rows to spare: they take part in the merges only
  int64_t const o = live ? wanted : kOuter - 1;
  Tensor g_x0 = make_tensor(make_gmem_ptr(in0), Layout_x0{})(o, _, 0);  // (kR)

  Element e[kSteps][kVec];
  CUTE_UNROLL
  for (int s = 0; s < kSteps; ++s) {
    int const r = s * kStep + lane * kVec;
    if (kExact || r < kR) {
      cutegen::load<cutegen::Streaming, kVec, &Element::x0>(g_x0, r, e[s]);
    }
  }

  Row row = begin(o, 0);
  Level1 level1;
  CUTE_UNROLL
  for (int s = 0; s < kSteps; ++s) {
    if (kExact || s * kStep + lane * kVec < kR) level1.add(e[s], row);
  }
  merge_row(level1).finish(row);
  if (!live) return;
  Tensor g_out0 = make_tensor(make_gmem_ptr(out0), Layout_out{})(o, _, 0);  // (kR)
  CUTE_UNROLL
  for (int s = 0; s < kSteps; ++s) {
    int const r = s * kStep + lane * kVec;
    if (kExact || r < kR) {
      Result y[kVec];
      CUTE_UNROLL
      for (int j = 0; j < kVec; ++j) y[j] = map(e[s][j], row);
      cutegen::store<cutegen::Streaming, kVec, &Result::out0>(g_out0, r, y);
    }
  }
}

CUTEGEN_PLAN(cutegen::plan(
    CUTEGEN_LAUNCH(k23_softmax).grid(4096).block(kThreads).args(cutegen::input(0), cutegen::output(0))));
