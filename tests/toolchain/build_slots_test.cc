#include "toolchain/build_slots.h"

#include <gtest/gtest.h>

#include "base/fs.h"

namespace cutegen {
namespace {

Deadline soon() { return Deadline::in(system_clock(), Seconds(0.02)); }

TEST(BuildSlots, GrantsAsManyAsTheLimitSays) {
  const auto dir = TempDir::make("slots-");
  ASSERT_TRUE(dir.ok());
  const BuildSlots slots(dir->path(), [] { return 2; });
  auto a = slots.acquire(soon(), system_clock());
  const auto b = slots.acquire(soon(), system_clock());
  ASSERT_TRUE(a.ok());
  ASSERT_TRUE(b.ok());
  const auto c = slots.acquire(soon(), system_clock());
  ASSERT_FALSE(c.ok());
  EXPECT_EQ(c.error().code, Errc::timeout);
  a->reset();
  EXPECT_TRUE(slots.acquire(soon(), system_clock()).ok());
}

TEST(BuildSlots, GrantsOneEvenWithoutMemory) {
  const auto dir = TempDir::make("slots-");
  ASSERT_TRUE(dir.ok());
  const BuildSlots slots(dir->path(), [] { return 0; });
  const auto a = slots.acquire(soon(), system_clock());
  EXPECT_TRUE(a.ok());
  EXPECT_FALSE(slots.acquire(soon(), system_clock()).ok());
}

TEST(BuildSlots, FollowsALimitThatGrows) {
  const auto dir = TempDir::make("slots-");
  ASSERT_TRUE(dir.ok());
  int limit = 1;
  const BuildSlots slots(dir->path(), [&] { return limit; });
  const auto a = slots.acquire(soon(), system_clock());
  EXPECT_FALSE(slots.acquire(soon(), system_clock()).ok());
  limit = 2;
  EXPECT_TRUE(slots.acquire(soon(), system_clock()).ok());
}

TEST(BuildSlots, ReadsFreeMemory) {
  EXPECT_EQ(parse_mem_available("MemTotal:       24675392 kB\nMemFree:        1 kB\nMemAvailable:   23000000 kB\n"),
            int64_t{23000000} * 1024);
  EXPECT_EQ(parse_mem_available("MemTotal: 1 kB\n"), -1);
  EXPECT_EQ(parse_mem_available("MemAvailable:"), -1);
  EXPECT_GT(available_memory_bytes(), 0);
  EXPECT_GE(usable_cores(), 1);
}

}  // namespace
}  // namespace cutegen
