// The map and row families: what they recognise, which strategy they take, what they write.
#include "propose/playbook/families.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "candidate/candidate.h"
#include "propose/golden.h"
#include "propose/row_tasks.h"

namespace cutegen::playbook {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::filesystem::path kKernels = std::filesystem::path(CUTEGEN_SOURCE_DIR) / "kernels";

MatchContext context(const Task& task) { return {task, "sm_90a", 132, kKernels}; }

std::unique_ptr<Match> match_of(const Schema& schema, const Task& task) {
  auto match = schema.match(context(task));
  EXPECT_TRUE(match.ok()) << (match.ok() ? "" : match.error().message);
  return match.ok() ? std::move(*match) : nullptr;
}

std::string refusal(const Schema& schema, const Task& task) {
  auto match = schema.match(context(task));
  if (match.ok()) return "matched";
  EXPECT_EQ(match.error().code, Errc::unsupported);
  return match.error().message;
}

std::string rendered(const Match& match, const Json& config) {
  auto source = match.render(config);
  EXPECT_TRUE(source.ok()) << config << (source.ok() ? "" : source.error().message);
  return source.ok() ? *source : "";
}

std::string strategy(const Task& task) { return match_of(row_schema(), task)->default_config().at("strategy"); }

TEST(Map, Goldens) {
  for (const auto& [name, task] : std::vector<std::pair<std::string, Task>>{{"map_relu.cu", testing::relu({4096, 393216})},
                                                                            {"map_row_scale.cu", testing::row_scale(4096, 4096)},
                                                                            {"map_tail.cu", testing::relu({7, 1009})}}) {
    const auto match = match_of(map_schema(), task);
    testing::expect_golden(name, rendered(*match, match->default_config()));
  }
}

TEST(Map, DiagonalProductsBecomeRowScales) {
  const auto match = match_of(map_schema(), testing::diagonal_product(64, 32));
  const std::string source = rendered(*match, match->default_config());
  EXPECT_THAT(source, HasSubstr("Stride<Int<0>, Int<1>>")) << "the vector is read along the rows";
}

TEST(Map, OperandsSayHowTheyAreRead) {
  testing::TaskBuilder b;
  const Shape s{8, 16};
  const ValueRef x = b.input(s), column = b.input({8, 1}), row = b.input({16}), turned = b.input({16, 8});
  const ValueRef sum = b.op("add", {b.op("add", {x, column}, s), b.op("mul", {row, b.op("t", {turned}, s)}, s)}, s);
  const auto match = match_of(map_schema(), testing::named(b.result({sum}), "mixed"));
  const std::string source = rendered(*match, match->default_config());
  EXPECT_THAT(source, HasSubstr("cutegen::load<cutegen::Cached, kVec, &Element::x0>"));
  EXPECT_THAT(source, HasSubstr("cutegen::load<cutegen::Splat, kVec, &Element::x1>"));
  EXPECT_THAT(source, HasSubstr("cutegen::load<cutegen::Cached, kVec, &Element::x2>"));
  EXPECT_THAT(source, HasSubstr("cutegen::load<cutegen::Gather, kVec, &Element::x3>"));
}

TEST(Map, IndicesAreWideOnlyWhereTheyMustBe) {
  const auto small = match_of(map_schema(), testing::relu({4096, 393216})), large = match_of(map_schema(), testing::relu({8192, 393216}));
  EXPECT_THAT(rendered(*small, small->default_config()), HasSubstr("using Index = int;"));
  EXPECT_THAT(rendered(*large, large->default_config()), HasSubstr("using Index = int64_t;"));
}

TEST(Map, RefusesWithTheOperatorThatItCannotDo) {
  EXPECT_THAT(refusal(map_schema(), testing::plain_product(4, 4, 4)), HasSubstr("mm"));
  EXPECT_THAT(refusal(map_schema(), testing::reduction("sum", {4, 5}, {1})), HasSubstr("sum"));
}

TEST(Row, StrategiesFollowTheShape) {
  EXPECT_EQ(strategy(testing::softmax({4096, 393216}, 1)), "stream");
  EXPECT_EQ(strategy(testing::softmax({4096, 1000}, 1)), "registers");
  EXPECT_EQ(strategy(testing::layer_norm({16, 64, 256, 256}, 3)), "split");
  EXPECT_EQ(strategy(testing::hinge(32768, 32768)), "split");
  EXPECT_EQ(strategy(testing::rms_norm({112, 64, 512, 512}, 1)), "column_registers");
  EXPECT_EQ(strategy(testing::reduction("sum", {128, 4096, 4095}, {1})), "column_stream");
  EXPECT_EQ(strategy(testing::reduction("sum", {1000000, 3}, {0})), "column_split");
  EXPECT_EQ(strategy(testing::reduction("amax", {4096, 65536}, {1})), "stream") << "one visit: nothing to keep";
}

std::vector<Json> values_of(const Match& match, const Json& config, const std::string& axis) {
  for (const Axis& a : match.axes(config))
    if (a.name == axis) return a.values;
  return {};
}

TEST(Map, NoAccessIsWiderThanSixteenBytes) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    testing::TaskBuilder b;
    const auto match = match_of(map_schema(), b.result({b.op("relu", {b.input({64, 64}, dtype)}, {64, 64}, Json::object(), dtype)}));
    for (const Json& vec : values_of(*match, match->default_config(), "vec")) EXPECT_LE(vec.get<int64_t>() * size_bytes(dtype), 16);
  }
}

TEST(Map, CacheHintsAreMoves) {
  const auto match = match_of(map_schema(), testing::relu({4096, 4096}));
  const Json base = match->default_config();
  EXPECT_THAT(rendered(*match, *match->with(base, "stores", "plain")), HasSubstr("cutegen::store<cutegen::Cached, kVec"));
  EXPECT_THAT(rendered(*match, *match->with(base, "loads", "streaming")), HasSubstr("cutegen::load<cutegen::Streaming, kVec"));
}

TEST(Row, NoMoveLeavesMostOfTheGpuWithoutWork) {
  for (const Task& few : {testing::layer_norm({16, 64, 256, 256}, 3), testing::hinge(32768, 32768)}) {
    const auto match = match_of(row_schema(), few);
    EXPECT_THAT(values_of(*match, match->default_config(), "strategy"), Not(::testing::Contains(Json("stream"))));
  }
  const auto many = match_of(row_schema(), testing::softmax({4096, 393216}, 1));
  EXPECT_THAT(values_of(*many, many->default_config(), "strategy"), ::testing::Contains(Json("stream")));
}

TEST(Row, TwoClusterCtasShareAnSmWhereTheRowAllows) {
  auto cluster = [](int64_t reduced) {
    const auto match = match_of(row_schema(), testing::softmax({4096, reduced}, 1));
    const auto config = match->with(match->default_config(), "strategy", "cluster");
    return config.ok() ? config->at("cluster").get<int>() : 0;
  };
  EXPECT_EQ(cluster(393216), 16) << "shares of 96 KB";
  EXPECT_EQ(cluster(16 * 50000), 16) << "200 KB: the row still fits";
  EXPECT_EQ(cluster(16 * 60000), 0) << "240 KB";
  EXPECT_EQ(cluster(20000), 1);
}

TEST(Row, RowsThatBeginBetweenSectorsAreReadTwoKilobytesAtATime) {
  auto columns = [](const Shape& shape) {
    const Json config = match_of(row_schema(), testing::reduction("sum", shape, {1}))->default_config();
    return config.at("threads_x").get<int>() * config.at("vec").get<int>();
  };
  EXPECT_EQ(columns({128, 4096, 4095}), 512);
  EXPECT_EQ(columns({512, 4096, 4096}), 512);
}

TEST(Row, Goldens) {
  struct Golden {
    const char* file;
    Task task;
    const char* strategy;
  };
  for (const Golden& g : {Golden{"row_registers_softmax.cu", testing::softmax({4096, 1000}, 1), "registers"},
                          Golden{"row_cluster_softmax.cu", testing::softmax({4096, 393216}, 1), "cluster"},
                          Golden{"row_stream_softmax.cu", testing::softmax({4096, 393216}, 1), "stream"},
                          Golden{"row_split_layer_norm.cu", testing::layer_norm({16, 64, 256, 256}, 3), "split"},
                          Golden{"column_registers_rms_norm.cu", testing::rms_norm({112, 64, 512, 512}, 1), "column_registers"},
                          Golden{"column_stream_sum.cu", testing::reduction("sum", {128, 4096, 4095}, {1}), "column_stream"},
                          Golden{"column_split_sum.cu", testing::reduction("sum", {1000000, 3}, {0}), "column_split"}}) {
    const auto match = match_of(row_schema(), g.task);
    Json config = match->default_config();
    if (config.at("strategy") != g.strategy) {
      auto moved = match->with(config, "strategy", g.strategy);
      ASSERT_TRUE(moved.ok()) << g.file;
      config = *moved;
    }
    testing::expect_golden(g.file, rendered(*match, config));
  }
}

TEST(Row, EveryMoveRenders) {
  for (const Task& task : {testing::softmax({300, 6004}, 1), testing::softmax({5000, 33}, 0), testing::rms_norm({3, 61, 20, 36}, 1),
                           testing::layer_norm({2, 300001}, 1), testing::softmax({37, 1031}, 1, DType::f16), testing::hinge(5, 7)}) {
    const auto match = match_of(row_schema(), task);
    const Json base = match->default_config();
    int moves = 0;
    for (const Axis& axis : match->axes(base)) {
      for (const Json& value : axis.values) {
        const auto config = match->with(base, axis.name, value);
        if (!config.ok()) continue;
        ++moves;
        EXPECT_THAT(rendered(*match, *config), HasSubstr("CUTEGEN_PLAN(")) << *config;
      }
    }
    EXPECT_GE(moves, 3) << base;
  }
}

TEST(Families, CandidatesPassTheStaticPolicy) {
  for (const Task& task : {testing::relu({4096, 4096}), testing::softmax({4096, 393216}, 1), testing::hinge(32768, 32768),
                           testing::rms_norm({112, 64, 512, 512}, 1), testing::reduction("sum", {1000000, 3}, {0})}) {
    const auto match = map_schema().match(context(task)).ok() ? match_of(map_schema(), task) : match_of(row_schema(), task);
    Candidate candidate;
    candidate.source = rendered(*match, match->default_config());
    for (const PolicyFinding& finding : check_policy(candidate))
      ADD_FAILURE() << task.name << ":" << finding.line << " " << finding.message;
  }
}

TEST(Row, ShapesWithoutACommonDivisorAreReadOneByOne) {
  const auto match = match_of(row_schema(), testing::softmax({37, 1031}, 1));
  EXPECT_EQ(match->default_config().at("vec"), 1);
  EXPECT_FALSE(match->with(match->default_config(), "vec", 4).ok());
}

TEST(Row, RefusesWithTheOperatorThatItCannotDo) {
  testing::TaskBuilder b;
  const ValueRef x = b.input({4, 8});
  const ValueRef rows = b.op("sum", {x}, {4, 1}, {{"dim", {1}}, {"keepdim", true}});
  const ValueRef all = b.op("sum", {b.op("mul", {rows, rows}, {4, 1})}, {}, {});
  EXPECT_THAT(refusal(row_schema(), b.result({all})), HasSubstr("reduces over other axes"));
  EXPECT_THAT(refusal(row_schema(), testing::plain_product(4, 4, 4)), HasSubstr("mm"));
  EXPECT_THAT(refusal(row_schema(), testing::relu({4})), HasSubstr("no reduction"));
}

TEST(Row, LossesWithABroadcastTargetIndexItByItsOwnLayout) {
  const auto match = match_of(row_schema(), testing::hinge(32768, 32768));
  const std::string source = rendered(*match, match->default_config());
  EXPECT_THAT(source,
              HasSubstr("Layout<Shape<Int<1>, Shape<Int<32768>, Int<32768>>, Int<1>>, Stride<Int<0>, Stride<Int<1>, Int<0>>, Int<0>>>"));
  EXPECT_THAT(source, HasSubstr("cutegen::clamp_min("));
}

}  // namespace
}  // namespace cutegen::playbook
