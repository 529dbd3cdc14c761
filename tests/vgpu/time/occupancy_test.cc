#include "vgpu/time/occupancy.h"

#include <gtest/gtest.h>

#include <string>

namespace cutegen::vgpu {
namespace {

GpuProfile h200() {
  auto p = load_gpu_profile(std::filesystem::path(CUTEGEN_SOURCE_DIR) / "gpus" / "h200.json");
  EXPECT_TRUE(p.ok()) << (p.ok() ? "" : p.error().message);
  return p.ok() ? *p : GpuProfile{};
}

// Worked out by hand from the limits of compute capability 9.0: 64 warps, 32 CTAs, 65536 registers in units of 256 a warp, 228 KB of shared
// memory of which each CTA costs 1 KB more than it asks for.
TEST(Occupancy, FollowsTheTightestLimit) {
  const GpuProfile g = h200();
  EXPECT_EQ(occupancy(g, {256, 32, 0}).ctas, 8u);  // 2048 threads
  EXPECT_STREQ(occupancy(g, {256, 32, 0}).limit, "warps");
  EXPECT_EQ(occupancy(g, {32, 16, 0}).ctas, 32u);
  EXPECT_STREQ(occupancy(g, {32, 16, 0}).limit, "ctas");
  EXPECT_EQ(occupancy(g, {256, 64, 0}).ctas, 4u);  // 64 * 32 = 2048 registers a warp: 32 warps
  EXPECT_STREQ(occupancy(g, {256, 64, 0}).limit, "registers");
  EXPECT_EQ(occupancy(g, {256, 65, 0}).ctas, 3u);          // rounded up to 2304 a warp: 28 warps
  EXPECT_EQ(occupancy(g, {128, 32, 48 * 1024}).ctas, 4u);  // 49 KB each of 228
  EXPECT_STREQ(occupancy(g, {128, 32, 48 * 1024}).limit, "smem");
  EXPECT_EQ(occupancy(g, {1024, 64, 0}).ctas, 1u);
  EXPECT_EQ(occupancy(g, {1024, 65, 0}).ctas, 0u) << "28 of the 32 warps fit";
  EXPECT_EQ(occupancy(g, {33, 32, 0}).by_warps, 32u) << "33 threads are two warps";
}

TEST(GpuProfile, TheOthersLoadToo) {
  for (const char* name : {"h100", "a100", "rtx4090"}) {
    const auto p = load_gpu_profile(std::filesystem::path(CUTEGEN_SOURCE_DIR) / "gpus" / (std::string(name) + ".json"));
    ASSERT_TRUE(p.ok()) << p.error().message;
    EXPECT_FALSE(p->validated) << name;
  }
}

TEST(GpuProfile, AMissingFileIsAnError) { EXPECT_FALSE(load_gpu_profile("/nowhere/gpu.json").ok()); }

}  // namespace
}  // namespace cutegen::vgpu
