// 40_LayerNorm
//
// Inputs:   x0 float32 [16, 64, 256, 256]
// Params:   w0 float32 [64, 256, 256], w1 float32 [64, 256, 256]
// Outputs:   float32 [16, 64, 256, 256]
// Strategy: [16, 4194304, 1] reduced over the middle in 1 pass, 66 CTAs a row leave partial results that later launches merge
// Config:   splits 66, strategy split, threads 128, unroll 2, vec 4
#include <cutegen/kernel.cuh>
#include <cutegen/math.cuh>
#include <cutegen/reduce.cuh>
#include <cutegen/tile.cuh>

#include <task.h>

using namespace cute;

constexpr int kThreads = 128;
constexpr int kVec = 4;     // elements an access; divides kR
constexpr int kUnroll = 2;  // independent accesses in flight a thread
constexpr int kSplits = 66;  // CTAs a row
constexpr int kStep = kThreads * kVec;

using Index = int;
// The domain is [kOuter, kR, kInner]; a row runs over kR.
[[maybe_unused]] constexpr int64_t kOuter = 16;
constexpr Index kR = 4194304;
[[maybe_unused]] constexpr int kInner = 1;
[[maybe_unused]] constexpr double kCount = static_cast<double>(kR);

// Where each operand's element lies for (o, r, i).
using Layout_x0 = Layout<Shape<Int<16>, Int<4194304>, Int<1>>, Stride<Int<4194304>, Int<1>, Int<0>>>;
using Layout_w0 = Layout<Shape<Int<16>, Int<4194304>, Int<1>>, Stride<Int<0>, Int<1>, Int<0>>>;
using Layout_w1 = Layout<Shape<Int<16>, Int<4194304>, Int<1>>, Stride<Int<0>, Int<1>, Int<0>>>;

using Layout_out = Layout<Shape<Int<16>, Int<4194304>, Int<1>>, Stride<Int<4194304>, Int<1>, Int<0>>>;

// What one position of a row brings.
struct Element {
  float x0;
  float w0;
  float w1;
};

// What is known of a whole row: operands that do not vary along it, the reductions' results, and what follows from them.
struct Row {
  float moments_3_0;
  float moments_3_1;
  float add_4;
  float rsqrt_5;
};

// Reduction pass 1: moments of x0.
struct alignas(8) Level1 {
  cutegen::Moments<float> moments_acc;

  template <int N>
  __device__ __forceinline__ void add(Element const (&batch)[N], Row const& row) {
    float moments_acc_terms[N];
    CUTE_UNROLL
    for (int j = 0; j < N; ++j) {
      Element const& e = batch[j];

      moments_acc_terms[j] = e.x0;
    }
    moments_acc.add(moments_acc_terms);
  }
  __device__ __forceinline__ void merge(Level1 const& other) {
    moments_acc.merge(other.moments_acc);
  }
  __device__ __forceinline__ void finish(Row& row) const {
    row.moments_3_0 = static_cast<float>(moments_acc.mean(kCount));
    row.moments_3_1 = static_cast<float>(moments_acc.variance(kCount));
    row.add_4 = row.moments_3_1 + 1e-05f;
    row.rsqrt_5 = cutegen::rsqrt(row.add_4);
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
  float const sub_6 = e.x0 - row.moments_3_0;
  float const mul_7 = sub_6 * row.rsqrt_5;
  float const mul_8 = mul_7 * e.w0;
  float const add_9 = mul_8 + e.w1;
  return { add_9 };
}

// Each CTA's share of a row: whole steps, the last share may be short or empty.
constexpr Index kChunk = (kR + Index(kSplits) * kStep - 1) / (Index(kSplits) * kStep) * kStep;
static_assert(kR % kVec == 0 && kInner == 1 && kThreads % 32 == 0);

// Partial results: pass n of row o leaves kSplits of them, one a CTA, merged in a fixed order by whoever needs them.
constexpr int64_t kPartials1 = 0;  // byte offset in the workspace
constexpr int64_t kWorkspace = kPartials1 + kOuter * kSplits * int64_t(sizeof(Level1));

extern "C" __global__ void __launch_bounds__(kThreads) k40_layernorm_reduce1(float const* __restrict__ in0, char* partials) {
  int64_t const o = blockIdx.y;
  Index const first = blockIdx.x * kChunk + threadIdx.x * kVec;
  Index const end = min(Index(kR), Index((blockIdx.x + 1) * kChunk));
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
  __shared__ cutegen::MergeStorage<Level1, kThreads> storage;
  level1 = cutegen::cta_merge<kThreads>(level1, storage);
  if (threadIdx.x == 0) reinterpret_cast<Level1*>(partials + kPartials1)[o * kSplits + blockIdx.x] = level1;
}

extern "C" __global__ void __launch_bounds__(kThreads) k40_layernorm_finish(float const* __restrict__ in0, float const* __restrict__ param0, float const* __restrict__ param1, float* __restrict__ out0, char const* partials) {
  int64_t const o = blockIdx.y;
  Row row = begin(o, 0);
  __shared__ cutegen::MergeStorage<Level1, kThreads> storage1;
  cutegen::merge_partials<kThreads>(reinterpret_cast<Level1 const*>(partials + kPartials1) + o * kSplits, kSplits, storage1).finish(row);
  Index const first = blockIdx.x * kChunk + threadIdx.x * kVec;
  Index const end = min(Index(kR), Index((blockIdx.x + 1) * kChunk));
  Tensor g_x0 = make_tensor(make_gmem_ptr(in0), Layout_x0{})(o, _, 0);  // (kR)
  Tensor g_w0 = make_tensor(make_gmem_ptr(param0), Layout_w0{})(o, _, 0);  // (kR)
  Tensor g_w1 = make_tensor(make_gmem_ptr(param1), Layout_w1{})(o, _, 0);  // (kR)
  Tensor g_out0 = make_tensor(make_gmem_ptr(out0), Layout_out{})(o, _, 0);  // (kR)
  Index r = first;
  for (; r + (kUnroll - 1) * kStep < end; r += kUnroll * kStep) {
    Element e[kUnroll][kVec];
    CUTE_UNROLL
    for (int u = 0; u < kUnroll; ++u) {
      cutegen::load<cutegen::Streaming, kVec, &Element::x0>(g_x0, r + u * kStep, e[u]);
      cutegen::load<cutegen::Cached, kVec, &Element::w0>(g_w0, r + u * kStep, e[u]);
      cutegen::load<cutegen::Cached, kVec, &Element::w1>(g_w1, r + u * kStep, e[u]);
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
    cutegen::load<cutegen::Cached, kVec, &Element::w0>(g_w0, r, e);
    cutegen::load<cutegen::Cached, kVec, &Element::w1>(g_w1, r, e);
    CUTE_UNROLL
    for (int j = 0; j < kVec; ++j) y[j] = map(e[j], row);
    cutegen::store<cutegen::Streaming, kVec, &Result::out0>(g_out0, r, y);
  }
}

CUTEGEN_PLAN(cutegen::plan(
    CUTEGEN_LAUNCH(k40_layernorm_reduce1).grid(kSplits, 16).block(kThreads).args(cutegen::input(0), cutegen::workspace(0)),
    CUTEGEN_LAUNCH(k40_layernorm_finish).grid(66, 16).block(kThreads).args(cutegen::input(0), cutegen::param(0), cutegen::param(1), cutegen::output(0), cutegen::workspace(0)))
  .workspace(kWorkspace));
