#include "propose/playbook/gemm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "propose/gemm_tasks.h"

namespace cutegen::playbook {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::unique_ptr<Match> match_of(const Task& task, const std::string& arch = "sm_90a") {
  auto match = gemm_schema().match({task, arch, 132, std::filesystem::path(CUTEGEN_SOURCE_DIR) / "kernels"});
  EXPECT_TRUE(match.ok()) << (match.ok() ? "" : match.error().message);
  return match.ok() ? std::move(*match) : nullptr;
}

std::string rendered(const Match& match, const Json& config) {
  auto source = match.render(config);
  EXPECT_TRUE(source.ok()) << (source.ok() ? "" : source.error().message);
  return source.ok() ? *source : "";
}

// Every configuration that is reached by changing one axis at a time.
std::set<Json> reachable(const Match& match) {
  std::set<Json> seen{match.default_config()};
  std::vector<Json> todo{match.default_config()};
  while (!todo.empty()) {
    const Json config = todo.back();
    todo.pop_back();
    for (const Axis& axis : match.axes(config))
      for (const Json& value : axis.values)
        if (auto next = match.with(config, axis.name, value); next.ok() && seen.insert(*next).second) todo.push_back(*next);
  }
  return seen;
}

TEST(Gemm, DefaultsToTheFastestUnitsOfTheArchitecture) {
  EXPECT_EQ(match_of(testing::plain_product(512, 512, 512))->default_config().at("strategy"), "wgmma");
  EXPECT_EQ(match_of(testing::plain_product(512, 512, 512), "sm_80")->default_config().at("strategy"), "mma_sync");
  EXPECT_EQ(match_of(testing::plain_product(512, 512, 100))->default_config().at("strategy"), "simt");
}

TEST(Gemm, StartsWithoutClustersAndTriesThemFirst) {
  const auto match = match_of(testing::plain_product(4096, 4096, 4096));
  const Json config = match->default_config();
  EXPECT_EQ(config.at("cluster"), 1);
  EXPECT_EQ(match->axes(config).front().name, "cluster");
  EXPECT_TRUE(match->with(config, "cluster", 2).ok());
}

TEST(Gemm, EveryConfigurationRenders) {
  for (const Task& task :
       {testing::plain_product(500, 300, 700), testing::linear_relu_divide(1, 33, 257), testing::plain_product(5, 3, 7)}) {
    const auto match = match_of(task);
    const auto configs = reachable(*match);
    std::set<std::string> sources;
    for (const Json& config : configs) {
      const std::string source = rendered(*match, config);
      EXPECT_THAT(source, HasSubstr("CUTEGEN_PLAN(")) << config;
      EXPECT_THAT(source, Not(HasSubstr("{{"))) << config;
      sources.insert(source);
      EXPECT_THAT(match->describe(config), HasSubstr("stages"));
    }
    EXPECT_EQ(sources.size(), configs.size()) << "two configurations with the same source";
  }
}

TEST(Gemm, SourceNamesTheShapesTheOperandsAndTheEpilogue) {
  const auto match = match_of(testing::linear_relu_divide(1024, 8192, 8192));
  const std::string source = rendered(*match, match->default_config());
  EXPECT_THAT(source, HasSubstr("constexpr int64_t M = 1024, N = 8192, K = 8192;"));
  EXPECT_THAT(source, HasSubstr("using B = Operand<N, K, Contiguous::k>;"));
  EXPECT_THAT(source, HasSubstr("cutegen::relu(v1)"));
  EXPECT_THAT(source, HasSubstr("SM90_64x128x16_F32F16F16_SS"));
  EXPECT_THAT(source, HasSubstr("cutegen::param(1)"));
}

TEST(Gemm, ColumnContiguousOperandsFindTheirMaximaFirst) {
  const auto match = match_of(testing::plain_product(512, 512, 512));
  const std::string source = rendered(*match, match->default_config());
  EXPECT_THAT(source, HasSubstr("CUTEGEN_LAUNCH(maxima_b)"));
  EXPECT_THAT(source, Not(HasSubstr("maxima_a(")));
}

TEST(Gemm, SplitsKOnlyWhereTilesAreFew) {
  const auto few = match_of(testing::plain_product(128, 128, 8192));
  EXPECT_EQ(few->default_config().at("splits"), 32);
  EXPECT_THAT(rendered(*few, few->default_config()), HasSubstr("CUTEGEN_LAUNCH(sum_splits)"));
  const auto many = match_of(testing::plain_product(4096, 4096, 4096));
  EXPECT_FALSE(many->default_config().contains("splits"));
  EXPECT_THAT(rendered(*many, many->default_config()), Not(HasSubstr("sum_splits")));
}

TEST(Gemm, RefusesMovesWithoutMeaning) {
  const auto match = match_of(testing::plain_product(512, 512, 100));
  const Json config = match->default_config();
  EXPECT_FALSE(match->with(config, "strategy", "wgmma").ok()) << "K is too short for split operands";
  EXPECT_FALSE(match->with(config, "cluster", 2).ok());
  EXPECT_FALSE(match->with(config, "splits", 2).ok());
  EXPECT_FALSE(match->with(config, "stages", 77).ok());
  EXPECT_FALSE(match->render(Json::object()).ok());
}

}  // namespace
}  // namespace cutegen::playbook
