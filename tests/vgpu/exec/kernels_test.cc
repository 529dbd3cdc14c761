// Whole kernels as nvcc compiles them (fixtures/kernels.cu), against the same computation on the host.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "vgpu/support.h"

namespace cutegen::vgpu {
namespace {

class Kernels : public testing::TestWithParam<int> {  // the parameter: host threads
 protected:
  static const Program& program() {
    static const std::shared_ptr<const Program> p = load_fixture("kernels.ptx");
    return *p;
  }
  void run(const std::string& kernel, Dim3 grid, Dim3 block, std::vector<uint8_t> arguments) {
    LaunchConfig c;
    c.kernel = kernel, c.grid = grid, c.block = block, c.arguments = std::move(arguments);
    LaunchOptions o;
    o.threads = GetParam();
    o.time_limit = Seconds(60);
    result = launch(program(), memory, c, o);
    ASSERT_TRUE(result.ok()) << result.fault->message;
  }
  static std::vector<float> noise(size_t n, unsigned seed, float scale = 1) {
    std::mt19937 g(seed);
    std::normal_distribution<float> d(0, scale);
    std::vector<float> v(n);
    for (float& x : v) x = d(g);
    return v;
  }
  Memory memory;
  LaunchResult result;
};
INSTANTIATE_TEST_SUITE_P(Threads, Kernels, testing::Values(1, 3));

TEST_P(Kernels, AxpyIsBitExact) {
  std::vector<float> x = noise(10007, 1), y = noise(10007, 2), want(x.size());
  for (size_t i = 0; i < x.size(); ++i) want[i] = std::fma(1.7f, x[i], y[i]);
  run("axpy", {7}, {256}, pack_arguments(1.7f, map(memory, "x", x), map(memory, "y", y), int64_t(x.size())));
  EXPECT_EQ(y, want);
}

TEST_P(Kernels, RowSumThroughShufflesAndSharedMemory) {
  constexpr int kRows = 9, kColumns = 1000;
  std::vector<float> x = noise(kRows * kColumns, 3), y(kRows);
  run("row_sum", {kRows}, {192}, pack_arguments(map(memory, "x", x), map(memory, "y", y), kColumns));
  for (int r = 0; r < kRows; ++r) {
    double sum = 0;
    for (int c = 0; c < kColumns; ++c) sum += x[static_cast<size_t>(r * kColumns + c)];
    EXPECT_NEAR(y[static_cast<size_t>(r)], sum, 1e-4) << r;
  }
}

TEST_P(Kernels, Softmax) {
  constexpr int kRows = 16, kColumns = 333;
  std::vector<float> x = noise(kRows * kColumns, 4, 3), y(x.size());
  run("softmax", {kRows / 4}, {128}, pack_arguments(map(memory, "x", x), map(memory, "y", y), kColumns));
  for (int r = 0; r < kRows; ++r) {
    const float* row = x.data() + r * kColumns;
    double sum = 0;
    for (int c = 0; c < kColumns; ++c) sum += std::exp(static_cast<double>(row[c]));
    for (int c = 0; c < kColumns; ++c) {
      const double want = std::exp(static_cast<double>(row[c])) / sum;
      EXPECT_NEAR(y[static_cast<size_t>(r * kColumns + c)], want, 1e-6 * want + 1e-12);
    }
  }
}

TEST_P(Kernels, ActivationsOfTheMathLibrary) {
  std::vector<float> x = noise(1000, 5, 2);
  x[0] = 0, x[1] = -0.0f, x[2] = 60, x[3] = -60, x[4] = 1e-30f;
  const int n = static_cast<int>(x.size());
  std::vector<float> y(8 * x.size());
  run("activations", {(static_cast<uint32_t>(n) + 127) / 128}, {128}, pack_arguments(map(memory, "x", x), map(memory, "y", y), n));
  for (int i = 0; i < n; ++i) {
    const double v = x[static_cast<size_t>(i)];
    const double want[] = {0.5 * v * (1 + std::erf(v * 0.70710678)),
                           std::tanh(v),
                           v / (1 + std::exp(-v)),
                           std::log(1 + std::exp(v)),
                           std::sin(static_cast<double>(static_cast<float>(v) * 100.0f)),
                           std::pow(std::fabs(v), 1.3f),
                           std::cos(v) / std::sqrt(std::fabs(v) + 1),
                           v * 1.5};
    const double relative[] = {1e-5, 1e-6, 1e-6, 1e-6, 1e-6, 1e-6, 1e-6, 2e-3};
    for (int k = 0; k < 8; ++k)
      EXPECT_NEAR(y[static_cast<size_t>(k * n + i)], want[k], relative[k] * std::fabs(want[k]) + 1e-6) << "function " << k << " at " << v;
  }
}

TEST_P(Kernels, TransposeWithRaggedEdges) {
  constexpr int kRows = 70, kColumns = 45;
  std::vector<float> x = noise(kRows * kColumns, 6), y(x.size());
  run("transpose", {2, 3}, {32, 8}, pack_arguments(map(memory, "x", x), map(memory, "y", y), kRows, kColumns));
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < kColumns; ++c) ASSERT_EQ(y[static_cast<size_t>(c * kRows + r)], x[static_cast<size_t>(r * kColumns + c)]);
}

TEST_P(Kernels, HistogramByAtomics) {
  std::vector<uint32_t> x(5000), bins(64), want(64);
  std::mt19937 g(7);
  for (uint32_t& v : x) v = static_cast<uint32_t>(g()), ++want[v % 64];
  run("histogram", {4}, {128}, pack_arguments(map(memory, "x", x), map(memory, "bins", bins), static_cast<int>(x.size())));
  EXPECT_EQ(bins, want);
}

TEST_P(Kernels, CollatzDivergesInEveryLane) {
  std::vector<uint32_t> x(777), y(777), want(777);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<uint32_t>(i * 37 % 1001);
    uint64_t v = x[i];
    while (v > 1) {
      if (v % 2 == 0)
        v /= 2;
      else if (v % 3 == 0 && want[i] % 2 == 0)
        v = 3 * v + 1, want[i] += 10;
      else
        v = 3 * v + 1;
      if (++want[i] > 500) break;
    }
  }
  run("collatz", {7}, {128}, pack_arguments(map(memory, "x", x), map(memory, "y", y), static_cast<int>(x.size())));
  EXPECT_EQ(y, want);
}

TEST_P(Kernels, MmaSyncGemm) {
  constexpr int kM = 32, kN = 24, kK = 64;
  auto bf16_matrix = [](int rows, unsigned seed) {
    std::vector<uint16_t> v(static_cast<size_t>(rows * kK));
    std::mt19937 g(seed);
    for (uint16_t& x : v) x = static_cast<uint16_t>(0x3f00 + g() % 256) ^ static_cast<uint16_t>((g() & 1) << 15);
    return v;
  };
  auto value = [](uint16_t b) {
    const uint32_t bits = static_cast<uint32_t>(b) << 16;
    float f;
    std::memcpy(&f, &bits, 4);
    return static_cast<double>(f);
  };
  std::vector<uint16_t> a = bf16_matrix(kM, 8), b = bf16_matrix(kN, 9);
  std::vector<float> c(kM * kN);
  run("mma_gemm", {kN / 8, kM / 16}, {32}, pack_arguments(map(memory, "a", a), map(memory, "b", b), map(memory, "c", c), kN, kK));
  for (int m = 0; m < kM; ++m) {
    for (int n = 0; n < kN; ++n) {
      double sum = 0;
      for (int k = 0; k < kK; ++k) sum += value(a[static_cast<size_t>(m * kK + k)]) * value(b[static_cast<size_t>(n * kK + k)]);
      EXPECT_NEAR(c[static_cast<size_t>(m * kN + n)], sum, 1e-4) << m << "," << n;
    }
  }
}

TEST_P(Kernels, CallsLocalMemoryConstantsGlobalsAndPrintf) {
  std::vector<float> y(65);
  run("calls", {1}, {64}, pack_arguments(map(memory, "y", y), 3));
  const float table[] = {1, 10, 100, 1000};
  for (int i = 0; i < 64; ++i) {
    auto local = [&](int k) { return static_cast<float>(k) * table[k % 4]; };
    const float odd = i % 5 > 2 ? local(i % 8) * 2 : local(i % 8) + static_cast<float>(i % 5);
    EXPECT_EQ(y[static_cast<size_t>(i)], i % 2 != 0 ? odd : local((i + 3) % 8)) << i;
  }
  EXPECT_EQ(y[64], 64);
  EXPECT_EQ(result.output, "thread 3 has 6000.000000 ok\n");
}

}  // namespace
}  // namespace cutegen::vgpu
