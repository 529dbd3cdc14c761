#include "propose/playbook/pointwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace cutegen::playbook {
namespace {

using ::testing::HasSubstr;

Operand tensor(const char* code, DType dtype = DType::f32) { return {code, dtype, false, 0}; }
Operand number(double v) { return {literal(v, DType::f32), DType::f32, true, v}; }

std::string expression(const std::string& op, const std::vector<Operand>& operands, Json attrs = Json::object(), DType out = DType::f32) {
  Node node{op, std::vector<Arg>(operands.size()), std::move(attrs), {{"y", out, {4}}}};
  auto code = pointwise_expression(node, operands);
  return code.ok() ? *code : "error: " + code.error().message;
}

TEST(Pointwise, TheTableIsSortedAndBroad) {
  const auto names = pointwise_names();
  EXPECT_TRUE(std::ranges::is_sorted(names)) << "the look-up is a binary search";
  EXPECT_GE(names.size(), 80U);
  for (const std::string& name : names) EXPECT_TRUE(is_pointwise(name)) << name;
  EXPECT_FALSE(is_pointwise("_softmax"));
  EXPECT_FALSE(is_pointwise("mm"));
  EXPECT_TRUE(is_pointwise("_to_copy"));
}

TEST(Pointwise, ArgumentsComeFromOperandsOrAttributes) {
  EXPECT_EQ(expression("add", {tensor("a"), tensor("b")}, {{"alpha", 1}}), "a + b");
  EXPECT_EQ(expression("sub", {tensor("a"), tensor("b")}, {{"alpha", 2}}), "a - 2.0f * b");
  EXPECT_EQ(expression("rsub", {tensor("a"), number(1)}, {{"alpha", 1}}), "1.0f - a");
  EXPECT_EQ(expression("clamp", {tensor("a")}, {{"min", 0}, {"max", nullptr}}), "cutegen::clamp_min(a, 0.0f)");
  EXPECT_EQ(expression("clamp", {tensor("a")}, {{"min", nullptr}, {"max", 6}}), "cutegen::clamp_max(a, 6.0f)");
  EXPECT_EQ(expression("clamp", {tensor("a"), tensor("lo"), tensor("hi")}), "cutegen::clamp(a, lo, hi)");
  EXPECT_EQ(expression("gelu", {tensor("a")}, {{"approximate", "tanh"}}), "cutegen::gelu_tanh(a)");
  EXPECT_EQ(expression("leaky_relu", {tensor("a")}, {{"negative_slope", 0.2}}), "cutegen::leaky_relu(a, 0.2f)");
  EXPECT_EQ(expression("div", {tensor("a"), tensor("b")}, {{"rounding_mode", "floor"}}), "cutegen::div_floor(a, b)");
  EXPECT_THAT(expression("leaky_relu", {tensor("a")}), HasSubstr("negative_slope"));
}

TEST(Pointwise, PowersAreProductsAndRootsWhereTheExponentIsKnown) {
  EXPECT_EQ(expression("pow", {tensor("a"), number(3)}), "cutegen::pow_int<3>(a)");
  EXPECT_EQ(expression("pow", {tensor("a"), number(-2)}), "cutegen::pow_int<-2>(a)");
  EXPECT_EQ(expression("pow", {tensor("a"), number(0.5)}), "cutegen::sqrt(a)");
  EXPECT_EQ(expression("pow", {tensor("a"), number(2.5)}), "cutegen::pow(a, 2.5f)");
  EXPECT_EQ(expression("pow", {tensor("a"), tensor("b")}), "cutegen::pow(a, b)");
}

TEST(Pointwise, TypesFollowPyTorch) {
  EXPECT_EQ(expression("div", {tensor("a", DType::i64), tensor("b", DType::i64)}), "static_cast<float>(a) / static_cast<float>(b)");
  EXPECT_EQ(expression("gt", {tensor("a", DType::i64), number(0.5)}, {}, DType::b1), "static_cast<float>(a) > 0.5f");
  EXPECT_EQ(expression("gt", {tensor("a", DType::i64), number(2)}, {}, DType::b1), "a > int64_t(2)");
  EXPECT_EQ(expression("where", {tensor("c", DType::b1), tensor("a"), number(0)}), "c ? a : 0.0f");
  EXPECT_EQ(expression("mul", {tensor("a", DType::f16), tensor("b", DType::f32)}), "a * b") << "halves are computed in float";
  EXPECT_EQ(expression("_to_copy", {tensor("a")}, {}, DType::i64), "static_cast<int64_t>(a)");
}

TEST(Pointwise, LiteralsAreExact) {
  for (const double v : {0.1, 1.0 / 3, 1e-5, 0.044715, 0.7978845608028654, 3.4028234663852886e38, 1e-45, -0.0}) {
    const float f = static_cast<float>(v);
    EXPECT_EQ(std::strtof(literal(v, DType::f32).c_str(), nullptr), f) << literal(v, DType::f32);
    EXPECT_EQ(std::strtod(literal(v, DType::f64).c_str(), nullptr), v);
  }
  EXPECT_EQ(literal(1, DType::f32), "1.0f");
  EXPECT_EQ(literal(-INFINITY, DType::f32), "-INFINITY");
  EXPECT_EQ(literal(NAN, DType::f32), "NAN");
  EXPECT_EQ(literal(1, DType::b1), "true");
  EXPECT_EQ(literal(-2, DType::i64), "int64_t(-2)");
}

}  // namespace
}  // namespace cutegen::playbook
