// Accumulators and the trees that merge them. Every tree has a fixed order: the same input gives the same bits.
//
// An accumulator starts neutral, takes batches (`add`), merges with another (`merge`) and is trivially copyable. Sums of floats
// are added pairwise within a batch in float and from batch to batch in double: the batch keeps the cost of conversions low, the
// double keeps long sums exact to the last bit or so. Integers are summed in int64_t, as PyTorch does.
#pragma once

#include <cute/tensor.hpp>

#include <cstdint>
#include <type_traits>

#include "math.cuh"

namespace cutegen {

namespace detail {

template <class T>
using wide_t = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;

// Pairwise sum of the N values t[0 .. N).
template <class T, int N>
__device__ __forceinline__ T pairwise(T const* t) {
  if constexpr (N == 1) return t[0];
  else return pairwise<T, N / 2>(t) + pairwise<T, N - N / 2>(t + N / 2);
}

}  // namespace detail

template <class T>
struct Sum {
  using Wide = detail::wide_t<T>;
  Wide total = 0;
  template <int N>
  __device__ __forceinline__ void add(T const (&t)[N]) {
    if constexpr (std::is_same_v<T, float>) {
      total += static_cast<double>(detail::pairwise<T, N>(t));
    } else {
      CUTE_UNROLL
      for (int j = 0; j < N; ++j) total += static_cast<Wide>(t[j]);
    }
  }
  __device__ __forceinline__ void merge(Sum const& other) { total += other.total; }
  __device__ __forceinline__ Wide value() const { return total; }
};

template <class T>
struct Product {
  using Wide = detail::wide_t<T>;
  Wide total = 1;
  template <int N>
  __device__ __forceinline__ void add(T const (&t)[N]) {
    CUTE_UNROLL
    for (int j = 0; j < N; ++j) total *= static_cast<Wide>(t[j]);
  }
  __device__ __forceinline__ void merge(Product const& other) { total *= other.total; }
  __device__ __forceinline__ Wide value() const { return total; }
};

// Largest and smallest; NaN wins, as in PyTorch. The neutral start is the type's own extreme.
template <class T, bool largest>
struct Extreme {
  T best = start();
  __device__ static constexpr T start() {
    if constexpr (std::is_floating_point_v<T>) return largest ? -T(INFINITY) : T(INFINITY);
    else if constexpr (std::is_same_v<T, bool>) return !largest;
    else if constexpr (std::is_signed_v<T>) {
      constexpr T top = static_cast<T>(~(T(1) << (8 * sizeof(T) - 1)));
      return largest ? static_cast<T>(-top - 1) : top;
    } else return largest ? T(0) : static_cast<T>(~T(0));
  }
  template <int N>
  __device__ __forceinline__ void add(T const (&t)[N]) {
    CUTE_UNROLL
    for (int j = 0; j < N; ++j) best = largest ? maximum(best, t[j]) : minimum(best, t[j]);
  }
  __device__ __forceinline__ void merge(Extreme const& other) { best = largest ? maximum(best, other.best) : minimum(best, other.best); }
  __device__ __forceinline__ T value() const { return best; }
};
template <class T> using Max = Extreme<T, true>;
template <class T> using Min = Extreme<T, false>;

// Mean and variance from the sums of x and x*x. A product of two floats is exact in double and the sums carry 53 bits, so the
// cancellation in E[x^2] - E[x]^2 costs less than a float holds unless the mean is 10^4 standard deviations away.
template <class T>
struct Moments {
  double sum = 0, squares = 0;
  template <int N>
  __device__ __forceinline__ void add(T const (&t)[N]) {
    CUTE_UNROLL
    for (int j = 0; j < N; ++j) {
      double const x = static_cast<double>(t[j]);
      sum += x;
      squares = ::fma(x, x, squares);
    }
  }
  __device__ __forceinline__ void merge(Moments const& other) { sum += other.sum, squares += other.squares; }
  __device__ __forceinline__ double mean(double count) const { return sum / count; }
  __device__ __forceinline__ double variance(double count) const {  // biased
    double const m = sum / count;
    double const v = squares / count - m * m;
    return v < 0.0 ? 0.0 : v;  // NaN passes
  }
};

// Maximum m and sum of exp(x - m) in one pass (Milakov and Gimelshein 2018): the sum is rescaled when a batch raises the maximum.
template <class T>
struct OnlineSoftmax {
  double total = 0;  // sum of exp(x - best)
  T best = -T(INFINITY);
  template <int N>
  __device__ __forceinline__ void add(T const (&t)[N]) {
    T top = t[0];
    CUTE_UNROLL
    for (int j = 1; j < N; ++j) top = maximum(top, t[j]);
    raise(top);
    if (best == -T(INFINITY)) return;  // nothing but -infinity so far
    T terms[N];
    CUTE_UNROLL
    for (int j = 0; j < N; ++j) terms[j] = ::exp(t[j] - best);
    total += static_cast<double>(detail::pairwise<T, N>(terms));
  }
  __device__ __forceinline__ void merge(OnlineSoftmax const& other) {
    if (other.best == -T(INFINITY)) return;
    T const mine = best;
    best = maximum(best, other.best);
    double const a = mine == best ? total : total * static_cast<double>(::exp(mine - best));
    double const b = other.best == best ? other.total : other.total * static_cast<double>(::exp(other.best - best));
    total = a + b;
  }
  __device__ __forceinline__ T largest() const { return best; }
  __device__ __forceinline__ double sum() const { return total; }

 private:
  __device__ __forceinline__ void raise(T top) {
    if (top > best || top != top) {
      total *= static_cast<double>(::exp(best - top));
      best = top;
    }
  }
};

// A neighbour's accumulator, moved as 32-bit words.
template <class Acc>
__device__ __forceinline__ Acc shuffle_xor(Acc const& acc, int mask, int width) {
  static_assert(std::is_trivially_copyable_v<Acc> && sizeof(Acc) % 4 == 0);
  constexpr int words = sizeof(Acc) / 4;
  struct Words { uint32_t w[words]; };
  Words in = __builtin_bit_cast(Words, acc), out;
  CUTE_UNROLL
  for (int i = 0; i < words; ++i) out.w[i] = __shfl_xor_sync(0xffffffffu, in.w[i], mask, width);
  return __builtin_bit_cast(Acc, out);
}
template <class Acc>
__device__ __forceinline__ Acc shuffle(Acc const& acc, int lane, int width) {
  constexpr int words = sizeof(Acc) / 4;
  struct Words { uint32_t w[words]; };
  Words in = __builtin_bit_cast(Words, acc), out;
  CUTE_UNROLL
  for (int i = 0; i < words; ++i) out.w[i] = __shfl_sync(0xffffffffu, in.w[i], lane, width);
  return __builtin_bit_cast(Acc, out);
}

// Merges over `width` neighbouring lanes (a power of two up to 32); all of them get the first lane's result.
template <int width, class Acc>
__device__ __forceinline__ Acc warp_merge(Acc acc) {
  CUTE_UNROLL
  for (int mask = width / 2; mask > 0; mask /= 2) acc.merge(shuffle_xor(acc, mask, width));
  return width > 1 ? shuffle(acc, 0, width) : acc;
}

// Room for cta_merge in shared memory: one accumulator a warp.
template <class Acc, int threads>
struct MergeStorage {
  alignas(16) unsigned char bytes[sizeof(Acc) * ((threads + 31) / 32)];
  __device__ Acc* slots() { return reinterpret_cast<Acc*>(bytes); }
};

// Merges over a CTA of `threads` (a multiple of 32); all get the result. Synchronises before and after it uses the storage.
template <int threads, class Acc>
__device__ __forceinline__ Acc cta_merge(Acc acc, MergeStorage<Acc, threads>& storage) {
  constexpr int warps = threads / 32;
  static_assert(threads % 32 == 0 && warps <= 32);
  acc = warp_merge<32>(acc);
  if constexpr (warps == 1) return acc;
  int const lane = threadIdx.x % 32;
  __syncthreads();
  if (lane == 0) storage.slots()[threadIdx.x / 32] = acc;
  __syncthreads();
  Acc mine{};
  if (lane < warps) mine = storage.slots()[lane];
  return warp_merge<32>(mine);
}

// Merges each of a thread's `columns` accumulators over the threads_y threads of its column (threadIdx.x = y * threads_x + x), in the
// order of y; all of them get the result.
template <int threads_x, int threads_y, class Acc, int columns>
__device__ __forceinline__ void column_merge(Acc (&acc)[columns]) {
  if constexpr (threads_y > 1) {
    __shared__ MergeStorage<Acc, threads_x * threads_y * 32> storage;  // one slot a thread
    int const x = threadIdx.x % threads_x;
    CUTE_UNROLL
    for (int v = 0; v < columns; ++v) {
      __syncthreads();
      storage.slots()[threadIdx.x] = acc[v];
      __syncthreads();
      Acc total = storage.slots()[x];
      for (int y = 1; y < threads_y; ++y) total.merge(storage.slots()[y * threads_x + x]);
      acc[v] = total;
    }
  }
}

// The partial results that `count` CTAs left in global memory, merged by a whole CTA; all threads get the result.
template <int threads, class Acc>
__device__ __forceinline__ Acc merge_partials(Acc const* partials, int count, MergeStorage<Acc, threads>& storage) {
  Acc acc{};
  for (int s = threadIdx.x; s < count; s += threads) acc.merge(partials[s]);
  return cta_merge<threads>(acc, storage);
}

}  // namespace cutegen
