#include "propose/playbook/gemm_match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "propose/gemm_tasks.h"

namespace cutegen::playbook {
namespace {

using cutegen::testing::TaskBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

GemmProblem matched(const Task& task) {
  auto problem = match_gemm(task);
  EXPECT_TRUE(problem.ok()) << (problem.ok() ? "" : problem.error().message);
  return problem.ok() ? *problem : GemmProblem{};
}

std::string refusal(const Task& task) {
  auto problem = match_gemm(task);
  EXPECT_FALSE(problem.ok());
  if (problem.ok()) return "";
  EXPECT_EQ(problem.error().code, Errc::unsupported);
  return problem.error().message;
}

std::vector<std::string> expressions(const GemmProblem& problem) {
  std::vector<std::string> out;
  for (const EpilogueValue& v : problem.values) out.push_back(v.expression);
  return out;
}

TEST(GemmMatch, PlainProductReadsTheRightHandSideByColumns) {
  const GemmProblem p = matched(testing::plain_product(3, 5, 7));
  EXPECT_EQ(p.m, 3);
  EXPECT_EQ(p.n, 5);
  EXPECT_EQ(p.k, 7);
  EXPECT_TRUE(p.a.contiguous_k);
  EXPECT_FALSE(p.b.contiguous_k);
  EXPECT_EQ(p.a.buffer, "cutegen::input(0)");
  EXPECT_EQ(p.b.buffer, "cutegen::input(1)");
  EXPECT_EQ(p.result, "c");
  EXPECT_TRUE(p.values.empty());
}

TEST(GemmMatch, LinearReadsTheWeightAlongK) {
  const GemmProblem p = matched(testing::linear_relu_divide(4, 6, 8));
  EXPECT_EQ(p.n, 6);
  EXPECT_EQ(p.k, 8);
  EXPECT_TRUE(p.b.contiguous_k);
  EXPECT_EQ(p.b.buffer, "cutegen::param(0)");
  ASSERT_EQ(p.operands.size(), 1u);
  EXPECT_EQ(p.operands[0].buffer, "cutegen::param(1)");
  EXPECT_THAT(expressions(p), ElementsAre("static_cast<float>(p0[n])", "c + v0", "cutegen::relu(v1)", "v2 / 2.0f"));
  EXPECT_EQ(p.result, "v3");
  EXPECT_THAT(p.ops, ElementsAre("relu", "div"));
}

TEST(GemmMatch, TransposedLeftOperandIsContiguousAlongItsRows) {
  TaskBuilder b;
  const ValueRef x = b.input({7, 3}), y = b.input({7, 5});
  const GemmProblem p = matched(b.result({b.op("mm", {b.op("transpose", {x}, {3, 7}, {{"dim0", 0}, {"dim1", 1}}), y}, {3, 5})}));
  EXPECT_EQ(p.m, 3);
  EXPECT_EQ(p.k, 7);
  EXPECT_FALSE(p.a.contiguous_k);
  EXPECT_FALSE(p.b.contiguous_k);
}

TEST(GemmMatch, AddmmScalesItsTerms) {
  TaskBuilder b;
  const ValueRef bias = b.input({1}), x = b.input({2, 3}), y = b.input({3, 4});
  const GemmProblem p = matched(b.result({b.op("addmm", {bias, x, y}, {2, 4}, {{"alpha", 2}, {"beta", 0.5}})}));
  EXPECT_THAT(expressions(p), ElementsAre("static_cast<float>(p0[0])", "2.0f * c + 0.5f * v0"));
}

TEST(GemmMatch, ViewsAroundTheProductAndBroadcastOperands) {
  TaskBuilder b;
  const ValueRef x = b.input({2, 3, 8}), w = b.param({5, 8}), r = b.input({2, 3, 5}), s = b.input({2, 3, 1}), u = b.input({2, 1, 5});
  const ValueRef product = b.op("mm", {b.op("view", {x}, {6, 8}), b.op("t", {w}, {8, 5})}, {6, 5});
  const ValueRef wide = b.op("_unsafe_view", {product}, {2, 3, 5});
  const ValueRef sum = b.op("add", {wide, r}, {2, 3, 5}, {{"alpha", 1}});
  const ValueRef scaled = b.op("mul", {sum, s}, {2, 3, 5});
  const GemmProblem p = matched(b.result({b.op("sub", {scaled, u}, {2, 3, 5}, {{"alpha", 1}})}));
  EXPECT_EQ(p.m, 6);
  EXPECT_THAT(expressions(p), ElementsAre("static_cast<float>(p0[m * N + n])", "c + v0", "static_cast<float>(p1[m])", "v1 * v2",
                                          HasSubstr("p2[cute::Layout<cute::Shape<cute::Int<5>, cute::Int<3>, cute::Int<2>>, "
                                                    "cute::Stride<cute::Int<1>, cute::Int<0>, cute::Int<5>>>{}(m * N + n)]"),
                                          "v3 - v4"));
}

TEST(GemmMatch, AValueUsedTwiceIsComputedOnce) {
  TaskBuilder b;
  const ValueRef x = b.input({2, 3}), y = b.input({3, 4});
  const ValueRef c = b.op("mm", {x, y}, {2, 4});
  const ValueRef s = b.op("sigmoid", {c}, {2, 4});
  const GemmProblem p = matched(b.result({b.op("mul", {s, b.op("add", {c, s}, {2, 4}, {{"alpha", 1}})}, {2, 4})}));
  EXPECT_THAT(expressions(p), ElementsAre("cutegen::sigmoid(c)", "c + v0", "v0 * v1"));
}

TEST(GemmMatch, LinearThatSurvivesTracing) {
  TaskBuilder b;
  const ValueRef x = b.input({2, 3, 8}), w = b.param({5, 8}), bias = b.param({5});
  const GemmProblem p = matched(b.result({b.op("linear", {x, w, bias}, {2, 3, 5})}));
  EXPECT_EQ(p.m, 6);
  EXPECT_EQ(p.n, 5);
  EXPECT_TRUE(p.b.contiguous_k);
  EXPECT_THAT(expressions(p), ElementsAre("static_cast<float>(p0[n])", "c + v0"));
}

TEST(GemmMatch, RefusesWithASentence) {
  {
    TaskBuilder b;
    EXPECT_THAT(refusal(b.result({b.op("relu", {b.input({2, 3})}, {2, 3})})), HasSubstr("no matrix product"));
  }
  {
    TaskBuilder b;
    const ValueRef x = b.input({2, 2});
    EXPECT_THAT(refusal(b.result({b.op("mm", {b.op("mm", {x, x}, {2, 2}), x}, {2, 2})})), HasSubstr("two matrix products"));
  }
  {
    TaskBuilder b;
    const ValueRef x = b.input({2, 2});
    EXPECT_THAT(refusal(b.result({b.op("mm", {b.op("relu", {x}, {2, 2}), x}, {2, 2})})), HasSubstr("computed by relu"));
  }
  {
    TaskBuilder b;
    const ValueRef x = b.input({2, 2});
    EXPECT_THAT(refusal(b.result({b.op("_softmax", {b.op("mm", {x, x}, {2, 2})}, {2, 2}, {{"dim", 1}})})), HasSubstr("_softmax"));
  }
  {
    TaskBuilder b;
    const ValueRef x = b.input({2, 2}, DType::f16);
    EXPECT_THAT(refusal(b.result({b.op("mm", {x, x}, {2, 2}, Json::object(), DType::f16)})), HasSubstr("float16"));
  }
  {
    TaskBuilder b;
    const ValueRef x = b.input({2, 3}), y = b.input({3, 2});
    EXPECT_THAT(refusal(b.result({b.op("relu", {b.op("t", {b.op("mm", {x, y}, {2, 2})}, {2, 2})}, {2, 2})})), HasSubstr("rearranged"));
  }
  {
    TaskBuilder b;
    const ValueRef x = b.input({2, 2});
    const ValueRef c = b.op("mm", {x, x}, {2, 2});
    EXPECT_THAT(refusal(b.result({c, b.op("relu", {c}, {2, 2})})), HasSubstr("2 outputs"));
  }
  Task opaque;
  opaque.opaque_reason = "data-dependent control flow";
  EXPECT_THAT(refusal(opaque), HasSubstr("data-dependent control flow"));
}

}  // namespace
}  // namespace cutegen::playbook
