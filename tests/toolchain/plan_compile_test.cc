// The device side of a plan compiled against the host side: what a .cu file states, decode_plan() must read; what it states wrongly must
// not compile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/subprocess.h"
#include "candidate/plan.h"
#include "support/toolchain_data.h"
#include "toolchain/compile.h"
#include "toolchain/diagnostics.h"

namespace cutegen {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class PlanCompileTest : public testing::Test {
 protected:
  void SetUp() override {
    auto tools = tools_here();
    if (!tools.ok()) GTEST_SKIP() << tools.error().message;
    tools_ = *tools;
  }
  Compiled compile_file(const std::string& name) {
    source_ = test_text(name);
    const auto dir = TempDir::make("plan-compile-");
    auto compiled = compile(tools_, "sm_90a", twice_task(), source_, dir->path(), Deadline::in(system_clock(), Seconds(300)));
    EXPECT_TRUE(compiled.ok()) << compiled.error().message << compiled.error().detail;
    return compiled.ok() ? *compiled : Compiled{};
  }
  Tools tools_;
  std::string source_;
};

void expect_scalar(const PlanArg& arg, uint32_t size, uint64_t value) {
  EXPECT_EQ(arg.kind, ArgKind::scalar);
  EXPECT_EQ(arg.size, size);
  EXPECT_EQ(arg.value, value);
}

void expect_pointer(const PlanArg& arg, ArgKind kind, uint32_t index, uint64_t offset) {
  EXPECT_EQ(arg.kind, kind);
  EXPECT_EQ(arg.index, index);
  EXPECT_EQ(arg.offset, offset);
  EXPECT_EQ(arg.size, 8u);
}

TEST_F(PlanCompileTest, TheHostReadsEveryFeatureThatTheDeviceSideWrites) {
  const Compiled compiled = compile_file("every_feature.cu");
  ASSERT_FALSE(compiled.outcome.failure) << compiled.outcome.failure->summary();
  ASSERT_TRUE(compiled.outcome.build);
  const Plan& plan = compiled.outcome.build->plan;
  ASSERT_EQ(plan.launches.size(), 6u);
  EXPECT_EQ(plan.workspace_bytes, 4096u);
  EXPECT_TRUE(plan.workspace_zeroed);

  const Launch& scalars = plan.launches[0];
  EXPECT_EQ(scalars.kernel, "scalars");
  EXPECT_THAT(scalars.grid, ElementsAre(1056, 2, 3));
  EXPECT_THAT(scalars.block, ElementsAre(32, 4, 2));
  EXPECT_THAT(scalars.cluster, ElementsAre(1, 1, 1));
  EXPECT_EQ(scalars.smem_bytes, 1024u);
  EXPECT_FALSE(scalars.cooperative || scalars.pdl);
  ASSERT_EQ(scalars.args.size(), 11u);
  expect_pointer(scalars.args[0], ArgKind::input, 0, 64);
  expect_pointer(scalars.args[1], ArgKind::output, 0, 0);
  expect_scalar(scalars.args[2], 1, 1);
  expect_scalar(scalars.args[3], 1, 0xfd);
  expect_scalar(scalars.args[4], 2, 0x10000 - 300);
  expect_scalar(scalars.args[5], 4, 70000);
  expect_scalar(scalars.args[6], 8, uint64_t{1} << 40);
  expect_scalar(scalars.args[7], 4, 0x3f000000);
  expect_scalar(scalars.args[8], 8, 0x3fd0000000000000);
  expect_scalar(scalars.args[9], 1, 7);
  expect_scalar(scalars.args[10], 4, 4000000000u);

  EXPECT_TRUE(plan.launches[1].cooperative);
  EXPECT_FALSE(plan.launches[1].pdl);
  EXPECT_EQ(plan.launches[1].smem_bytes, 232448u);
  EXPECT_TRUE(plan.launches[2].pdl);
  EXPECT_FALSE(plan.launches[2].cooperative);
  EXPECT_EQ(plan.launches[1].args[0].kind, ArgKind::tensor_map);
  EXPECT_EQ(plan.launches[1].args[0].size, 128u);
  EXPECT_EQ(plan.launches[1].args[0].index, 0u);
  EXPECT_EQ(plan.launches[1].args[1].index, 1u);
  expect_pointer(plan.launches[1].args[2], ArgKind::workspace, 0, 128);
  EXPECT_EQ(plan.launches[2].args[0].index, 2u);
  EXPECT_EQ(plan.launches[2].args[1].index, 0u);  // an equal map is shared

  EXPECT_THAT(plan.launches[3].cluster, ElementsAre(2, 1, 1));  // of __cluster_dims__
  EXPECT_THAT(plan.launches[4].cluster, ElementsAre(2, 1, 1));
  expect_pointer(plan.launches[3].args[2], ArgKind::output, 0, 4096);
  EXPECT_EQ(plan.launches[5].kernel, "nothing");
  EXPECT_TRUE(plan.launches[5].args.empty());

  ASSERT_EQ(plan.tensor_maps.size(), 3u);
  const PlanTensorMap& a = plan.tensor_maps[0];
  EXPECT_EQ(a.dtype, DType::f32);
  EXPECT_EQ(a.buffer, ArgKind::input);
  EXPECT_THAT(a.shape, ElementsAre(256, 128));
  EXPECT_THAT(a.strides, ElementsAre(1024));
  EXPECT_THAT(a.box, ElementsAre(32, 64));
  EXPECT_THAT(a.element_strides, ElementsAre(1, 1));
  EXPECT_EQ(a.swizzle, 3u);
  EXPECT_EQ(a.oob_fill, 0u);
  const PlanTensorMap& b = plan.tensor_maps[1];
  EXPECT_EQ(b.buffer, ArgKind::output);
  EXPECT_EQ(b.offset, 1024u);
  EXPECT_THAT(b.shape, ElementsAre(64, 4, 3));
  EXPECT_THAT(b.strides, ElementsAre(1024, 4096));
  EXPECT_THAT(b.box, ElementsAre(4, 2, 1));
  EXPECT_THAT(b.element_strides, ElementsAre(1, 2, 1));
  EXPECT_EQ(b.l2_promotion, 3u);
  EXPECT_EQ(b.oob_fill, 1u);
  const PlanTensorMap& line = plan.tensor_maps[2];
  EXPECT_EQ(line.dtype, DType::u8);
  EXPECT_EQ(line.buffer, ArgKind::workspace);
  EXPECT_THAT(line.shape, ElementsAre(128));
  EXPECT_TRUE(line.strides.empty());
}

// "12: sentence" for each line with an "// expect:" comment.
std::map<int, std::string> expectations(const std::string& source) {
  std::map<int, std::string> out;
  int line = 0;
  for (size_t begin = 0; begin < source.size();) {
    const size_t end = std::min(source.find('\n', begin), source.size());
    const std::string text = source.substr(begin, end - begin);
    begin = end + 1;
    ++line;
    if (const size_t at = text.find("// expect: "); at != std::string::npos && text.find("WRONG(") != std::string::npos)
      out[line] = text.substr(at + 11);
  }
  return out;
}

TEST_F(PlanCompileTest, EveryWrongPlanIsRefusedWithItsSentence) {
  const Compiled compiled = compile_file("wrong_plans.cu");
  ASSERT_TRUE(compiled.outcome.failure);
  EXPECT_EQ(compiled.outcome.failure->stage, "nvcc");
  const auto expected = expectations(source_);
  ASSERT_GE(expected.size(), 40u);
  // The whole log, since diagnostics are cut to a readable number: sentences by line of the file.
  std::map<int, std::string> said;
  std::string message;
  const std::string& log = compiled.files.at("log.txt");
  for (size_t begin = 0; begin < log.size();) {
    const size_t end = std::min(log.find('\n', begin), log.size());
    const std::string line = log.substr(begin, end - begin);
    begin = end + 1;
    if (line.find(": error: ") != std::string::npos) message = line;
    const size_t mark = line.find(" of candidate.cu");
    if (mark == std::string::npos || message.empty()) continue;
    const size_t number = line.rfind(' ', mark - 1) + 1;
    said[std::stoi(line.substr(number, mark - number))] += message + "\n";
  }
  for (const auto& [line, sentence] : expected) EXPECT_THAT(said[line], HasSubstr(sentence)) << "wrong_plans.cu:" << line;
  // Right plans are at the end of the file; nothing may be said about them.
  const int last = expected.rbegin()->first;
  for (const auto& [line, text] : said) EXPECT_LE(line, last) << text;
}

}  // namespace
}  // namespace cutegen
