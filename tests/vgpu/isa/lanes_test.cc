// Records that need more than one instruction to show what they do: carries, packing, fp8.
#include <gtest/gtest.h>

#include "vgpu/isa/harness.h"
#include "vgpu/isa/reference.h"

namespace cutegen::vgpu {
namespace {

// A kernel body over 64-bit inputs %x0..%x3 to outputs %y0, %y1 (all .b64), for 32 or more lanes.
Columns run_body(const std::string& body, Columns in) {
  std::string s =
      ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry t(.param .u64 in, .param .u64 out, .param .u64 n) {\n.reg .b64 "
      "%x<4>, %y<2>, %a<4>; .reg .b32 %t<4>, %r<16>; .reg .b16 %h<8>; .reg .pred %p<4>;\n";
  s += "mov.u32 %t0, %tid.x; mov.u32 %t1, %ctaid.x; mad.lo.u32 %t0, %t1, 32, %t0; mul.wide.u32 %a0, %t0, 8; ld.param.u64 %a1, [in]; "
       "ld.param.u64 %a2, [out]; ld.param.u64 %a3, [n];\nadd.u64 %a1, %a1, %a0; add.u64 %a2, %a2, %a0; mov.u64 %y0, 0; mov.u64 %y1, 0;\n";
  for (size_t i = 0; i < in.size(); ++i) s += "ld.global.u64 %x" + std::to_string(i) + ", [%a1]; add.u64 %a1, %a1, %a3;\n";
  s += body + "\nst.global.u64 [%a2], %y0; add.u64 %a2, %a2, %a3; st.global.u64 [%a2], %y1; ret;\n}\n";
  auto program = load_ptx(s, "body.ptx");
  EXPECT_TRUE(program.ok()) << program.error().message;
  const size_t lanes = in[0].size();
  std::vector<u64> flat, out(2 * lanes);
  for (const auto& c : in) flat.insert(flat.end(), c.begin(), c.end());
  Memory memory;
  LaunchConfig c;
  c.kernel = "t", c.grid = {static_cast<uint32_t>(lanes / 32)}, c.block = {32};
  c.arguments = pack_arguments(map(memory, "in", flat), map(memory, "out", out), u64{8 * lanes});
  if (program.ok()) {
    const LaunchResult r = launch(**program, memory, c);
    EXPECT_TRUE(r.ok()) << r.fault->message;
  }
  return {std::vector<u64>(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(lanes)),
          std::vector<u64>(out.begin() + static_cast<std::ptrdiff_t>(lanes), out.end())};
}

Columns noise(size_t n, size_t lanes = 320) {
  std::mt19937_64 g(99);
  const std::vector<u64> special = interesting(Value::U64);
  Columns c(n, std::vector<u64>(lanes));
  for (auto& column : c)
    for (u64& v : column) v = g() % 2 ? g() : special[g() % special.size()];
  return c;
}

using reference::uwide;
uwide join(u64 lo, u64 hi) { return (static_cast<uwide>(hi) << 64) | lo; }

// 128-bit sums of (x0, x1) and (x2, x3), by 64-bit and by 32-bit steps.
TEST(Carry, ChainsOf64Bits) {
  const Columns in = noise(4);
  for (const char* t : {"u64", "s64"}) {
    const std::string type = t;
    const Columns sum = run_body("add.cc." + type + " %y0, %x0, %x2; addc." + type + " %y1, %x1, %x3;", in);
    const Columns difference = run_body("sub.cc." + type + " %y0, %x0, %x2; subc." + type + " %y1, %x1, %x3;", in);
    for (size_t i = 0; i < in[0].size(); ++i) {
      EXPECT_TRUE(join(sum[0][i], sum[1][i]) == join(in[0][i], in[1][i]) + join(in[2][i], in[3][i])) << i;
      EXPECT_TRUE(join(difference[0][i], difference[1][i]) == join(in[0][i], in[1][i]) - join(in[2][i], in[3][i])) << i;
    }
  }
}
TEST(Carry, ChainsOf32Bits) {
  const Columns in = noise(4);
  const std::string split = "mov.b64 {%r0, %r1}, %x0; mov.b64 {%r2, %r3}, %x1; mov.b64 {%r4, %r5}, %x2; mov.b64 {%r6, %r7}, %x3;\n";
  const std::string merge = "mov.b64 %y0, {%r8, %r9}; mov.b64 %y1, {%r10, %r11};";
  for (const char* t : {"u32", "s32"}) {
    auto chain = [&](const std::string& op) {
      const std::string y = std::string(".") + t + " ";
      return split + op + ".cc" + y + "%r8, %r0, %r4; " + op + "c.cc" + y + "%r9, %r1, %r5; " + op + "c.cc" + y + "%r10, %r2, %r6; " + op +
             "c" + y + "%r11, %r3, %r7;\n" + merge;
    };
    const Columns sum = run_body(chain("add"), in), difference = run_body(chain("sub"), in);
    for (size_t i = 0; i < in[0].size(); ++i) {
      EXPECT_TRUE(join(sum[0][i], sum[1][i]) == join(in[0][i], in[1][i]) + join(in[2][i], in[3][i])) << i;
      EXPECT_TRUE(join(difference[0][i], difference[1][i]) == join(in[0][i], in[1][i]) - join(in[2][i], in[3][i])) << i;
    }
  }
}
// x0 * x1 + (x2, x3).
TEST(Carry, MultiplyAdd) {
  const Columns in = noise(4);
  const Columns wide = run_body("mad.lo.cc.u64 %y0, %x0, %x1, %x2; madc.hi.u64 %y1, %x0, %x1, %x3;", in);
  const Columns narrow = run_body(
      "cvt.u32.u64 %r0, %x0; cvt.u32.u64 %r1, %x1; cvt.u32.u64 %r2, %x2; cvt.u32.u64 %r3, %x3; mad.lo.cc.u32 %r4, %r0, %r1, %r2; "
      "madc.hi.cc.u32 %r5, %r0, %r1, %r3; addc.u32 %r6, 0, 0; mov.b64 %y0, {%r4, %r5}; cvt.u64.u32 %y1, %r6;",
      in);
  for (size_t i = 0; i < in[0].size(); ++i) {
    EXPECT_TRUE(join(wide[0][i], wide[1][i]) == static_cast<uwide>(in[0][i]) * in[1][i] + join(in[2][i], in[3][i])) << i;
    const uwide w = static_cast<uwide>(static_cast<u32>(in[0][i])) * static_cast<u32>(in[1][i]) +
                    (static_cast<u64>(static_cast<u32>(in[3][i])) << 32 | static_cast<u32>(in[2][i]));
    EXPECT_EQ(narrow[0][i], static_cast<u64>(w)) << i;
    EXPECT_EQ(narrow[1][i], static_cast<u64>(w >> 64)) << i;
  }
}
TEST(Carry, LowHalves) {
  const Columns in = noise(3);
  const Columns r = run_body(
      "cvt.u32.u64 %r0, %x0; cvt.u32.u64 %r1, %x1; cvt.u32.u64 %r2, %x2; mad.lo.cc.s32 %r3, %r0, %r1, %r2; madc.lo.cc.u32 %r4, %r0, %r1, "
      "0; madc.lo.u32 %r5, 0, 0, 0; mov.b64 %y0, {%r3, %r4}; cvt.u64.u32 %y1, %r5;",
      in);
  for (size_t i = 0; i < in[0].size(); ++i) {
    const u32 p = static_cast<u32>(in[0][i]) * static_cast<u32>(in[1][i]);
    const u64 first = u64{p} + static_cast<u32>(in[2][i]), second = u64{p} + (first >> 32);
    EXPECT_EQ(r[0][i], (second << 32) | (first & 0xffffffff));
    EXPECT_EQ(r[1][i], second >> 32);
  }
}

TEST(Move, PacksAndUnpacks) {
  const Columns in = noise(1);
  const Columns halves = run_body(
      "mov.b64 {%h0, %h1, %h2, %h3}, %x0; mov.b64 %y0, {%h3, %h2, %h1, %h0}; mov.b32 %r0, {%h0, %h1}; mov.b32 {%h4, %h5}, %r0; mov.b32 "
      "%r1, {%h5, %h4}; cvt.u64.u32 %y1, %r1;",
      in);
  const Columns bytes = run_body(
      "cvt.u32.u64 %r0, %x0; mov.b32 {%h0, %h1, %h2, %h3}, %r0; mov.b32 %r1, {%h3, %h2, %h1, %h0}; cvt.u64.u32 %y0, %r1; mov.b16 %h5, "
      "{%h0, %h1}; mov.b16 {%h6, %h7}, %h5; mov.b32 %r2, {%h7, %h6}; cvt.u64.u32 %y1, %r2;",
      in);
  for (size_t i = 0; i < in[0].size(); ++i) {
    const u64 x = in[0][i];
    EXPECT_EQ(halves[0][i], x >> 48 | (x >> 16 & 0xffff0000) | (x << 16 & 0xffff00000000) | x << 48);
    EXPECT_EQ(halves[1][i], (x >> 16 & 0xffff) | (x << 16 & 0xffff0000));
    EXPECT_EQ(bytes[0][i], __builtin_bswap32(static_cast<u32>(x)));
    EXPECT_EQ(bytes[1][i], (x >> 8 & 0xff) | (x & 0xff) << 16);
  }
}
TEST(Move, WidthsMayDiffer) {  // a store or conversion may name a wider register
  const Columns in = noise(1, 32);
  const Columns r = run_body(
      "cvta.to.global.u64 %a0, %a2; st.global.u64 [%a0], 0; st.global.u16 [%a0], %x0; ld.global.s8 %y0, [%a0]; ld.global.u16 %y1, [%a0];",
      in);
  for (size_t i = 0; i < 32; ++i) {
    EXPECT_EQ(r[0][i], static_cast<u64>(static_cast<s64>(static_cast<int8_t>(in[0][i]))));
    EXPECT_EQ(r[1][i], in[0][i] & 0xffff);
  }
}
TEST(Move, ClocksAdvance) {
  const Columns r = run_body(
      "mov.u64 %y0, %clock64; nanosleep.u32 20; mov.u32 %r0, %clock; cvt.u64.u32 %y1, %r0; mov.u64 %x0, %globaltimer;", noise(1, 32));
  EXPECT_GE(r[1][0], r[0][0]);
}

// e4m3: one NaN, no infinity, exponents up to 15 with bias 7. e5m2: a short f16.
double e4m3(u64 v) {
  return (v & 0x7f) == 0x7f   ? NAN
         : (v & 0x78) == 0x78 ? (v & 0x80 ? -1 : 1) * std::ldexp(8.0 + static_cast<double>(v & 7), 5)
                              : static_cast<double>(reference::small_float(v, 3, 7, 8));
}
double e5m2(u64 v) { return static_cast<double>(reference::small_float(v, 2, 15, 8)); }

TEST(Fp8, EveryCodeComesBack) {
  struct Format {
    const char* name;
    double (*value)(u64);
    u64 nan;
  };
  for (const Format& f : {Format{"e4m3x2", e4m3, 0x7f}, Format{"e5m2x2", e5m2, 0x7d}}) {
    Columns in{std::vector<u64>(256)};
    for (u64 i = 0; i < 256; ++i) in[0][i] = i | ((255 - i) << 8);
    const std::string n = f.name;
    const Columns r = run_body("cvt.u16.u64 %h0, %x0; cvt.rn.f16x2." + n + " %r0, %h0; cvt.u64.u32 %y0, %r0; cvt.rn.satfinite." + n +
                                   ".f16x2 %h1, %r0; cvt.u64.u16 %y1, %h1;",
                               in);
    for (u64 i = 0; i < 256; ++i) {
      for (int half = 0; half < 2; ++half) {
        const u64 code = half == 0 ? i : 255 - i;
        const double want = f.value(code), got = static_cast<double>(reference::value(r[0][i] >> (16 * half), "f16"));
        const u64 back = (r[1][i] >> (8 * half)) & 0xff;
        if (std::isnan(want)) {
          EXPECT_TRUE(std::isnan(got)) << f.name << " " << code;
          EXPECT_EQ(back, 0x7fu);
        } else {
          EXPECT_EQ(got, want) << f.name << " " << code;
          EXPECT_EQ(back, std::isinf(want) ? code - 1 : code) << f.name;  // satfinite: infinity becomes the largest number
        }
      }
    }
  }
}
TEST(Fp8, RoundsToTheNearestCode) {
  std::mt19937_64 g(5);
  Columns in(2, std::vector<u64>(640));
  for (auto& column : in)
    for (u64& v : column)
      v = reference::bits(std::ldexp(static_cast<float>(static_cast<int>(g() % 4097) - 2048), static_cast<int>(g() % 24) - 20));
  struct Format {
    const char* name;
    double (*value)(u64);
    u64 top;
  };
  for (const Format& f : {Format{"e4m3x2", e4m3, 0x7e}, Format{"e5m2x2", e5m2, 0x7b}}) {
    const std::string n = f.name;
    const Columns r = run_body(
        ".reg .f32 %f0, %f1; cvt.u32.u64 %r0, %x0; cvt.u32.u64 %r1, %x1; mov.b32 %f0, %r0; mov.b32 %f1, %r1; cvt.rn.satfinite." + n +
            ".f32 %h0, %f0, %f1; cvt.u64.u16 %y0, %h0; cvt.rn.satfinite.relu." + n + ".f32 %h1, %f0, %f1; cvt.u64.u16 %y1, %h1;",
        in);
    for (size_t i = 0; i < in[0].size(); ++i) {
      for (int half = 0; half < 2; ++half) {
        const double x = reference::as<float>(static_cast<u32>(in[half == 0 ? 1 : 0][i]));
        u64 best = 0;
        for (u64 code = 0; code <= f.top; ++code) {
          const double d = std::fabs(f.value(code) - std::fabs(x)), b = std::fabs(f.value(best) - std::fabs(x));
          if (d < b || (d == b && code % 2 == 0)) best = code;
        }
        EXPECT_EQ((r[0][i] >> (8 * half)) & 0xff, best | (std::signbit(x) ? 0x80 : 0)) << f.name << " " << x;
        EXPECT_EQ((r[1][i] >> (8 * half)) & 0xff, x > 0 ? best : 0) << f.name << " relu " << x;
      }
    }
  }
}

}  // namespace
}  // namespace cutegen::vgpu
