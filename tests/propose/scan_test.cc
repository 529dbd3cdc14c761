// The scan family: which graphs it recognises, what it writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "candidate/candidate.h"
#include "propose/golden.h"
#include "propose/playbook/families.h"
#include "propose/playbook/rewrite.h"
#include "propose/row_tasks.h"

namespace cutegen::playbook {
namespace {

using ::testing::HasSubstr;
using testing::TaskBuilder;

const std::filesystem::path kKernels = std::filesystem::path(CUTEGEN_SOURCE_DIR) / "kernels";

Result<std::unique_ptr<Match>> match_of(const Task& task) { return scan_schema().match({task, "sm_90a", 132, kKernels}); }

std::string rendered(const Task& task) {
  const auto match = match_of(task);
  if (!match.ok()) return match.error().message;
  auto source = (*match)->render((*match)->default_config());
  return source.ok() ? *source : source.error().message;
}

ValueRef cumsum(TaskBuilder& b, ValueRef x, const Shape& shape, int64_t dim) {
  return b.op("cumsum", {x}, shape, {{"dim", dim}, {"dtype", nullptr}});
}
ValueRef flip(TaskBuilder& b, ValueRef x, const Shape& shape, int dim) { return b.op("flip", {x}, shape, {{"dims", Json::array({dim})}}); }

Task reversed(int first, int second) {
  TaskBuilder b;
  const Shape shape{16, 4096};
  return testing::named(b.result({flip(b, cumsum(b, flip(b, b.input(shape), shape, first), shape, 1), shape, second)}), "reverse_cumsum");
}

Task exclusive(double border) {
  TaskBuilder b;
  const ValueRef x = b.input({16, 4096});
  const ValueRef cut = b.op("slice", {x}, {16, 4095}, {{"dim", 1}, {"start", 0}, {"end", 4095}, {"step", 1}});
  const ValueRef first = b.op("full", {}, {16, 1}, {{"size", {16, 1}}, {"fill_value", border}});
  return testing::named(b.result({b.op("cat", {first, cumsum(b, cut, {16, 4095}, 1)}, {16, 4096}, {{"dim", 1}})}), "exclusive_cumsum");
}

Task plain(const Shape& shape, int64_t dim) {
  TaskBuilder b;
  return testing::named(b.result({cumsum(b, b.input(shape), shape, dim)}), "cumsum");
}

TEST(Scan, Goldens) {
  testing::expect_golden("scan_row_reverse.cu", rendered(reversed(1, 1)));
  testing::expect_golden("scan_row_exclusive.cu", rendered(exclusive(0)));
  testing::expect_golden("scan_column.cu", rendered(plain({8, 512, 96}, 1)));
}

TEST(Scan, OnlyFlipsAlongTheScannedAxisTurnItRound) {
  EXPECT_THAT(rendered(reversed(1, 0)), HasSubstr("flip"));
  EXPECT_THAT(rendered(reversed(0, 0)), HasSubstr("flip"));
  EXPECT_THAT(rendered(reversed(-1, 1)), HasSubstr("kR - kVec - at"));
}

TEST(Scan, OnlyTheNeutralElementBeforeItMakesItExclusive) {
  EXPECT_THAT(rendered(exclusive(0)), HasSubstr("tile_scan<Op, kThreads, true>"));
  EXPECT_THAT(rendered(exclusive(1)), HasSubstr("cat"));
}

TEST(Scan, ATileIsNoLongerThanTwiceTheRow) {
  const Task task = plain({64, 100}, 1);
  const auto match = match_of(task);
  ASSERT_TRUE(match.ok());
  const Json config = (*match)->default_config();
  EXPECT_EQ(config["threads"], 32);
  EXPECT_FALSE((*match)->with(config, "threads", 512).ok());
}

TEST(Scan, OddRowsAreReadOneByOne) {
  EXPECT_THAT(rendered(plain({8, 1031}, 1)), HasSubstr("constexpr int kVec = 1;"));
  EXPECT_THAT(rendered(plain({8, 1032}, 1)), HasSubstr("constexpr int kVec = 4;"));
}

TEST(Scan, EveryMoveRendersAndPassesTheStaticPolicy) {
  for (const Task& task : {reversed(1, 1), exclusive(0), plain({8, 512, 96}, 1), plain({5, 7}, 0)}) {
    const auto match = match_of(task);
    ASSERT_TRUE(match.ok()) << match.error().message;
    const Json start = (*match)->default_config();
    for (const Axis& axis : (*match)->axes(start)) {
      for (const Json& value : axis.values) {
        const auto config = (*match)->with(start, axis.name, value);
        if (!config.ok()) continue;
        const auto source = (*match)->render(*config);
        ASSERT_TRUE(source.ok()) << *config << source.error().message;
        Candidate candidate;
        candidate.source = *source;
        candidate.backend = Backend::cute;
        EXPECT_TRUE(check_policy(candidate).empty()) << *config;
      }
    }
  }
}

TEST(Scan, RefusesWhatFollowsIt) {
  TaskBuilder b;
  const ValueRef s = cumsum(b, b.input({4, 8}), {4, 8}, 1);
  EXPECT_THAT(rendered(b.result({b.op("relu", {s}, {4, 8})})), HasSubstr("relu of a scan's result"));
}

}  // namespace
}  // namespace cutegen::playbook
