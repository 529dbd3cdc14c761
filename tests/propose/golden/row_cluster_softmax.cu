// 23_Softmax
//
// Inputs:   x0 float32 [4096, 393216]
// Outputs:   float32 [4096, 393216]
// Strategy: [4096, 393216, 1] reduced over the middle in 1 pass, a cluster of 16 keeps a row in shared memory: one read
// Config:   cluster 16, strategy cluster, threads 512, unroll 4, vec 4
#include <cutegen/cluster.cuh>
#include <cutegen/kernel.cuh>
#include <cutegen/math.cuh>
#include <cutegen/reduce.cuh>
#include <cutegen/tile.cuh>

#include <task.h>

using namespace cute;

constexpr int kThreads = 512;
constexpr int kCluster = 16;  // CTAs a row
constexpr int kVec = 4;      // elements an access; divides kR
constexpr int kUnroll = 4;   // independent accesses in flight a thread
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

// Each CTA keeps its share of the row in shared memory: the row is read from memory once.
constexpr int kChunk = (kR + kCluster * kVec - 1) / (kCluster * kVec) * kVec;
struct SharedStorage {
  alignas(128) float x0[kChunk];
};
static_assert(kR % kVec == 0 && kInner == 1 && kThreads % 32 == 0);

// A share is asked for as a whole, in up to four groups of copies; the first pass follows group by group. A thread copies the
// positions that it will read and no others, so waiting for its own copies suffices.
constexpr int kBatch = kUnroll * kStep;
constexpr int kBatches = (kChunk + kBatch - 1) / kBatch;
constexpr int kGroups = kBatches < 4 ? kBatches : 4;
constexpr int kGroup = (kBatches + kGroups - 1) / kGroups * kBatch;

// Two CTAs an SM where shared memory has room for them: one loads while the other computes and stores.
constexpr int kResident = sizeof(SharedStorage) <= 110 * 1024 && kThreads <= 512 ? 2 : 1;

extern "C" __global__ void __launch_bounds__(kThreads, kResident) k23_softmax(float const* __restrict__ in0, float* __restrict__ out0) {
  extern __shared__ __align__(128) unsigned char smem[];
  SharedStorage& shared = *reinterpret_cast<SharedStorage*>(smem);
  int64_t const o = blockIdx.x / kCluster;
  int const begin_r = blockIdx.x % kCluster * kChunk;           // this CTA's share: (begin_r, ..., begin_r + end - 1)
  int const end = max(0, min(kChunk, int(kR) - begin_r));
  int const first = threadIdx.x * kVec;
  Tensor g_x0 = make_tensor(make_gmem_ptr(in0), Layout_x0{})(o, _, 0);  // (kR)
  Tensor s_x0 = make_tensor(make_smem_ptr(shared.x0), Layout<Int<kChunk>>{});  // (kChunk)
  CUTE_UNROLL
  for (int group = 0; group < kGroups; ++group) {
    int const stop = min(end, (group + 1) * kGroup);
    CUTE_NO_UNROLL
    for (int k = group * kGroup + first; k < stop; k += kStep) {
      cutegen::copy_async<kVec>(g_x0, begin_r + k, s_x0, k);
    }
    cp_async_fence();
  }
  Row row = begin(o, 0);

  Level1 level1;
  for_each(make_seq<kGroups>{}, [&](auto group) {
    cp_async_wait<kGroups - 1 - group>();
    int const stop = min(end, (group + 1) * kGroup);
    int k = group * kGroup + first;
    for (; k + (kUnroll - 1) * kStep < stop; k += kBatch) {
      Element e[kUnroll * kVec];
      CUTE_UNROLL
      for (int u = 0; u < kUnroll; ++u) {
        cutegen::load<cutegen::Shared, kVec, &Element::x0>(s_x0, k + u * kStep, e + u * kVec);
      }
      level1.add(e, row);
    }
    for (; k < stop; k += kStep) {
      Element e[kVec];
      cutegen::load<cutegen::Shared, kVec, &Element::x0>(s_x0, k, e);

      level1.add(e, row);
    }
  });
  __shared__ cutegen::MergeStorage<Level1, kThreads> storage1;
  __shared__ Level1 mine1;
  cutegen::cluster_merge<kThreads, kCluster>(level1, storage1, mine1).finish(row);

  Tensor g_out0 = make_tensor(make_gmem_ptr(out0), Layout_out{})(o, _, 0);  // (kR)
  CUTE_NO_UNROLL
  for (int k = first; k < end; k += kUnroll * kStep) {
    Element e[kUnroll][kVec];
    CUTE_UNROLL
    for (int u = 0; u < kUnroll; ++u) {
      int const at = k + u * kStep;
      if (at < end) {
        cutegen::load<cutegen::Shared, kVec, &Element::x0>(s_x0, at, e[u]);
      }
    }
    CUTE_UNROLL
    for (int u = 0; u < kUnroll; ++u) {
      int const at = k + u * kStep;
      if (at < end) {
        Result y[kVec];
        CUTE_UNROLL
        for (int j = 0; j < kVec; ++j) y[j] = map(e[u][j], row);
        cutegen::store<cutegen::Streaming, kVec, &Result::out0>(g_out0, begin_r + at, y);
      }
    }
  }

  cute::cluster_sync();  // no CTA leaves while another may still read its shared memory
}

CUTEGEN_PLAN(cutegen::plan(
    CUTEGEN_LAUNCH(k23_softmax).grid(65536).block(kThreads).cluster(kCluster).smem(sizeof(SharedStorage)).args(cutegen::input(0), cutegen::output(0))));
