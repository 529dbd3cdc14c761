#include "toolchain/ptxas_report.h"

#include <gtest/gtest.h>

#include "support/toolchain_data.h"

namespace cutegen {
namespace {

TEST(PtxasReport, ReadsARecordedReport) {
  const auto kernels = parse_ptxas_report(test_text("data/wgmma_wait.log"));
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].name, "twice");
  EXPECT_EQ(kernels[0].registers, 58);
  EXPECT_EQ(kernels[0].smem_bytes, 16384);
  EXPECT_EQ(kernels[0].barriers, 0);
}

TEST(PtxasReport, KeepsKernelsApartFromTheFunctionsThatTheyCall) {
  const auto kernels = parse_ptxas_report(
      "ptxas info    : 299 bytes gmem\n"
      "ptxas info    : Compiling entry function 'a' for 'sm_90a'\n"
      "ptxas info    : Function properties for a\n"
      "    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 2 barriers, 1024 bytes smem, 400 bytes cmem[0]\n"
      "ptxas info    : Function properties for helper\n"
      "    96 bytes stack frame, 80 bytes spill stores, 80 bytes spill loads\n"
      "ptxas info    : Compiling entry function 'b' for 'sm_90a'\n"
      "ptxas info    : Function properties for b\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 10 registers, used 0 barriers\n");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].stack_bytes, 16);
  EXPECT_EQ(kernels[0].spill_store_bytes, 8);
  EXPECT_EQ(kernels[0].spill_load_bytes, 12);
  EXPECT_EQ(kernels[0].registers, 255);
  EXPECT_EQ(kernels[0].barriers, 2);
  EXPECT_EQ(kernels[0].smem_bytes, 1024);
  EXPECT_EQ(kernels[1].name, "b");
  EXPECT_EQ(kernels[1].registers, 10);
  EXPECT_EQ(kernels[1].smem_bytes, 0);
}

TEST(PtxasReport, EmptyLog) { EXPECT_TRUE(parse_ptxas_report("").empty()); }

}  // namespace
}  // namespace cutegen
