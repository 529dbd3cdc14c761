#include "task/task.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "task/analysis.h"
#include "task/shared_tensor.h"

namespace cutegen {
namespace {

Node data(const char* op, int index, TensorSpec spec) { return Node{op, {}, Json{{"index", index}}, {std::move(spec)}}; }

// y = relu(x @ w + b), and a parameter that nothing reads.
Task linear_task() {
  Task task;
  task.name = "linear";
  task.source = "class Model: ...";
  task.inputs = {{"x", DType::f32, {64, 128}}};
  task.params = {{"w", DType::f32, {128, 32}}, {"b", DType::f32, {32}}, {"unused", DType::f32, {7}}};
  task.outputs = {{"out0", DType::f32, {64, 32}}};
  Graph graph;
  graph.nodes = {
      data("input", 0, task.inputs[0]),
      data("param", 0, task.params[0]),
      data("param", 1, task.params[1]),
      data("param", 2, task.params[2]),
      Node{"addmm", {ValueRef{2, 0}, ValueRef{0, 0}, ValueRef{1, 0}}, Json{{"alpha", 1.0}, {"beta", 1.0}}, {{"", DType::f32, {64, 32}}}},
      Node{"relu", {ValueRef{4, 0}}, Json::object(), {{"", DType::f32, {64, 32}}}}};
  graph.outputs = {ValueRef{5, 0}};
  task.graph = graph;
  return task;
}

TEST(Task, JsonRoundTripKeepsEverything) {
  Task task = linear_task();
  task.warnings = {{"constant_output", "all zero"}};
  task.stochastic = true;
  auto back = task_from_json(to_json(task));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(to_json(*back), to_json(task));
  EXPECT_EQ(back->graph->nodes, task.graph->nodes);
  EXPECT_EQ(back->hash(), task.hash());
}

TEST(Task, HashIgnoresPathAndWarningsButNotShape) {
  Task a = linear_task();
  Task b = a;
  b.path = "/elsewhere";
  b.warnings = {{"x", "y"}};
  EXPECT_EQ(a.hash(), b.hash());
  b.inputs[0].shape[0] = 65;
  EXPECT_NE(a.hash(), b.hash());
}

TEST(Graph, ForwardReferencesAreRefused) {
  Json j = to_json(*linear_task().graph);
  j["nodes"][4]["args"][0]["node"] = 5;
  auto graph = graph_from_json(j);
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.error().message.find("node 5 before it is defined"), std::string::npos);
}

TEST(Graph, OutputIndexOutOfRangeIsRefused) {
  Json j = to_json(*linear_task().graph);
  j["outputs"][0]["index"] = 1;
  EXPECT_FALSE(graph_from_json(j).ok());
}

TEST(Graph, InfiniteScalarsArriveAsText) {
  Json j = to_json(*linear_task().graph);
  j["nodes"][5]["args"].push_back(Json{{"scalar", "-inf"}});
  auto graph = graph_from_json(j);
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(std::get<double>(graph->nodes[5].args[1]), -std::numeric_limits<double>::infinity());
}

TEST(Graph, ReadersNamesEachReaderOnce) {
  Graph graph = *linear_task().graph;
  graph.nodes.push_back(Node{"mul", {ValueRef{5, 0}, ValueRef{5, 0}}, Json::object(), {{"", DType::f32, {64, 32}}}});
  EXPECT_EQ(graph.readers()[5], std::vector<int>{6});
  EXPECT_TRUE(graph.readers()[3].empty());
}

TEST(Tensor, UnknownDtypeSaysWhichTensor) {
  auto spec = tensor_spec_from_json(Json{{"name", "z"}, {"dtype", "complex64"}, {"shape", {2}}});
  ASSERT_FALSE(spec.ok());
  EXPECT_NE(spec.error().message.find("'z' has dtype complex64"), std::string::npos);
}

TEST(Tensor, ScalarsHaveOneElement) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({3, 0, 2}), 0);
  EXPECT_EQ(contiguous_strides({2, 3, 4}), (Shape{12, 4, 1}));
}

TEST(SharedTensor, RoundTrip) {
  SharedTensor t{{"x", DType::bf16, {4, 4}}, SharedTensor::Where::cuda_ipc, "00ff", 256};
  auto back = shared_tensor_from_json(Json(t));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->spec, t.spec);
  EXPECT_EQ(back->handle, "00ff");
  EXPECT_EQ(back->offset, 256);
}

TEST(TaskHeader, StatesShapesAndTypes) {
  const std::string header = task_header(linear_task());
  EXPECT_NE(header.find("inline constexpr int num_params = 3;"), std::string::npos);
  EXPECT_NE(
      header.find(
          "struct in0 {  // x\n  using type = float;\n  static constexpr int rank = 2;\n  static constexpr int64_t shape[2] = {64, 128};"),
      std::string::npos);
  EXPECT_NE(header.find("static constexpr int64_t bytes = 8192;\n};\n"), std::string::npos);
}

TEST(Analysis, CountsUsedBytesAndContractionFlops) {
  const Task task = linear_task();
  const Analysis a = analyse(task, rates_for("NVIDIA H200"));
  EXPECT_EQ(a.input_bytes, 4 * (64 * 128 + 128 * 32 + 32));  // not the unused parameter
  EXPECT_EQ(a.output_bytes, 4 * 64 * 32);
  EXPECT_DOUBLE_EQ(a.contraction_flops, 2.0 * 64 * 32 * 128);
  EXPECT_EQ(a.op_class, "matmul");
  EXPECT_NEAR(a.memory_floor_s, static_cast<double>(a.input_bytes + a.output_bytes) / 4.3e12, 1e-15);
}

TEST(Analysis, ADiagonalProductIsNoContraction) {
  Task task;
  task.inputs = {{"d", DType::f32, {64}}, {"b", DType::f32, {64, 64}}};
  task.outputs = {{"out0", DType::f32, {64, 64}}};
  Graph graph;
  graph.nodes = {data("input", 0, task.inputs[0]), data("input", 1, task.inputs[1]),
                 Node{"diag", {ValueRef{0, 0}}, Json::object(), {{"", DType::f32, {64, 64}}}},
                 Node{"mm", {ValueRef{2, 0}, ValueRef{1, 0}}, Json::object(), {{"", DType::f32, {64, 64}}}}};
  graph.outputs = {ValueRef{3, 0}};
  task.graph = graph;
  const Analysis a = analyse(task, rates_for("NVIDIA H200"));
  EXPECT_EQ(a.contraction_flops, 0);
  EXPECT_EQ(a.op_class, "elementwise");
}

TEST(Warnings, UnusedParameterAndConstantOutput) {
  Task task = linear_task();
  auto warnings = graph_warnings(task);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].code, "unused_parameter");
  EXPECT_NE(warnings[0].message.find("'unused'"), std::string::npos);
  task.graph->outputs[0] = ValueRef{2, 0};
  warnings = graph_warnings(task);
  EXPECT_TRUE(std::any_of(warnings.begin(), warnings.end(), [](const Warning& w) { return w.code == "constant_output"; }));
  EXPECT_TRUE(std::any_of(warnings.begin(), warnings.end(), [](const Warning& w) { return w.code == "output_is_input"; }));
}

}  // namespace
}  // namespace cutegen
