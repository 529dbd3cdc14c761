#include "candidate/ptx_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cutegen {
namespace {

constexpr const char* kPtx = R"(
.version 9.0
.target sm_90a
	// .globl	scale
.global .align 16 .b8 cutegen_plan_value[2] = {9, 9};
.global .align 16 .b8 cutegen_plan[6] = {67, 0x2a, 0,
 255};
.visible .entry scale(
	.param .u64 .ptr .align 1 scale_param_0,
	.param .f32 scale_param_1,
	.param .align 64 .b8 scale_param_2[128], /* a map */
	.param .u8 scale_param_3
)
.maxntid 128, 2, 1
.minnctapersm 2
.explicitcluster
.reqnctapercluster 2, 1, 1
{
	.reg .b32 %r<3>;
	ret;
}
.entry bare()
.reqntid 64
{
	ret;
}
)";

TEST(PtxText, FindsEntriesWithTheirParametersAndBounds) {
  const auto entries = ptx_entries(kPtx);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].name, "scale");
  EXPECT_THAT(entries[0].param_bytes, testing::ElementsAre(8, 4, 128, 1));
  EXPECT_EQ(entries[0].max_threads, 256u);
  EXPECT_FALSE(entries[0].exact_threads);
  ASSERT_TRUE(entries[0].cluster.has_value());
  EXPECT_THAT(*entries[0].cluster, testing::ElementsAre(2, 1, 1));
  EXPECT_EQ(entries[1].name, "bare");
  EXPECT_TRUE(entries[1].param_bytes.empty());
  EXPECT_EQ(entries[1].max_threads, 64u);
  EXPECT_TRUE(entries[1].exact_threads);
  EXPECT_FALSE(entries[1].cluster.has_value());
}

TEST(PtxText, ReadsInitialisedBytesAndFillsWithZeros) {
  const auto bytes = ptx_bytes(kPtx, "cutegen_plan");
  ASSERT_TRUE(bytes.has_value());
  EXPECT_EQ(*bytes, std::string("C*\0\xff\0\0", 6));
  EXPECT_FALSE(ptx_bytes(kPtx, "cutegen").has_value());
  EXPECT_FALSE(ptx_bytes("// .global .b8 cutegen_plan[1] = {1};", "cutegen_plan").has_value());
  EXPECT_FALSE(ptx_bytes(".global .b8 cutegen_plan[1] = {1, 2};", "cutegen_plan").has_value());
  EXPECT_FALSE(ptx_bytes(".global .b8 cutegen_plan[2] = {1, 256};", "cutegen_plan").has_value());
  EXPECT_FALSE(ptx_bytes(".global .u32 cutegen_plan[1] = {1};", "cutegen_plan").has_value());
  EXPECT_FALSE(ptx_bytes(".global .b8 cutegen_plan[9999999999] = {1};", "cutegen_plan").has_value());
}

TEST(PtxText, SurvivesEveryCutOffText) {
  const std::string text = kPtx;
  for (size_t n = 0; n <= text.size(); ++n) {
    ptx_entries(std::string_view(text).substr(0, n));
    ptx_bytes(std::string_view(text).substr(0, n), "cutegen_plan");
  }
}

}  // namespace
}  // namespace cutegen
