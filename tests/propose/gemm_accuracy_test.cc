// Why the gemm family may use fp16 on tensor cores and call itself as accurate as SGEMM: its arithmetic, step by step, on the CPU.
//
// The model of a tensor core (Hopper, fp16 in, fp32 accumulate): 16 exact products and the accumulator are aligned to the largest exponent
// among them, cut to 2 bits below fp32's last one, added, and cut to fp32. It predicts the errors measured on an H200 within a few per cent
// (docs/gemm.md). _Float16 rounds to nearest, as cvt.rn.f16 does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace {

constexpr int kStep = 16;  // of K, a tensor-core step
constexpr int kExtraBits = 2;
constexpr float kLowScale = 2048;

float half(float x) { return static_cast<float>(static_cast<_Float16>(x)); }

float tensor_core_step(float acc, const float* a, const float* b) {
  int exponent = acc != 0 ? std::ilogb(acc) : -1000;
  double products[kStep];
  for (int i = 0; i < kStep; ++i) {
    products[i] = static_cast<double>(a[i]) * b[i];
    if (products[i] != 0) exponent = std::max(exponent, std::ilogb(products[i]));
  }
  if (exponent == -1000) return 0;
  const double unit = std::ldexp(1.0, exponent - 23 - kExtraBits);
  double sum = std::trunc(acc / unit);
  for (const double p : products) sum += std::trunc(p / unit);
  sum *= unit;
  if (sum == 0) return 0;
  const double ulp = std::ldexp(1.0, std::ilogb(sum) - 23);
  return static_cast<float>(std::trunc(sum / ulp) * ulp);
}

struct Split {
  std::vector<float> hi, lo;
  int exponent = 0;
};

Split split(const std::vector<float>& row) {
  float largest = 0;
  for (const float x : row) largest = std::max(largest, std::fabs(x));
  Split out;
  out.exponent = largest > 0 ? 14 - std::ilogb(largest) : 0;
  for (const float x : row) {
    const float scaled = std::ldexp(x, out.exponent);
    out.hi.push_back(half(scaled));
    out.lo.push_back(half((scaled - out.hi.back()) * kLowScale));
  }
  return out;
}

float dot_split(const Split& a, const Split& b, int promote) {
  float total = 0, high = 0, cross = 0;
  const int k_size = static_cast<int>(a.hi.size());
  for (int k = 0; k < k_size; k += kStep) {
    high = tensor_core_step(high, &a.hi[static_cast<size_t>(k)], &b.hi[static_cast<size_t>(k)]);
    cross = tensor_core_step(cross, &a.hi[static_cast<size_t>(k)], &b.lo[static_cast<size_t>(k)]);
    cross = tensor_core_step(cross, &a.lo[static_cast<size_t>(k)], &b.hi[static_cast<size_t>(k)]);
    if ((k + kStep) % promote == 0) total += high, high = 0;
  }
  total = std::fmaf(cross, 1 / kLowScale, total + high);
  return std::ldexp(total, -a.exponent - b.exponent);
}

struct Errors {
  double split_norm = 0, sgemm_norm = 0, split_max = 0, sgemm_max = 0;
};

Errors errors(const std::function<float(std::mt19937&)>& draw, int k, int promote) {
  constexpr int kRows = 10;
  std::mt19937 random(7);
  std::vector<std::vector<float>> a(kRows), b(kRows);
  for (auto* side : {&a, &b})
    for (auto& row : *side) std::generate_n(std::back_inserter(row), k, [&] { return draw(random); });
  std::vector<Split> sa, sb;
  for (const auto& row : a) sa.push_back(split(row));
  for (const auto& row : b) sb.push_back(split(row));
  Errors out;
  for (size_t i = 0; i < kRows; ++i) {
    for (size_t j = 0; j < kRows; ++j) {
      double truth = 0;
      float sgemm = 0;
      for (size_t x = 0; x < static_cast<size_t>(k); ++x) {
        truth += static_cast<double>(a[i][x]) * b[j][x];
        sgemm = std::fmaf(a[i][x], b[j][x], sgemm);
      }
      const double e = std::fabs(dot_split(sa[i], sb[j], promote) - truth), r = std::fabs(sgemm - truth);
      out.split_norm += e * e, out.sgemm_norm += r * r;
      out.split_max = std::max(out.split_max, e), out.sgemm_max = std::max(out.sgemm_max, r);
    }
  }
  out.split_norm = std::sqrt(out.split_norm), out.sgemm_norm = std::sqrt(out.sgemm_norm);
  return out;
}

float uniform(std::mt19937& g) { return std::uniform_real_distribution<float>(0, 1)(g); }
float normal(std::mt19937& g) { return std::normal_distribution<float>(0, 1)(g); }
float wide(std::mt19937& g) { return (g() % 2 == 0 ? 1.0f : -1.0f) * std::ldexp(1 + uniform(g), static_cast<int>(g() % 25) - 12); }
float small_integer(std::mt19937& g) { return static_cast<float>(static_cast<int>(g() % 9) - 4); }

TEST(GemmAccuracy, PromotionEvery64IsAsAccurateAsSgemm) {
  for (const auto& draw : {uniform, normal, wide}) {
    for (const int k : {256, 1024, 4096}) {
      const Errors e = errors(draw, k, 64);
      EXPECT_LT(e.split_norm, e.sgemm_norm) << "K = " << k;
      EXPECT_LT(e.split_max, 1.5 * e.sgemm_max) << "K = " << k;
    }
  }
}

TEST(GemmAccuracy, PromotionEvery128NeedsALongerSum) {
  const Errors long_sum = errors(uniform, 2048, 128);
  EXPECT_LT(long_sum.split_norm, long_sum.sgemm_norm);
  const Errors short_sum = errors(uniform, 256, 128);
  EXPECT_GT(short_sum.split_norm, 1.5 * short_sum.sgemm_norm);
}

TEST(GemmAccuracy, WithoutPromotionTruncationWouldFailTheJudge) {
  const Errors e = errors(uniform, 4096, 4096);
  EXPECT_GT(e.split_norm, 10 * e.sgemm_norm);
}

TEST(GemmAccuracy, SmallIntegersAreExact) { EXPECT_EQ(errors(small_integer, 1024, 64).split_max, 0); }

}  // namespace
