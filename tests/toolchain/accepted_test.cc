// Candidates that must build: what the policy and the PTX's checks must not trip over.
#include <gtest/gtest.h>

#include "base/subprocess.h"
#include "support/fake_toolchain.h"
#include "support/toolchain_data.h"
#include "toolchain/nvcc.h"

namespace cutegen {
namespace {

class AcceptedTest : public testing::Test {
 protected:
  AcceptedTest() : dir_(*TempDir::make("accepted-")) {
    config_.places.data = CUTEGEN_SOURCE_DIR;
    config_.cache = dir_.path();
  }
  void SetUp() override {
    if (const auto tools = tools_here(); !tools.ok()) GTEST_SKIP() << tools.error().message;
  }
  std::shared_ptr<const Build> build(const std::string& source, Backend backend) {
    const auto toolchain = make_nvcc_toolchain(config_);
    EXPECT_TRUE(toolchain.ok()) << toolchain.error().message;
    Candidate candidate;
    candidate.source = source;
    candidate.backend = backend;
    const auto outcome = (*toolchain)->build(twice_task(), candidate, Deadline::in(system_clock(), Seconds(300)));
    EXPECT_TRUE(outcome.ok()) << outcome.error().message << outcome.error().detail;
    if (!outcome.ok()) return nullptr;
    EXPECT_FALSE(outcome->failure) << outcome->failure->summary();
    return outcome->build;
  }
  TempDir dir_;
  ToolchainConfig config_;
};

// The first example of docs/candidate.md.
TEST_F(AcceptedTest, TheDocumentedCandidate) {
  const auto text = read_file(std::filesystem::path(CUTEGEN_SOURCE_DIR) / "docs/candidate.md");
  ASSERT_TRUE(text.ok());
  const size_t begin = text->find("```cpp\n") + 7;
  const auto built = build(text->substr(begin, text->find("```", begin) - begin), Backend::cute);
  ASSERT_TRUE(built);
  EXPECT_EQ(built->plan.launches[0].grid[0], 32u);
  EXPECT_EQ(built->plan.launches[0].args[2].value, 0x40000000u);
}

// printf strings, grid synchronisation, constant tables and PDL leave variables in the PTX that are no state.
TEST_F(AcceptedTest, LibraryVariablesInThePtx) {
  const auto built = build(R"(#include <cooperative_groups.h>
#include <cuda/std/array>
#include <cutegen/kernel.cuh>
#include <cstdint>

__constant__ float kTable[4] = {1, 2, 3, 4};
__device__ const float kMore[3] = {5, 6, 7};

extern "C" __global__ void first(float const* x, float* scratch) {
  cuda::std::array<float, 2> pair{x[threadIdx.x], kTable[threadIdx.x & 3] + kMore[threadIdx.x % 3]};
  if (pair[0] > 1e30f) printf("large: %f\n", pair[0]);
  cooperative_groups::this_grid().sync();
  scratch[threadIdx.x] = pair[0] + pair[1];
}
extern "C" __global__ void second(float const* scratch, float* y) {
  cudaGridDependencySynchronize();
  y[threadIdx.x] = scratch[threadIdx.x];
}
CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(first).grid(1).block(256).cooperative().args(cutegen::input(0), cutegen::workspace()),
                           CUTEGEN_LAUNCH(second).grid(1).block(256).pdl().args(cutegen::workspace(), cutegen::output(0)))
                 .workspace(1024));
)",
                           Backend::cuda);
  ASSERT_TRUE(built);
  EXPECT_EQ(built->kernels.size(), 2u);
}

TEST_F(AcceptedTest, AnyHostCompilerThatIsHereWillDo) {
  const std::filesystem::path clang = find_program("clang++");
  if (clang.empty()) GTEST_SKIP() << "no clang++ on PATH";
  config_.places.host_compiler = clang;
  EXPECT_TRUE(
      build("#include <cutegen/kernel.cuh>\n"
            "extern \"C\" __global__ void twice(float const* x, float* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }\n"
            "CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(twice).grid(1).block(256).args(cutegen::input(0), cutegen::output(0))));\n",
            Backend::cuda));
}

TEST(FakeToolchain, BuildsFailsAndRemembersOnRequest) {
  const auto dir = TempDir::make("fake-toolchain-");
  FakeToolchain fake(dir->path());
  fake.fail_when("broken", "nvcc", "it is broken");
  fake.error_when("slow", Error{Errc::timeout, "too slow", "", ""});
  Candidate candidate;
  candidate.source = "good";
  const auto first = fake.build(twice_task(), candidate, Deadline::never());
  const auto second = fake.build(twice_task(), candidate, Deadline::never());
  ASSERT_TRUE(first.ok() && first->build && second.ok() && second->build);
  EXPECT_FALSE(first->build->cached);
  EXPECT_TRUE(second->build->cached);
  EXPECT_EQ(first->build->key, second->build->key);
  EXPECT_TRUE(validate_plan(first->build->plan, twice_task()).ok());
  EXPECT_EQ(fake.builds(), 1);
  candidate.source = "broken";
  const auto broken = fake.build(twice_task(), candidate, Deadline::never());
  ASSERT_TRUE(broken.ok() && broken->failure);
  EXPECT_EQ(broken->failure->stage, "nvcc");
  candidate.source = "slow";
  EXPECT_EQ(fake.build(twice_task(), candidate, Deadline::never()).error().code, Errc::timeout);
}

}  // namespace
}  // namespace cutegen
