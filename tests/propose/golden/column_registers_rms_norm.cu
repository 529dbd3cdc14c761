// 36_RMSNorm
//
// Inputs:   x0 float32 [112, 64, 512, 512]
// Outputs:   float32 [112, 64, 512, 512]
// Strategy: [112, 64, 262144] reduced over the middle in 1 pass, 8 threads keep a column in registers: one read
// Config:   strategy column_registers, threads_x 32, threads_y 8, vec 4
#include <cutegen/kernel.cuh>
#include <cutegen/math.cuh>
#include <cutegen/reduce.cuh>
#include <cutegen/tile.cuh>

#include <task.h>

using namespace cute;

constexpr int kThreadsX = 32;  // along kInner
constexpr int kThreadsY = 8;  // along kR
constexpr int kThreads = kThreadsX * kThreadsY;
constexpr int kVec = 4;     // neighbouring columns a thread; divides kInner
constexpr int kSteps = 8;  // elements of a column a thread: they stay in registers

using Index = int;
// The domain is [kOuter, kR, kInner]; a row runs over kR.
[[maybe_unused]] constexpr int64_t kOuter = 112;
constexpr Index kR = 64;
[[maybe_unused]] constexpr int kInner = 262144;
[[maybe_unused]] constexpr double kCount = static_cast<double>(kR);

// Where each operand's element lies for (o, r, i).
using Layout_x0 = Layout<Shape<Int<112>, Int<64>, Int<262144>>, Stride<Int<16777216>, Int<262144>, Int<1>>>;

using Layout_out = Layout<Shape<Int<112>, Int<64>, Int<262144>>, Stride<Int<16777216>, Int<262144>, Int<1>>>;

// What one position of a row brings.
struct Element {
  float x0;
};

// What is known of a whole row: operands that do not vary along it, the reductions' results, and what follows from them.
struct Row {
  float mean_2;
  float add;
  float sqrt_v;
};

// Reduction pass 1: mean of pow_v.
struct alignas(8) Level1 {
  cutegen::Sum<float> mean_acc;

  template <int N>
  __device__ __forceinline__ void add(Element const (&batch)[N], Row const& row) {
    float mean_acc_terms[N];
    CUTE_UNROLL
    for (int j = 0; j < N; ++j) {
      Element const& e = batch[j];
      float const pow_v = cutegen::pow_int<2>(e.x0);
      mean_acc_terms[j] = pow_v;
    }
    mean_acc.add(mean_acc_terms);
  }
  __device__ __forceinline__ void merge(Level1 const& other) {
    mean_acc.merge(other.mean_acc);
  }
  __device__ __forceinline__ void finish(Row& row) const {
    row.mean_2 = static_cast<float>(mean_acc.value() / kCount);
    row.add = row.mean_2 + 1e-05f;
    row.sqrt_v = cutegen::sqrt(row.add);
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
  float const div = e.x0 / row.sqrt_v;
  return { div };
}

constexpr int kTiles = (kInner + kThreadsX * kVec - 1) / (kThreadsX * kVec);  // CTAs along kInner
static_assert(kInner % kVec == 0 && kThreads <= 1024);
constexpr bool kExact = kSteps * kThreadsY == kR;
static_assert(int64_t(kSteps) * kThreadsY >= kR);

// A CTA for kThreadsX * kVec neighbouring columns of one o; the threads of a column share its kR elements.
extern "C" __global__ void __launch_bounds__(kThreads) k36_rmsnorm(float const* __restrict__ in0, float* __restrict__ out0) {
  int const tx = threadIdx.x % kThreadsX, ty = threadIdx.x / kThreadsX;
  int64_t const o = blockIdx.x / kTiles;
  int const i = (blockIdx.x % kTiles * kThreadsX + tx) * kVec;
  bool const live = i < kInner;
  Tensor g_x0 = make_tensor(make_gmem_ptr(in0), Layout_x0{})(o, _, _);  // (kR, kInner)
  Row row[kVec];
  CUTE_UNROLL
  for (int v = 0; v < kVec; ++v) row[v] = begin(o, live ? i + v : 0);

  Element e[kVec][kSteps];
  CUTE_UNROLL
  for (int s = 0; s < kSteps; ++s) {
    Index const r = s * kThreadsY + ty;
    if (live && (kExact || r < kR)) {
      Element across[kVec];
      cutegen::load<cutegen::Streaming, kVec, &Element::x0>(g_x0(r, _), i, across);
      CUTE_UNROLL
      for (int v = 0; v < kVec; ++v) e[v][s] = across[v];
    }
  }

  Level1 level1[kVec];
  if constexpr (kExact) {
    CUTE_UNROLL
    for (int v = 0; v < kVec; ++v) level1[v].add(e[v], row[v]);
  } else {
    CUTE_UNROLL
    for (int s = 0; s < kSteps; ++s) {
      if (s * kThreadsY + ty >= kR) continue;
      CUTE_UNROLL
      for (int v = 0; v < kVec; ++v) {
        Element const one[1] = {e[v][s]};
        level1[v].add(one, row[v]);
      }
    }
  }

  cutegen::column_merge<kThreadsX, kThreadsY>(level1);
  CUTE_UNROLL
  for (int v = 0; v < kVec; ++v) level1[v].finish(row[v]);
  if (!live) return;
  Tensor g_out0 = make_tensor(make_gmem_ptr(out0), Layout_out{})(o, _, _);  // (kR, kInner)
  CUTE_UNROLL
  for (int s = 0; s < kSteps; ++s) {
    Index const r = s * kThreadsY + ty;
    if (kExact || r < kR) {
      Result y[kVec];
      CUTE_UNROLL
      for (int v = 0; v < kVec; ++v) y[v] = map(e[v][s], row[v]);
      cutegen::store<cutegen::Streaming, kVec, &Result::out0>(g_out0(r, _), i, y);
    }
  }
}

CUTEGEN_PLAN(cutegen::plan(
    CUTEGEN_LAUNCH(k36_rmsnorm).grid(229376).block(kThreads).args(cutegen::input(0), cutegen::output(0))));
