#include "propose/playbook/rewrite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "propose/row_tasks.h"

namespace cutegen::playbook {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> operators(const Task& task) {
  std::vector<std::string> names;
  auto graph = rewrite(*task.graph);
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().message);
  if (!graph.ok()) return names;
  for (const Node& node : graph->nodes)
    if (node.op != "input" && node.op != "param") names.push_back(node.op);
  return names;
}

// values and positions of max over the last axis; one of them is the output.
Task maximum(int output) {
  testing::TaskBuilder b;
  ValueRef max = b.op("max", {b.input({4, 8})}, {4}, {{"dim", 1}, {"keepdim", false}});
  Task task = b.result({max});
  task.graph->nodes.back().outputs.push_back({"positions", DType::i64, {4}});
  task.graph->outputs[0].index = output;
  return task;
}

TEST(Rewrite, CompositesBecomeReductionsAndPointwiseOperators) {
  EXPECT_THAT(operators(testing::softmax({4, 8}, 1)), ElementsAre("softmax_stats", "sub", "exp", "div"));
  EXPECT_THAT(operators(testing::layer_norm({4, 8}, 1)), ElementsAre("moments", "add", "rsqrt", "sub", "mul", "mul", "add"));
  EXPECT_THAT(operators(testing::reduction("sum", {4, 8}, {1})), ElementsAre("sum"));
}

TEST(Rewrite, ADiagonalTimesAMatrixIsAProductOfEachRow) {
  EXPECT_THAT(operators(testing::diagonal_product(4, 8)), ElementsAre("view", "mul"));
  EXPECT_THAT(operators(testing::plain_product(4, 8, 2)), ElementsAre("mm"));
}

TEST(Rewrite, ReductionsKeepTheirAxesAndAViewRestoresTheShape) {
  testing::TaskBuilder b;
  const Task task = b.result({b.op("mean", {b.input({4, 8, 3})}, {4, 3}, {{"dim", {-2}}, {"keepdim", false}})});
  auto graph = rewrite(*task.graph);
  ASSERT_TRUE(graph.ok());
  ASSERT_EQ(graph->nodes.size(), 3U);
  EXPECT_EQ(graph->nodes[1].attrs.at("axes"), Json({1}));
  EXPECT_EQ(graph->nodes[1].outputs[0].shape, (Shape{4, 1, 3}));
  EXPECT_EQ(graph->nodes[2].op, "view");
  EXPECT_EQ(graph->spec(graph->outputs[0]).shape, (Shape{4, 3}));
}

TEST(Rewrite, ValuesOfMaxAreServedAndPositionsAreRefused) {
  EXPECT_THAT(operators(maximum(0)), ElementsAre("amax", "view"));
  auto refused = rewrite(*maximum(1).graph);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::unsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("output 1 of max"));
}

TEST(Rewrite, NodesThatNoOutputNeedsAreDropped) {
  testing::TaskBuilder b;
  const ValueRef x = b.input({4});
  const ValueRef y = b.op("relu", {x}, {4});
  b.op("cumsum", {x}, {4});
  EXPECT_THAT(operators(b.result({y})), ElementsAre("relu"));
}

}  // namespace
}  // namespace cutegen::playbook
