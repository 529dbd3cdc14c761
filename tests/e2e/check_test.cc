// `cutegen check` through the built program: a kernel with a race, the same repaired, and what it cannot work without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/program.h"

namespace cutegen {
namespace {

using testing::HasSubstr;

constexpr const char* kTask =
    "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x.roll(-1, 1)\n"
    "def get_inputs():\n    return [torch.rand(4, 256)]\ndef get_init_inputs():\n    return []\n";

std::string candidate(const std::string& barrier) {
  return "#include <cutegen/kernel.cuh>\n#include <task.h>\n"
         "extern \"C\" __global__ void roll(float const* x, float* y) {\n"
         "  __shared__ float s[256];\n"
         "  s[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];\n" +
         barrier +
         "  y[blockIdx.x * 256 + threadIdx.x] = s[(threadIdx.x + 1) % 256];\n}\n"
         "CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(roll).grid(4).block(256).args(cutegen::input(0), cutegen::output(0))));\n";
}

class CheckTest : public ProgramTest {
 protected:
  Finished check(const std::string& barrier) {
    EXPECT_TRUE(write_file_atomic(path("task.py"), kTask).ok());
    EXPECT_TRUE(write_file_atomic(path("roll.cu"), candidate(barrier)).ok());
    return cutegen({"check", path("roll.cu").string(), "--task", path("task.py").string(), "--backend", "cuda", "--json"});
  }
};

TEST_F(CheckTest, ARaceIsFoundAtItsLineAndTheRepairedKernelIsClean) {
  const Finished racy = check("  /* no barrier */\n");
  if (racy.status.code == 3) GTEST_SKIP() << racy.err;
  EXPECT_EQ(racy.status.code, 1) << racy.err;
  const Json found = json_of(racy);
  EXPECT_EQ(found["clean"], false);
  ASSERT_FALSE(found["findings"].empty());
  bool race = false;
  for (const Json& f : found["findings"]) race = race || (f["kind"] == "race" && (f["line"] == 5 || f["line"] == 7));
  EXPECT_TRUE(race) << racy.out;

  const Finished repaired = check("  __syncthreads();\n");
  EXPECT_EQ(repaired.status.code, 0) << repaired.out << repaired.err;
  EXPECT_EQ(json_of(repaired)["clean"], true);
}

TEST_F(CheckTest, WithoutATaskItSaysWhatIsMissing) {
  const Finished f = cutegen({"check", path("roll.cu").string()});
  EXPECT_EQ(f.status.code, 2);
  EXPECT_THAT(f.err, HasSubstr("--task TASK.py"));
}

}  // namespace
}  // namespace cutegen
