#include "vgpu/time/cache.h"

#include <gtest/gtest.h>

#include "vgpu/time/memory_levels.h"

namespace cutegen::vgpu {
namespace {

TEST(SectoredCache, FillsSectorBySector) {
  SectoredCache cache(4 * kLineBytes, 4);  // one set of four lines
  EXPECT_EQ(cache.touch(7, 0b0011, false).hit, 0);
  EXPECT_EQ(cache.touch(7, 0b0110, false).hit, 0b0010) << "the line is there, its third sector is not";
  EXPECT_EQ(cache.touch(7, 0b1111, false).hit, 0b0111);
  EXPECT_EQ(cache.peek(7, 0b1111), 0b1111);
  EXPECT_EQ(cache.peek(8, 0b1111), 0);
}

TEST(SectoredCache, ReplacesTheLineUsedLongestAgo) {
  SectoredCache cache(4 * kLineBytes, 4);
  for (uint64_t line : {1, 2, 3, 4}) EXPECT_FALSE(cache.touch(line, 1, false).replaced);
  cache.touch(1, 1, false);
  EXPECT_TRUE(cache.touch(5, 1, false).replaced);
  EXPECT_EQ(cache.peek(2, 1), 0) << "2 was used before 1, 3 and 4";
  for (uint64_t line : {1, 3, 4, 5}) EXPECT_EQ(cache.peek(line, 1), 1) << line;
}

TEST(SectoredCache, WritesBackOnlyDirtySectors) {
  SectoredCache cache(kLineBytes, 1);
  cache.touch(1, 0b1111, false);
  cache.touch(1, 0b0101, true);
  const SectoredCache::Touched t = cache.touch(2, 0b0001, false);
  EXPECT_TRUE(t.allocated);
  EXPECT_EQ(t.written_back, 2);
  EXPECT_EQ(cache.touch(3, 0b0001, false).written_back, 0);
}

GpuProfile small_gpu() {
  GpuProfile g;
  g.sms = 2;
  g.l1_bytes = 64 << 10;
  g.l2_bytes = 1 << 20;
  return g;
}

Lines lines_from(uint64_t base, uint64_t stride, uint32_t bytes, uint32_t mask = ~0u) {
  u64 a[32];
  for (u64 i = 0; i < 32; ++i) a[i] = base + i * stride;
  return lines_of(a, mask, bytes);
}

u32 sectors_in(const Lines& l) {
  u32 n = 0;
  for (u32 i = 0; i < l.count; ++i) n += static_cast<u32>(__builtin_popcount(l.entry[i].sectors));
  return n;
}

TEST(Lines, CountsWhatAWarpTouches) {
  EXPECT_EQ(sectors_in(lines_from(0x1000, 4, 4)), 4u) << "coalesced floats";
  EXPECT_EQ(lines_from(0x1000, 4, 4).count, 1u);
  EXPECT_EQ(sectors_in(lines_from(0x1000, 16, 16)), 16u) << "coalesced float4";
  EXPECT_EQ(lines_from(0x1000, 16, 16).count, 4u);
  EXPECT_EQ(sectors_in(lines_from(0x1004, 4, 4)), 5u) << "one word past a sector's start";
  EXPECT_EQ(sectors_in(lines_from(0x1000, 128, 4)), 32u);
  EXPECT_EQ(sectors_in(lines_from(0x1000, 0, 4)), 1u) << "one address";
  EXPECT_EQ(sectors_in(lines_from(0x1000, 4, 4, 0xff)), 1u) << "a quarter of the warp";
  EXPECT_EQ(lines_from(0x1000, 4, 4).entry[0].full, 0b1111);
  EXPECT_EQ(lines_from(0x1000, 8, 4).entry[0].full, 0) << "every other word";
}

TEST(MemoryLevels, ALoadMissesOnceOnEachLevel) {
  MemoryLevels levels(small_gpu(), 0);
  LevelCounts c;
  const Lines l = lines_from(0x10000, 4, 4);
  EXPECT_EQ(levels.load(0, l, false, c), Level::dram);
  EXPECT_EQ(levels.load(0, l, false, c), Level::l1);
  EXPECT_EQ(levels.load(1, l, false, c), Level::l2) << "another SM has an L1 of its own";
  EXPECT_EQ(levels.load(0, l, true, c), Level::l2) << ".cg passes by the L1";
  EXPECT_EQ(c.load_sectors, 16);
  EXPECT_EQ(c.load_hits, 4);
  EXPECT_EQ(c.l2_reads, 12);
  EXPECT_EQ(c.dram_reads, 4);
}

TEST(MemoryLevels, WhatIsWrittenGoesToDramWhenTheL2IsFull) {
  MemoryLevels levels(small_gpu(), 0);
  LevelCounts c;
  const u64 twice = 2 * (u64{1} << 20) / 128;
  for (u64 i = 0; i < twice; ++i) levels.store(0, lines_from(0x100000 + i * 128, 4, 4), c);
  EXPECT_EQ(c.store_sectors, 4 * static_cast<double>(twice));
  EXPECT_EQ(c.dram_reads, 0);
  // 1 MB of 2 MB must have left; sets are chosen by a hash, so a little more.
  EXPECT_GE(c.dram_writes, 32768);
  EXPECT_LE(c.dram_writes, 32768 * 1.2);
}

}  // namespace
}  // namespace cutegen::vgpu
