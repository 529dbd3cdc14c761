// The parts of happens-before: clocks, what a warp's lanes know, shadows of memory, written bytes.
#include <gtest/gtest.h>

#include "base/fs.h"
#include "vgpu/mem/written.h"
#include "vgpu/observe/check.h"
#include "vgpu/observe/order/shadow.h"
#include "vgpu/observe/order/warp_order.h"

namespace cutegen::vgpu {
namespace {

TEST(Clock, JoinTakesTheLaterOfEach) {
  Clock a, b;
  a.raise(3, 0b01, 5);
  a.raise(9, ~0u, 1);
  b.raise(3, 0b11, 4);
  b.raise(7, 0b10, 2);
  EXPECT_FALSE(a.covers(b));
  a.join(b);
  EXPECT_EQ(a.time(3, 0), 5u);
  EXPECT_EQ(a.time(3, 1), 4u);
  EXPECT_EQ(a.time(7, 1), 2u);
  EXPECT_EQ(a.time(7, 0), 0u);
  EXPECT_EQ(a.time(9, 31), 1u);
  EXPECT_EQ(a.time(8, 0), 0u);
  EXPECT_TRUE(a.covers(b));
  EXPECT_FALSE(b.covers(a));
}

TEST(WarpOrder, PublishesOnlyWhatItsLanesDidAndKnow) {
  WarpOrder w(1, ~0u);
  Joint first;
  w.publish(0b1, first);
  EXPECT_EQ(first.known.time(1, 0), 1u);
  EXPECT_EQ(first.known.time(1, 1), 0u);
  EXPECT_EQ(w.now(), 2u) << "what comes later is not covered";
  auto other = std::make_shared<Clock>();
  other->raise(2, ~0u, 7);
  w.learn(0b10, other, nullptr);
  Joint second;
  w.publish(0b1, second);
  EXPECT_EQ(second.known.time(2, 0), 0u) << "lane 0 has not learnt it";
  w.publish(0b10, second);
  EXPECT_EQ(second.known.time(2, 0), 7u);
}

TEST(WarpOrder, RelaxedAccessesOrderOnlyWithFences) {
  WarpOrder w(1, ~0u);
  Joint none;
  bool cta_only = false;
  EXPECT_FALSE(w.publish_marks(1, none, cta_only));
  w.fence(0b1, true);
  EXPECT_TRUE(w.publish_marks(0b11, none, cta_only));
  EXPECT_TRUE(cta_only);
  EXPECT_EQ(none.known.time(1, 0), 1u);
  EXPECT_EQ(none.known.time(1, 1), 0u);
  auto seen = std::make_shared<Clock>();
  seen->raise(2, 1, 3);
  w.learn_later(0b1, seen, nullptr);
  EXPECT_EQ(w.group(0).known, nullptr);
  w.fence(0b1, false);
  ASSERT_NE(w.group(0).known, nullptr);
  EXPECT_EQ(w.group(0).known->time(2, 0), 3u);
}

TEST(WarpOrder, ProxyFenceCoversWhatIsKnown) {
  WarpOrder w(1, ~0u);
  auto other = std::make_shared<Clock>();
  other->raise(2, ~0u, 7);
  w.learn(~0u, other, nullptr);
  EXPECT_EQ(w.group(4).fenced, nullptr);
  w.proxy_fence(1u << 4);
  EXPECT_EQ(w.group(4).fenced->time(2, 9), 7u);
  EXPECT_EQ(w.group(4).fenced->time(1, 4), 1u);
  EXPECT_EQ(w.group(5).fenced, nullptr);
}

TEST(Shadow, BytesAreToldApartWhereTheyAreAccessed) {
  Shadow s;
  int cells = 0;
  s.each(8, 8, [&](Cell& c) { c.write = ++cells; });
  EXPECT_EQ(cells, 2);
  s.each(9, 1, [&](Cell& c) {
    EXPECT_EQ(c.write, 1u) << "split from its word";
    c.write = 77;
  });
  std::vector<AccessRef> seen;
  s.each(8, 8, [&](Cell& c) { seen.push_back(c.write); });
  EXPECT_EQ(seen, (std::vector<AccessRef>{1, 77, 1, 1, 2}));
}

TEST(Shadow, InternsAnInstructionOnceATime) {
  Shadow s;
  const u32 a = s.intern({1, 1, 10});
  EXPECT_EQ(s.intern({1, 1, 10}), a);
  const u32 b = s.intern({1, 2, 10});
  EXPECT_NE(b, a);
  EXPECT_EQ(s.info(a).time, 1u);
  EXPECT_EQ(s.info(b).time, 2u);
  EXPECT_EQ(info_of(access_ref(b, 31)), b);
  EXPECT_EQ(lane_of(access_ref(b, 31)), 31u);
}

TEST(WrittenBytes, FindsTheFirstMissingByteAcrossWordsAndPages) {
  WrittenBytes w(100000);
  EXPECT_EQ(w.first_missing(0, 10), 0u);
  w.set(10, 70000);
  EXPECT_EQ(w.first_missing(10, 70000), 70010u);
  EXPECT_EQ(w.first_missing(9, 5), 9u);
  EXPECT_EQ(w.first_missing(70000, 100), 70010u);
  w.set(99990, 100);  // past the end: what is there
  EXPECT_EQ(w.first_missing(99990, 10), 100000u);
}

TEST(Records, EveryCheckIsDocumented) {
  const auto text = read_file(std::string(CUTEGEN_SOURCE_DIR) + "/docs/vgpu-checks.md");
  ASSERT_TRUE(text.ok());
  for (const CheckEntry& e : all_checks())
    for (const CheckRecord* r : e.records) {
      EXPECT_NE(text->find(std::string("| `") + r->name + "` | `" + to_string(r->kind) + "` |"), std::string::npos) << r->name;
      EXPECT_EQ(find_check(r->name), r);
    }
  EXPECT_EQ(find_check("absent"), nullptr);
}

}  // namespace
}  // namespace cutegen::vgpu
