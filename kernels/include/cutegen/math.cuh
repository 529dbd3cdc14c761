// Pointwise functions as PyTorch defines them, for float and double: the vocabulary of the playbook's pointwise table.
//
// Each follows ATen's own formula in the same order where that formula is well conditioned, and a better conditioned one
// where it is not, so that a fused kernel is at least as accurate as the operators that it replaces. No fast-math.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#define CUTEGEN_MATH template <class T> __device__ __forceinline__

namespace cutegen {

// A constant in the argument's precision.
#define CUTEGEN_K(x) static_cast<T>(x)

// NaN if either is NaN, as torch.maximum, torch.clamp and amax have it; CUDA's fmax would drop the NaN.
CUTEGEN_MATH T maximum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return (a > b || a != a) ? a : b;
  else return a > b ? a : b;
}
CUTEGEN_MATH T minimum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return (a < b || a != a) ? a : b;
  else return a < b ? a : b;
}
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
template <> __device__ __forceinline__ float maximum<float>(float a, float b) {
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}
template <> __device__ __forceinline__ float minimum<float>(float a, float b) {
  float r;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}
#endif
CUTEGEN_MATH T clamp_min(T x, T lo) { return maximum(x, lo); }
CUTEGEN_MATH T clamp_max(T x, T hi) { return minimum(x, hi); }
CUTEGEN_MATH T clamp(T x, T lo, T hi) { return minimum(maximum(x, lo), hi); }

CUTEGEN_MATH T relu(T x) { return maximum(x, T(0)); }
CUTEGEN_MATH T absolute(T x) {
  if constexpr (std::is_floating_point_v<T>) return ::fabs(x);
  else return x < T(0) ? -x : x;
}
CUTEGEN_MATH T sign(T x) { return x > T(0) ? T(1) : (x < T(0) ? T(-1) : x - x); }  // NaN stays NaN
CUTEGEN_MATH T square(T x) { return x * x; }
CUTEGEN_MATH T reciprocal(T x) { return T(1) / x; }

CUTEGEN_MATH T exp(T x) { return ::exp(x); }
CUTEGEN_MATH T exp2(T x) { return ::exp2(x); }
CUTEGEN_MATH T expm1(T x) { return ::expm1(x); }
CUTEGEN_MATH T log(T x) { return ::log(x); }
CUTEGEN_MATH T log2(T x) { return ::log2(x); }
CUTEGEN_MATH T log10(T x) { return ::log10(x); }
CUTEGEN_MATH T log1p(T x) { return ::log1p(x); }
CUTEGEN_MATH T sqrt(T x) { return ::sqrt(x); }
CUTEGEN_MATH T rsqrt(T x) { return T(1) / ::sqrt(x); }  // correctly rounded twice; the hardware's rsqrt is 2 ulp
CUTEGEN_MATH T sin(T x) { return ::sin(x); }
CUTEGEN_MATH T cos(T x) { return ::cos(x); }
CUTEGEN_MATH T tan(T x) { return ::tan(x); }
CUTEGEN_MATH T asin(T x) { return ::asin(x); }
CUTEGEN_MATH T acos(T x) { return ::acos(x); }
CUTEGEN_MATH T atan(T x) { return ::atan(x); }
CUTEGEN_MATH T atan2(T y, T x) { return ::atan2(y, x); }
CUTEGEN_MATH T sinh(T x) { return ::sinh(x); }
CUTEGEN_MATH T cosh(T x) { return ::cosh(x); }
CUTEGEN_MATH T tanh(T x) { return ::tanh(x); }
CUTEGEN_MATH T asinh(T x) { return ::asinh(x); }
CUTEGEN_MATH T acosh(T x) { return ::acosh(x); }
CUTEGEN_MATH T atanh(T x) { return ::atanh(x); }
CUTEGEN_MATH T erf(T x) { return ::erf(x); }
CUTEGEN_MATH T erfc(T x) { return ::erfc(x); }
CUTEGEN_MATH T floor(T x) { return ::floor(x); }
CUTEGEN_MATH T ceil(T x) { return ::ceil(x); }
CUTEGEN_MATH T trunc(T x) { return ::trunc(x); }
CUTEGEN_MATH T frac(T x) { return x - ::trunc(x); }
CUTEGEN_MATH T round_even(T x) { return ::rint(x); }  // torch.round: halves to even

// base ** n for a small constant integer n, as a chain of products (ATen does the same for 2 and 3).
template <int n, class T>
__device__ __forceinline__ T pow_int(T x) {
  if constexpr (n < 0) return T(1) / pow_int<-n>(x);
  else if constexpr (n == 0) return T(1);
  else if constexpr (n == 1) return x;
  else if constexpr (n == 3) return x * x * x;
  else if constexpr (n % 2 == 0) return pow_int<n / 2>(x * x);
  else return pow_int<n - 1>(x) * x;
}
CUTEGEN_MATH T pow(T x, T y) { return ::pow(x, y); }

CUTEGEN_MATH T div_trunc(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return ::trunc(a / b);
  else return a / b;
}
// Python's floor division and remainder: the remainder has the divisor's sign.
CUTEGEN_MATH T remainder(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    T const m = ::fmod(a, b);
    return (m != T(0) && ((b < T(0)) != (m < T(0)))) ? m + b : m;
  } else {
    T const m = a % b;
    return (m != T(0) && ((b < T(0)) != (m < T(0)))) ? T(m + b) : m;
  }
}
CUTEGEN_MATH T div_floor(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (b == T(0)) return a / b;
    T const m = ::fmod(a, b);
    T q = (a - m) / b;
    if (m != T(0) && ((b < T(0)) != (m < T(0)))) q -= T(1);
    if (q == T(0)) return ::copysign(T(0), a / b);
    T const f = ::floor(q);
    return q - f > T(0.5) ? f + T(1) : f;
  } else {
    T const q = a / b;
    return (a % b != 0 && ((a < 0) != (b < 0))) ? T(q - 1) : q;
  }
}
CUTEGEN_MATH T fmod(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return ::fmod(a, b);
  else return a % b;
}

CUTEGEN_MATH T sigmoid(T x) { return T(1) / (T(1) + ::exp(-x)); }
CUTEGEN_MATH T log_sigmoid(T x) { return minimum(x, T(0)) - ::log1p(::exp(-::fabs(x))); }
CUTEGEN_MATH T silu(T x) { return x / (T(1) + ::exp(-x)); }
CUTEGEN_MATH T softplus(T x, T beta, T threshold) { return x * beta > threshold ? x : ::log1p(::exp(x * beta)) / beta; }
CUTEGEN_MATH T mish(T x) { return x * ::tanh(::log1p(::exp(x))); }
CUTEGEN_MATH T softsign(T x) { return x / (T(1) + ::fabs(x)); }
CUTEGEN_MATH T relu6(T x) { return clamp(x, T(0), T(6)); }
CUTEGEN_MATH T hardtanh(T x, T lo, T hi) { return clamp(x, lo, hi); }
CUTEGEN_MATH T hardsigmoid(T x) { return clamp(x + T(3), T(0), T(6)) / T(6); }
CUTEGEN_MATH T hardswish(T x) { return x * clamp(x + T(3), T(0), T(6)) / T(6); }
CUTEGEN_MATH T hardshrink(T x, T lambda) { return (x >= -lambda && x <= lambda) ? T(0) : x; }
CUTEGEN_MATH T softshrink(T x, T lambda) { return x > lambda ? x - lambda : (x < -lambda ? x + lambda : x * T(0)); }
CUTEGEN_MATH T threshold(T x, T limit, T value) { return x <= limit ? value : x; }
CUTEGEN_MATH T leaky_relu(T x, T slope) { return x > T(0) ? x : x * slope; }
CUTEGEN_MATH T elu(T x, T alpha, T scale, T input_scale) {
  return x > T(0) ? x * scale : ::expm1(x * input_scale) * (alpha * scale);
}
CUTEGEN_MATH T selu(T x) { return elu(x, CUTEGEN_K(1.6732632423543772848170429916717), CUTEGEN_K(1.0507009873554804934193349852946), T(1)); }
CUTEGEN_MATH T celu(T x, T alpha) { return x > T(0) ? x : ::expm1(x / alpha) * alpha; }

// 0.5 x (1 + erf(x / sqrt 2)), the order of products as in ATen.
CUTEGEN_MATH T gelu_none(T x) { return x * T(0.5) * (T(1) + ::erf(x * CUTEGEN_K(0.70710678118654752440))); }
CUTEGEN_MATH T gelu_tanh(T x) {
  T const inner = CUTEGEN_K(0.79788456080286535588) * (x + CUTEGEN_K(0.044715) * x * x * x);
  return T(0.5) * x * (T(1) + ::tanh(inner));
}

CUTEGEN_MATH T lerp(T a, T b, T w) { return ::fabs(w) < T(0.5) ? a + w * (b - a) : b - (b - a) * (T(1) - w); }
CUTEGEN_MATH T huber(T a, T b, T delta) {
  T const z = ::fabs(a - b);
  return z < delta ? T(0.5) * z * z : delta * (z - T(0.5) * delta);
}
CUTEGEN_MATH T smooth_l1(T a, T b, T beta) {
  T const z = ::fabs(a - b);
  return z < beta ? T(0.5) * z * z / beta : z - T(0.5) * beta;
}
CUTEGEN_MATH T xlogy(T x, T y) { return y != y ? y : (x == T(0) ? T(0) : x * ::log(y)); }

CUTEGEN_MATH bool is_nan(T x) { return x != x; }
CUTEGEN_MATH bool is_inf(T x) { return ::fabs(x) == CUTEGEN_K(INFINITY); }
CUTEGEN_MATH bool is_finite(T x) { return ::fabs(x) < CUTEGEN_K(INFINITY); }
CUTEGEN_MATH T nan_to_num(T x, T nan, T posinf, T neginf) {
  return x != x ? nan : (x == CUTEGEN_K(INFINITY) ? posinf : (x == -CUTEGEN_K(INFINITY) ? neginf : x));
}

#undef CUTEGEN_K

}  // namespace cutegen

#undef CUTEGEN_MATH
