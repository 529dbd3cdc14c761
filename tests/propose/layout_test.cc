#include "propose/playbook/layout.h"

#include <gtest/gtest.h>

#include "base/hash.h"

namespace cutegen::playbook {
namespace {

// Row-major index over `to` -> index into `from`, by the definition of broadcasting.
int64_t broadcast_by_hand(const Shape& from, const Shape& to, int64_t linear) {
  const Shape strides = contiguous_strides(from);
  int64_t index = 0;
  for (size_t k = to.size(); k-- > 0; linear /= to[k]) {
    const int64_t c = linear % to[k];
    if (k + from.size() >= to.size() && from[k + from.size() - to.size()] != 1) index += c * strides[k + from.size() - to.size()];
  }
  return index;
}

TEST(Layout, BroadcastFollowsTheDefinition) {
  for (const auto& [from, to] :
       std::vector<std::pair<Shape, Shape>>{{{5}, {3, 5}}, {{3, 1}, {3, 5}}, {{1, 4, 1}, {2, 4, 3}}, {{}, {2, 3}}}) {
    const auto l = broadcast(from, to);
    ASSERT_TRUE(l);
    for (int64_t i = 0; i < element_count(to); ++i) EXPECT_EQ((*l)(i), broadcast_by_hand(from, to, i));
  }
  EXPECT_FALSE(broadcast({4}, {3, 5}));
  EXPECT_FALSE(broadcast({2, 3}, {3}));
}

TEST(Layout, CompositionIsFunctionCompositionWhereverItIsOffered) {
  SplitMix64 random(7);
  int offered = 0;
  for (int round = 0; round < 4000; ++round) {
    Layout outer, inner;
    for (uint64_t k = 0; k <= random.below(3); ++k)
      outer.modes.push_back({static_cast<int64_t>(1 + random.below(6)), static_cast<int64_t>(random.below(40)), 0});
    int64_t room = outer.size();
    for (uint64_t k = 0; k <= random.below(3); ++k)
      inner.modes.push_back(
          {static_cast<int64_t>(1 + random.below(4)), static_cast<int64_t>(random.below(12)), static_cast<int>(random.below(3))});
    inner.offset = static_cast<int64_t>(random.below(3));
    int64_t reach = inner.offset;
    for (const Mode& m : inner.modes) reach += (m.size - 1) * m.stride;
    if (reach >= room) continue;  // indices that the outer layout does not have
    const auto both = compose(outer, inner);
    if (!both) continue;
    ++offered;
    for (int64_t i = 0; i < inner.size(); ++i) ASSERT_EQ((*both)(i), outer(inner(i))) << "round " << round << " at " << i;
  }
  EXPECT_GT(offered, 200);
}

TEST(Layout, CoalescingKeepsTheFunctionAndMergesRuns) {
  const Layout l{{{2, 12, 0}, {1, 99, 0}, {3, 4, 0}, {4, 1, 0}}, 5};
  const Layout c = coalesce(l);
  EXPECT_EQ(c.modes.size(), 1U);
  for (int64_t i = 0; i < l.size(); ++i) EXPECT_EQ(c(i), l(i));
  EXPECT_EQ(coalesce(Layout{{{2, 4, 0}, {4, 1, 1}}, 0}).modes.size(), 2U) << "groups stay apart";
}

TEST(Layout, Views) {
  auto view = [](const char* op, Json attrs, const Shape& from, const Shape& to) {
    return view_layout({op, {ValueRef{0, 0}}, std::move(attrs), {{"", DType::f32, to}}}, from);
  };
  const auto transposed = view("transpose", {{"dim0", 0}, {"dim1", -1}}, {3, 4}, {4, 3});
  ASSERT_TRUE(transposed);
  EXPECT_EQ((*transposed)(1), 4);  // [0, 1] is [1, 0] of the argument
  const auto permuted = view("permute", {{"dims", {2, 0, 1}}}, {2, 3, 4}, {4, 2, 3});
  ASSERT_TRUE(permuted);
  EXPECT_EQ((*permuted)(1), 4);
  const auto sliced = view("slice", {{"dim", 1}, {"start", 1}, {"end", 4}, {"step", 2}}, {3, 5}, {3, 2});
  ASSERT_TRUE(sliced);
  EXPECT_EQ((*sliced)(0), 1);
  EXPECT_EQ((*sliced)(3), 8);
  const auto selected = view("select", {{"dim", 0}, {"index", -1}}, {3, 5}, {5});
  ASSERT_TRUE(selected);
  EXPECT_EQ((*selected)(2), 12);
  EXPECT_EQ((*view("view", {}, {6}, {2, 3}))(4), 4);
  EXPECT_FALSE(view("relu", {}, {6}, {6}));
}

TEST(Layout, AccessesThatAreWideMustBeContiguousAndAligned) {
  const Layout rows{{{8, 12, 0}, {12, 1, 1}}, 0};
  EXPECT_EQ(access_of(rows, 1, 4), Access::vector);
  EXPECT_EQ(access_of(rows, 1, 8), Access::gather) << "8 does not divide 12";
  EXPECT_EQ(access_of(Layout{{{8, 13, 0}, {12, 1, 1}}, 0}, 1, 4), Access::gather) << "the second row is misaligned";
  EXPECT_EQ(access_of(Layout{{{8, 12, 0}, {12, 1, 1}}, 2}, 1, 4), Access::gather) << "the first row is misaligned";
  EXPECT_EQ(access_of(Layout{{{8, 1, 0}, {12, 0, 1}}, 0}, 1, 4), Access::splat);
  EXPECT_EQ(access_of(Layout{{{8, 1, 0}}, 0}, 1, 4), Access::splat) << "it does not vary along the group at all";
  EXPECT_EQ(access_of(Layout{{{8, 1, 0}, {12, 8, 1}}, 0}, 1, 4), Access::gather) << "a transposed operand";
}

TEST(Layout, PrintsAsCuTeInnermostFirst) {
  const std::vector<Mode> modes{{8, 0, 0}, {3000000000, 1, 0}};
  EXPECT_EQ(cute_shape(modes), "Shape<C<3000000000L>, Int<8>>");
  EXPECT_EQ(cute_stride(modes), "Stride<Int<1>, Int<0>>");
  EXPECT_EQ(cute_shape({}), "Int<1>");
  EXPECT_EQ(cute_stride({}), "Int<0>");
}

}  // namespace
}  // namespace cutegen::playbook
