// Approximate instructions against long double, within the error that PTX ISA 9.7.3 and 9.7.4 allow.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "vgpu/isa/harness.h"
#include "vgpu/isa/reference.h"

namespace cutegen::vgpu {
namespace {

using Function = std::function<long double(long double, long double)>;

struct Bound {
  const char* base;
  Function f;
  double relative, absolute;  // the result may be off by relative * |exact| + absolute
  double domain;              // |operand| up to this
};

const std::vector<Bound>& bounds() {
  static const std::vector<Bound> all = {
      {"ex2", [](long double a, long double) { return std::exp2(a); }, 0x1p-22, 0, 1e30},
      {"lg2", [](long double a, long double) { return std::log2(a); }, 0x1p-22, 0x1p-22, INFINITY},
      {"sin", [](long double a, long double) { return std::sin(a); }, 0, 0x1p-20, 3.2},
      {"cos", [](long double a, long double) { return std::cos(a); }, 0, 0x1p-20, 3.2},
      {"rcp", [](long double a, long double) { return 1 / a; }, 0x1p-23, 0, INFINITY},
      {"sqrt", [](long double a, long double) { return std::sqrt(a); }, 0x1p-23, 0, INFINITY},
      {"rsqrt", [](long double a, long double) { return 1 / std::sqrt(a); }, 0x1p-22, 0, INFINITY},
      {"div", [](long double a, long double b) { return a / b; }, 0x1p-22, 0, 0x1p126},
      {"tanh", [](long double a, long double) { return std::tanh(a); }, 0x1p-10, 0, INFINITY},
  };
  return all;
}

long double flushed(long double x, const std::string& type) {
  const long double normal = type == "f32" ? 0x1p-126L : type == "f64" ? 0x1p-1022L : 0;
  return std::fabs(x) < normal ? std::copysign(0.0L, x) : x;
}

void check_one(const reference::Name& n, const Bound& bound, const std::string& type, long double a, long double b, long double got) {
  const bool ftz = n.has("ftz");
  if (ftz) a = flushed(a, type), b = flushed(b, type);
  if (std::fabs(a) > bound.domain || std::fabs(b) > bound.domain) return;
  if (n.base() == "div" && std::fabs(b) < 0x1p-126L) return;  // no bound is given
  long double want = bound.f(a, b);
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << static_cast<double>(a);
    return;
  }
  const double ulp = type == "f16" ? 0x1p-10 : type == "bf16" ? 0x1p-7 : type == "f64" ? 0x1p-20 : 0x1p-23;
  const long double smallest = type == "f16" ? 0x1p-24L : ftz || type == "f32" ? 0x1p-126L : 0;
  const long double top = type == "f16" ? 65520.0L : type == "f64" ? 1.7e308L : 3.4028235677973366e38L;
  const long double error = (std::max(bound.relative, ulp) + ulp) * std::fabs(want) + bound.absolute + smallest;
  if (std::fabs(want) >= top * 0.999999L) {
    EXPECT_GE(std::fabs(got), top * 0.999L) << static_cast<double>(a);
    return;
  }
  EXPECT_LE(std::fabs(got - want), error) << static_cast<double>(a) << ", " << static_cast<double>(b) << ": " << static_cast<double>(got)
                                          << " for " << static_cast<double>(want);
}

TEST(Approximations, StayWithinTheirBounds) {
  int tested = 0;
  for (const Form& f : all_forms()) {
    const reference::Name n(f.name);
    if (!n.has("approx") && !n.has("full")) continue;
    const auto bound = std::find_if(bounds().begin(), bounds().end(), [&](const Bound& b) { return n.base() == b.base; });
    ASSERT_NE(bound, bounds().end()) << f.name;
    SCOPED_TRACE(f.name);
    const std::string type = n.type().ends_with("x2") ? n.type().substr(0, n.type().size() - 2) : n.type();
    const Columns in = operand_columns(f);
    const Columns out = run_plain(f, in);
    for (size_t lane = 0; lane < in[0].size(); ++lane)
      for (int half = 0; half < (type == n.type() ? 1 : 2); ++half) {
        auto pick = [&](u64 v) { return reference::value(v >> (16 * half), type); };
        check_one(n, *bound, type, pick(in[0][lane]), in.size() > 1 ? pick(in[1][lane]) : 1.0L, pick(out[0][lane]));
      }
    ++tested;
  }
  EXPECT_GE(tested, 25);
}

TEST(Approximations, SpecialValues) {
  auto one = [](const char* name, float x) {
    const Columns out = run_plain(*find_form(name), {std::vector<u64>(32, reference::bits(x))});
    return reference::as<float>(static_cast<u32>(out[0][0]));
  };
  EXPECT_EQ(one("ex2.approx.f32", 0), 1);
  EXPECT_EQ(one("ex2.approx.f32", 10), 1024);
  EXPECT_EQ(one("ex2.approx.f32", -INFINITY), 0);
  EXPECT_EQ(one("ex2.approx.f32", INFINITY), INFINITY);
  EXPECT_EQ(one("ex2.approx.f32", -149), 0x1p-149f);
  EXPECT_EQ(one("ex2.approx.ftz.f32", -149), 0);
  EXPECT_EQ(one("lg2.approx.f32", 0), -INFINITY);
  EXPECT_EQ(one("lg2.approx.f32", 8), 3);
  EXPECT_EQ(one("rsqrt.approx.f32", 0), INFINITY);
  EXPECT_EQ(one("rcp.approx.ftz.f32", 1e-40f), INFINITY);
  EXPECT_EQ(one("tanh.approx.f32", 50), 1);
  EXPECT_TRUE(std::isnan(one("sqrt.approx.f32", -1)));
  EXPECT_TRUE(std::isnan(one("sin.approx.f32", INFINITY)));
}

}  // namespace
}  // namespace cutegen::vgpu
