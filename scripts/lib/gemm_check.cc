// Watches a program's copies and checks the matrix product that it computes, for programs that do not check themselves: the CuTe tutorials.
// Preloaded (LD_PRELOAD), so the program is left as it is. The first copy to the device is A, the second B; every copy from the device of
// C's size is the product of the two. Says its verdict on stderr when the program ends: "gemm_check: ok, ..." or "gemm_check: WRONG, ...".
//
//   GEMM_CHECK="m n k transA transB TYPE TOLERANCE"    TYPE: f32 or f16, of all three matrices; column-major, as in BLAS
//
// TOLERANCE: the largest |C - AB| / (|A| |B|) that is right, element by element; 0 where the product is exact.
#include <dlfcn.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

struct Problem {
  size_t m = 0, n = 0, k = 0;
  char trans_a = 'N', trans_b = 'T';
  bool half = false;
  double tolerance = 0;
};

double half_to_double(uint16_t h) {
  const int exponent = (h >> 10) & 31, fraction = h & 1023;
  const double magnitude = exponent == 31  ? (fraction != 0 ? NAN : INFINITY)
                           : exponent == 0 ? std::ldexp(fraction, -24)
                                           : std::ldexp(1024 + fraction, exponent - 25);
  return (h >> 15) != 0 ? -magnitude : magnitude;
}

class Checker {
 public:
  Checker() {
    const char* text = std::getenv("GEMM_CHECK");
    char type[8] = "";
    active_ = text != nullptr &&
              std::sscanf(text, "%zu %zu %zu %c %c %7s %lf", &p_.m, &p_.n, &p_.k, &p_.trans_a, &p_.trans_b, type, &p_.tolerance) == 7;
    p_.half = std::strcmp(type, "f16") == 0;
  }
  ~Checker() {
    if (!active_) return;
    if (checks_ == 0)
      std::fprintf(stderr, "gemm_check: WRONG, no product was copied from the device\n");
    else
      std::fprintf(stderr, "gemm_check: %s, %zu of %zu elements beyond %g, worst %.3g\n", bad_ == 0 ? "ok" : "WRONG", bad_,
                   checks_ * p_.m * p_.n, p_.tolerance, worst_);
  }
  void to_device(const void* from, size_t bytes) {
    if (!active_ || matrices_ == 2) return;
    std::vector<double>& matrix = matrices_++ == 0 ? a_ : b_;
    matrix = read(from, bytes);
  }
  void from_device(const void* to, size_t bytes) {
    if (active_ && matrices_ == 2 && bytes == p_.m * p_.n * element_bytes()) check(read(to, bytes));
  }

 private:
  size_t element_bytes() const { return p_.half ? 2 : 4; }
  std::vector<double> read(const void* from, size_t bytes) const {
    std::vector<double> out(bytes / element_bytes());
    for (size_t i = 0; i < out.size(); ++i) {
      if (p_.half) {
        uint16_t h;
        std::memcpy(&h, static_cast<const char*>(from) + 2 * i, 2);
        out[i] = half_to_double(h);
      } else {
        float f;
        std::memcpy(&f, static_cast<const char*>(from) + 4 * i, 4);
        out[i] = f;
      }
    }
    return out;
  }
  void check(const std::vector<double>& c) {
    ++checks_;
    if (a_.size() != p_.m * p_.k || b_.size() != p_.n * p_.k) {
      bad_ += p_.m * p_.n;
      return;
    }
    for (size_t j = 0; j < p_.n; ++j)
      for (size_t i = 0; i < p_.m; ++i) {
        double sum = 0, scale = 0;
        for (size_t l = 0; l < p_.k; ++l) {
          const double a = p_.trans_a == 'N' ? a_[i + l * p_.m] : a_[l + i * p_.k];
          const double b = p_.trans_b == 'T' ? b_[j + l * p_.n] : b_[l + j * p_.k];
          sum += a * b;
          scale += std::abs(a * b);
        }
        const double error = std::abs(c[i + j * p_.m] - sum) / scale;
        if (!(error <= p_.tolerance)) ++bad_;
        if (!(error <= worst_)) worst_ = error;
      }
  }

  bool active_ = false;
  Problem p_;
  int matrices_ = 0;
  std::vector<double> a_, b_;
  size_t checks_ = 0, bad_ = 0;
  double worst_ = 0;
};
Checker checker;

constexpr int kHostToDevice = 1, kDeviceToHost = 2;

template <class Next, class... Rest>
int copy(const char* name, void* to, const void* from, size_t bytes, int kind, Rest... rest) {
  const auto next = reinterpret_cast<Next>(dlsym(RTLD_NEXT, name));
  if (kind == kHostToDevice) checker.to_device(from, bytes);
  const int code = next(to, from, bytes, kind, rest...);
  if (kind == kDeviceToHost && code == 0) checker.from_device(to, bytes);
  return code;
}

}  // namespace

extern "C" int cudaMemcpy(void* to, const void* from, size_t bytes, int kind) {
  return copy<int (*)(void*, const void*, size_t, int)>("cudaMemcpy", to, from, bytes, kind);
}
extern "C" int cudaMemcpyAsync(void* to, const void* from, size_t bytes, int kind, void* stream) {
  return copy<int (*)(void*, const void*, size_t, int, void*)>("cudaMemcpyAsync", to, from, bytes, kind, stream);
}
