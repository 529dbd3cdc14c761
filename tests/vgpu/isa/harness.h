// Runs one instruction form over columns of operand bits, through PTX text like any program's.
#pragma once

#include <gtest/gtest.h>

#include <random>

#include "vgpu/isa/registry.h"
#include "vgpu/support.h"

namespace cutegen::vgpu {

using Columns = std::vector<std::vector<u64>>;  // [operand][lane]

inline const char* register_class(Value v) {
  return v == Value::Pred ? "pred" : size_bytes(v) <= 2 ? "b16" : size_bytes(v) == 8 ? "b64" : "b32";
}

// A form whose operands are registers only: one destination (or p|q), then sources.
inline bool is_plain(const Form& f) {
  if (f.operands.empty() || f.kind != Kind::plain || f.collective || f.name.starts_with("vgpu.") || f.name.starts_with("createpolicy"))
    return false;
  for (size_t i = 0; i < f.operands.size(); ++i) {
    const Role r = f.operands[i].role;
    if (i == 0 ? r != Role::dst && r != Role::pair_dst : r != Role::src) return false;
  }
  return true;
}

inline std::string plain_kernel(const Form& f) {
  std::string s = ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry t(.param .u64 in, .param .u64 out, .param .u64 n) {\n";
  s += ".reg .b32 %t<4>; .reg .b64 %a<8>; .reg .b64 %v; .reg .pred %d0, %d1;\n";
  s += "mov.u32 %t0, %tid.x; mov.u32 %t1, %ctaid.x; mov.u32 %t2, %ntid.x; mad.lo.u32 %t0, %t1, %t2, %t0; mul.wide.u32 %a0, %t0, 8;\n";
  s += "ld.param.u64 %a1, [in]; ld.param.u64 %a2, [out]; ld.param.u64 %a3, [n]; add.u64 %a1, %a1, %a0; add.u64 %a2, %a2, %a0;\n";
  std::string sources;
  for (size_t i = 1; i < f.operands.size(); ++i) {
    const Value v = f.operands[i].type;
    const std::string r = "%s" + std::to_string(i);
    s += std::string(".reg .") + register_class(v) + " " + r + ";\nld.global.u64 %v, [%a1]; add.u64 %a1, %a1, %a3;\n";
    if (v == Value::Pred)
      s += "setp.ne.u64 " + r + ", %v, 0;\n";
    else if (size_bytes(v) <= 2)
      s += "cvt.u16.u64 " + r + ", %v;\n";
    else if (size_bytes(v) == 8)
      s += "mov.b64 " + r + ", %v;\n";
    else
      s += "cvt.u32.u64 " + r + ", %v;\n";
    sources += ", " + r;
  }
  const OperandSpec& d = f.operands[0];
  if (d.role == Role::pair_dst) {
    s += f.name + " %d0|%d1" + sources +
         ";\nselp.u64 %v, 1, 0, %d0; st.global.u64 [%a2], %v; add.u64 %a2, %a2, %a3;\nselp.u64 %v, 1, 0, %d1; st.global.u64 [%a2], %v;\n";
  } else {
    s += std::string(".reg .") + register_class(d.type) + " %d;\n" + f.name + " %d" + sources + ";\n";
    if (d.type == Value::Pred)
      s += "selp.u64 %v, 1, 0, %d;\n";
    else if (size_bytes(d.type) <= 2)
      s += "cvt.u64.u16 %v, %d;\n";
    else if (size_bytes(d.type) == 8)
      s += "mov.b64 %v, %d;\n";
    else
      s += "cvt.u64.u32 %v, %d;\n";
    s += "st.global.u64 [%a2], %v;\n";
  }
  return s + "ret;\n}\n";
}

// The results, one column a destination. The number of lanes must be a multiple of 32.
inline Columns run_plain(const Form& f, const Columns& sources) {
  const size_t lanes = sources.empty() ? 32 : sources[0].size(), results = f.operands[0].role == Role::pair_dst ? 2 : 1;
  std::vector<u64> in, out(lanes * results);
  for (const auto& column : sources) in.insert(in.end(), column.begin(), column.end());
  auto program = load_ptx(plain_kernel(f), f.name);
  EXPECT_TRUE(program.ok()) << program.error().message;
  if (!program.ok()) return Columns(results, std::vector<u64>(lanes));
  Memory memory;
  LaunchConfig c;
  c.kernel = "t", c.grid = {static_cast<uint32_t>(lanes / 32)}, c.block = {32};
  in.resize(std::max<size_t>(in.size(), 1));
  c.arguments = pack_arguments(map(memory, "in", in), map(memory, "out", out), u64{lanes * 8});
  LaunchOptions o;
  o.threads = 1;
  const LaunchResult r = launch(**program, memory, c, o);
  EXPECT_TRUE(r.ok()) << f.name << ": " << r.fault->message;
  Columns columns;
  for (size_t k = 0; k < results; ++k)
    columns.emplace_back(out.begin() + static_cast<std::ptrdiff_t>(k * lanes), out.begin() + static_cast<std::ptrdiff_t>((k + 1) * lanes));
  return columns;
}

// Bit patterns worth trying: zeros, ones, extremes, subnormals, infinities, NaNs, ties.
inline std::vector<u64> interesting(Value v) {
  switch (v) {
    case Value::Pred: return {0, 1};
    case Value::F32:
      return {0,          0x80000000, 0x3f800000, 0xbf800000, 0x3f000000, 0x3fc00000, 0x40200000, 0xc0200000, 0x40490fdb, 0x7f7fffff,
              0xff7fffff, 0x00800000, 0x80800000, 0x007fffff, 0x00000001, 0x80000001, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345,
              0x4b000001, 0x4f000000, 0xcf000000, 0x5f000000, 0x477fe000, 0x477ff000, 0x33800000, 0x3f800001, 0x00ffffff};
    case Value::F64:
      return {0,
              1ull << 63,
              0x3ff0000000000000,
              0xbff0000000000000,
              0x4004000000000000,
              0x7fefffffffffffff,
              0x0010000000000000,
              0x000fffffffffffff,
              1,
              0x8000000000000001,
              0x7ff0000000000000,
              0xfff0000000000000,
              0x7ff8000000000000,
              0x41dfffffffc00000,
              0x43e0000000000000,
              0x47efffffe0000000,
              0x36a0000000000000,
              0x3ff0000010000000,
              0x3ff0000000000001};
    case Value::F16:
      return {0,      0x8000, 0x3c00, 0xbc00, 0x3800, 0x3e00, 0x4100, 0x7bff, 0xfbff, 0x0400,
              0x03ff, 0x0001, 0x8001, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x3c01, 0x5640, 0x1400};
    case Value::BF16:
      return {0, 0x8000, 0x3f80, 0xbf80, 0x3f00, 0x3fc0, 0x4049, 0x7f80, 0xff80, 0x7fc0, 0x3f81, 0x42c8, 0x3c00, 0xbc01, 0x4380};
    default: break;
  }
  std::vector<u64> ints{0,
                        1,
                        2,
                        3,
                        4,
                        5,
                        7,
                        8,
                        15,
                        16,
                        31,
                        32,
                        33,
                        63,
                        64,
                        65,
                        100,
                        127,
                        128,
                        129,
                        255,
                        256,
                        0x7fff,
                        0x8000,
                        0x8001,
                        0xffff,
                        0x10000,
                        0x7fffffff,
                        0x80000000,
                        0x80000001,
                        0xfffffffe,
                        0xffffffff,
                        0x100000000,
                        0x7fffffffffffffff,
                        0x8000000000000000,
                        0xfffffffffffffffe,
                        0xffffffffffffffff,
                        0x123456789abcdef0,
                        0x9e3779b97f4a7c15};
  if (v == Value::F16x2 || v == Value::BF16x2) {
    const std::vector<u64> halves = interesting(v == Value::F16x2 ? Value::F16 : Value::BF16);
    ints.clear();
    for (size_t i = 0; i < halves.size(); ++i) ints.push_back(halves[i] | halves[(i * 7 + 3) % halves.size()] << 16);
  }
  return ints;
}

inline u64 mask_of(Value v) { return v == Value::Pred ? 1 : size_bytes(v) == 8 ? ~0ull : (1ull << (8 * size_bytes(v))) - 1; }

// Operand columns: every pair of interesting values for up to two sources, a sample for more; and random bits (not for bf16, whose
// reference is exact only for moderate exponents).
inline Columns operand_columns(const Form& f) {
  const size_t n = f.operands.size() - 1;
  std::vector<std::vector<u64>> values;
  for (size_t i = 0; i < n; ++i) values.push_back(interesting(f.operands[i + 1].type));
  std::mt19937_64 random(12345);
  Columns columns(n);
  auto add = [&](auto pick) {
    for (size_t i = 0; i < n; ++i) columns[i].push_back(pick(i) & mask_of(f.operands[i + 1].type));
  };
  auto sample = [&](size_t i) {
    const Value t = f.operands[i + 1].type;
    const bool bits = random() % 3 == 0 && t != Value::BF16 && t != Value::BF16x2;
    const u64 r = random();
    return bits ? r : values[i][r % values[i].size()];
  };
  if (n == 1)
    for (u64 a : values[0]) add([&](size_t) { return a; });
  if (n == 2)
    for (u64 a : values[0])
      for (u64 b : values[1]) add([&](size_t i) { return i == 0 ? a : b; });
  const size_t have = n == 0 ? 0 : columns[0].size(), want = (have + (n > 2 ? 1500 : 160) + 31) / 32 * 32;
  for (size_t k = have; k < want && n > 0; ++k) add(sample);
  return columns;
}

}  // namespace cutegen::vgpu
