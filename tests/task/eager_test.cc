#include "task/eager.h"

#include <gtest/gtest.h>

namespace cutegen {
namespace {

const GpuRates kGpu{"test", 1e12, 10e12, 100e12, 200e12};

Task one_op(const std::string& op, std::vector<Shape> operands, Shape result, Json attrs = Json::object()) {
  Task t;
  t.graph = Graph{};
  Node node{op, {}, std::move(attrs), {{"", DType::f32, std::move(result)}}};
  for (Shape& s : operands) {
    t.inputs.push_back({"x", DType::f32, s});
    t.graph->nodes.push_back({"input", {}, {{"index", t.inputs.size() - 1}}, {{"x", DType::f32, std::move(s)}}});
    node.args.emplace_back(ValueRef{static_cast<int>(t.inputs.size()) - 1, 0});
  }
  t.graph->nodes.push_back(std::move(node));
  t.graph->outputs = {{static_cast<int>(t.inputs.size()), 0}};
  return t;
}

double us(const Task& t) { return 1e6 * eager_seconds(t, kGpu).value_or(-1); }

TEST(Eager, PointwiseReadsAndWritesOnce) {
  // 8 MB at 0.988 of 1 TB/s, and a launch.
  EXPECT_NEAR(us(one_op("relu", {{1000, 1000}}, {1000, 1000})), 8 / 0.988 + 2.5, 0.01);
  EXPECT_NEAR(us(one_op("view", {{1000, 1000}}, {1000000})), 2.5, 0.01) << "a view costs nothing; a task at least a launch";
}

TEST(Eager, ProductsAreBoundByArithmetic) {
  // 2 * 1000^3 FLOPs at 0.769 of 10 TFLOP/s.
  EXPECT_NEAR(us(one_op("mm", {{1000, 1000}, {1000, 1000}}, {1000, 1000})), 2e9 / 7.69e12 * 1e6 + 2.5, 0.1);
  EXPECT_NEAR(us(one_op("mm", {{1000000, 1}, {1, 1}}, {1000000, 1})), 8.0 / 0.988 + 2.5, 0.1) << "unless memory takes longer";
}

TEST(Eager, FewLongRowsAreNormalisedByFewCtas) {
  const Json attrs = {{"normalized_shape", {1000000}}, {"eps", 1e-5}};
  // 4 MB a row at 4.5 GB/s.
  EXPECT_NEAR(us(one_op("native_layer_norm", {{4, 1000000}}, {4, 1000000}, attrs)), 4e6 / 4.5e9 * 1e6 + 2.5, 1);
}

TEST(Eager, NothingIsSaidWithoutAGraph) { EXPECT_FALSE(eager_seconds(Task{}, kGpu).has_value()); }

}  // namespace
}  // namespace cutegen
