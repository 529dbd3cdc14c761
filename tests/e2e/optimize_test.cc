// The example tasks, from the Python file to a verified kernel and back in, through the built program on the virtual GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/program.h"

namespace cutegen {
namespace {

namespace fs = std::filesystem;

class OptimizeTest : public ProgramTest, public testing::WithParamInterface<const char*> {};

TEST_P(OptimizeTest, TheBestKernelIsVerifiedAgainExportedAndRemembered) {
  const std::string file = task(GetParam());
  const Finished optimized =
      cutegen({"optimize", file, "--device", "virtual", "--max-candidates", "2", "--seed", "7", "--run", "run", "--json"});
  if (optimized.status.code == 3) GTEST_SKIP() << optimized.err;
  ASSERT_EQ(optimized.status.code, 0) << optimized.err;
  const Json result = json_of(optimized);
  EXPECT_EQ(result["schema"], 1);
  EXPECT_EQ(result["verified"], true);
  EXPECT_EQ(result["device"]["kind"], "virtual");
  EXPECT_EQ(result["nodes"].size(), 2u);
  EXPECT_EQ(result["best"]["time"]["measured"], false) << "a predicted time must not pass for a measured one";
  const auto best = read_file(path("run/best.cu"));
  ASSERT_TRUE(best.ok()) << best.error().message;

  EXPECT_EQ(cutegen({"export", "run", "--format", "cu", "-o", "exported.cu"}).status.code, 0);
  EXPECT_EQ(*read_file(path("exported.cu")), *best);

  // Judged anew with a cache that knows nothing of the run, then known.
  share_builds("another_cache");
  const std::vector<std::string> eval = {"eval", file, "run/best.cu", "--device", "virtual", "--json"};
  for (const bool cached : {false, true}) {
    SCOPED_TRACE(cached ? "second" : "first");
    const Finished evaluated = cutegen(eval, "another_cache");
    EXPECT_EQ(evaluated.status.code, 0) << evaluated.err;
    const Json verdict = json_of(evaluated);
    EXPECT_EQ(verdict["verified"], true);
    EXPECT_EQ(verdict["cached"], cached);
  }
  EXPECT_TRUE(processes().empty());
}

TEST_P(OptimizeTest, InspectShowsTheGraphAndTheFloor) {
  const Finished inspected = cutegen({"inspect", task(GetParam()), "--device", "cpu", "--json"});
  if (inspected.status.code == 3) GTEST_SKIP() << inspected.err;
  ASSERT_EQ(inspected.status.code, 0) << inspected.err;
  const Json said = json_of(inspected);
  EXPECT_EQ(said["schema"], 1);
  EXPECT_EQ(said["task"]["name"], GetParam());
  EXPECT_GE(said["task"]["graph"]["nodes"].size(), 2u);
  EXPECT_GT(said["analysis"]["floor_ms"].get<double>(), 0);
}

INSTANTIATE_TEST_SUITE_P(Tasks, OptimizeTest, testing::Values("fused_gelu_bias", "linear_relu", "rms_norm", "row_softmax"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST_F(ProgramTest, EveryExampleTaskIsTested) {
  std::set<std::string> found;
  for (const auto& entry : fs::directory_iterator(CUTEGEN_SOURCE_DIR "/tasks"))
    if (entry.path().extension() == ".py") found.insert(entry.path().stem().string());
  EXPECT_THAT(found, testing::ElementsAre("fused_gelu_bias", "linear_relu", "rms_norm", "row_softmax"));
}

}  // namespace
}  // namespace cutegen
