// Loads, stores, atomics and address conversion, form by form.
#include <gtest/gtest.h>

#include "vgpu/isa/harness.h"
#include "vgpu/isa/reference.h"

namespace cutegen::vgpu {
namespace {

using reference::Name;

LaunchResult run_text(const std::string& text, Memory& memory, std::vector<uint8_t> arguments, uint32_t threads = 32) {
  auto program = load_ptx(text, "memory.ptx");
  EXPECT_TRUE(program.ok()) << program.error().message << "\n" << text;
  LaunchResult r;
  if (!program.ok()) return r;
  LaunchConfig c;
  c.kernel = "t", c.block = {threads}, c.arguments = std::move(arguments);
  r = launch(**program, memory, c);
  EXPECT_TRUE(r.ok()) << r.fault->message << "\n" << text;
  return r;
}

const std::string kHead =
    ".version 8.7\n.target sm_90a\n.address_size 64\n.shared .align 16 .b8 smem[2048];\n.const .align 16 .b8 table[512] = {";
std::string table_bytes() {
  std::string s;
  for (int i = 0; i < 512; ++i) s += (i != 0 ? "," : "") + std::to_string((i * 37 + 11) % 256);
  return s + "};\n";
}
std::string registers(int n, const std::string& type) {
  std::string list = "{";
  for (int i = 0; i < n; ++i) list += (i != 0 ? ", %" : "%") + type + std::to_string(i);
  return n == 1 ? "%" + type + "0" : list + "}";
}

// One kernel a form: thread t moves 16 bytes at 16 t. Stores read their bytes with plain global loads, loads write theirs with plain global
// stores.
struct Shape {
  std::string space, type;
  int count = 1;
};
Shape shape_of(const Form& f) {
  const Name n(f.name);
  Shape s;
  s.type = n.type();
  for (size_t i = 1; i + 1 < n.parts.size(); ++i) {
    if (n.parts[i] == "v2")
      s.count = 2;
    else if (n.parts[i] == "v4")
      s.count = 4;
    else
      s.space = n.parts[i];
  }
  return s;
}
std::string address_in(const std::string& space) {  // %b: where thread t's 16 bytes are, in that space
  if (space == "shared") return "mov.u32 %r8, smem; cvt.u64.u32 %b, %r8; add.u64 %b, %b, %o;";
  if (space == "shared::cluster")
    return "mov.u32 %r8, smem; cvt.u32.u64 %r9, %o; add.u32 %r8, %r8, %r9; mapa.shared::cluster.u32 %r8, %r8, 0; cvt.u64.u32 %b, %r8;";
  if (space == "local") return "mov.u64 %b, depot;";
  if (space == "const") return "mov.u64 %b, table; add.u64 %b, %b, %o;";
  if (space == "param") return "mov.b64 %b, block;";
  return "add.u64 %b, %x, %o;";
}
std::string prologue() {
  return ".visible .entry t(.param .u64 px, .param .u64 py, .param .align 16 .b8 block[16]) {\n.local .align 16 .b8 depot[16];\n.reg .b64 "
         "%x, %y, %o, %b, %d<4>; .reg .b32 %r<12>, %f<4>; .reg .b16 %h<4>;\n"
         "ld.param.u64 %x, [px]; ld.param.u64 %y, [py]; mov.u32 %r10, %tid.x; mul.wide.u32 %o, %r10, 16; add.u64 %y, %y, %o;\n";
}

void check_load(const Form& f) {
  SCOPED_TRACE(f.name);
  const Shape s = shape_of(f);
  const int width = reference::bits_in(s.type), lanes_width = width == 64 ? 64 : 32;
  const std::string reg = width == 64 ? "d" : "r";
  std::string text = kHead + table_bytes() + prologue() + address_in(s.space) + "\n";
  const bool copied = s.space != "const" && s.space != "param" && !s.space.empty() && s.space != "global";
  if (copied) {
    text +=
        "add.u64 %x, %x, %o; ld.global.v2.u64 {%d0, %d1}, [%x]; st." + s.space + ".u64 [%b], %d0; st." + s.space + ".u64 [%b+8], %d1;\n";
  }
  text += f.name + " " + registers(s.count, reg) + ", [%b];\n";
  for (int i = 0; i < s.count; ++i)
    text += std::string("st.global.u") + std::to_string(lanes_width) + " [%y+" + std::to_string(i * lanes_width / 8) + "], %" + reg +
            std::to_string(i) + ";\n";
  text += "ret;\n}\n";
  std::vector<u8> x(512), y(512);
  std::vector<uint8_t> block(16);
  for (int i = 0; i < 512; ++i) x[static_cast<size_t>(i)] = static_cast<u8>((i * 37 + 11) % 256);
  for (size_t i = 0; i < 16; ++i) block[i] = x[i];
  Memory memory;
  std::vector<uint8_t> arguments = pack_arguments(map(memory, "x", x), map(memory, "y", y));
  arguments.insert(arguments.end(), block.begin(), block.end());
  run_text(text, memory, arguments);
  for (size_t t = 0; t < 32; ++t) {
    for (int i = 0; i < s.count; ++i) {
      u64 raw = 0, got = 0;
      std::memcpy(&raw, x.data() + (s.space == "param" ? 0 : 16 * t) + i * width / 8, static_cast<size_t>(width) / 8);
      std::memcpy(&got, y.data() + 16 * t + i * lanes_width / 8, static_cast<size_t>(lanes_width) / 8);
      ASSERT_EQ(got, reference::low(static_cast<u64>(reference::integer(raw, s.type)), lanes_width)) << t;
    }
  }
}

void check_store(const Form& f) {
  SCOPED_TRACE(f.name);
  const Shape s = shape_of(f);
  const int width = reference::bits_in(s.type), lanes_width = width == 64 ? 64 : 32;
  const std::string reg = width == 64 ? "d" : "r";
  std::string text = kHead + table_bytes() + prologue() + "mov.u64 %b, %y;\n";
  const bool elsewhere = !s.space.empty() && s.space != "global";
  if (elsewhere) text += address_in(s.space) + "\nst." + s.space + ".u64 [%b], 0; st." + s.space + ".u64 [%b+8], 0;\n";
  text += "add.u64 %x, %x, %o;\n";
  for (int i = 0; i < s.count; ++i)
    text += std::string("ld.global.u") + std::to_string(lanes_width) + " %" + reg + std::to_string(i) + ", [%x+" +
            std::to_string(i * lanes_width / 8) + "];\n";
  text += f.name + " [%b], " + registers(s.count, reg) + ";\n";
  if (elsewhere) text += "ld." + s.space + ".u64 %d2, [%b]; ld." + s.space + ".u64 %d3, [%b+8]; st.global.v2.u64 [%y], {%d2, %d3};\n";
  text += "ret;\n}\n";
  std::vector<u8> x(512), y(512), want(512);
  for (int i = 0; i < 512; ++i) x[static_cast<size_t>(i)] = static_cast<u8>((i * 37 + 11) % 256);
  for (size_t t = 0; t < 32; ++t)
    for (int i = 0; i < s.count; ++i)
      std::memcpy(want.data() + 16 * t + i * width / 8, x.data() + 16 * t + i * lanes_width / 8, static_cast<size_t>(width) / 8);
  Memory memory;
  std::vector<uint8_t> arguments = pack_arguments(map(memory, "x", x), map(memory, "y", y));
  arguments.resize(32);
  run_text(text, memory, arguments);
  EXPECT_EQ(y, want);
}

TEST(MemoryForms, LoadsAndStoresOfEverySpaceTypeAndVector) {
  int tested = 0;
  for (const Form& f : all_forms()) {
    if (f.name.starts_with("st.async")) continue;  // bulk_test.cc
    if (f.name.starts_with("ld.")) check_load(f), ++tested;
    if (f.name.starts_with("st.")) check_store(f), ++tested;
  }
  EXPECT_GT(tested, 200);
}

// What an atomic makes of (old, operand, second operand).
u64 updated(const Name& n, u64 a, u64 b, u64 c) {
  const std::string& t = n.type();
  const int width = reference::bits_in(t);
  auto half_sum = [&](const std::string& h, int shift) {
    return reference::to_small(reference::value(a >> shift, h) + reference::value(b >> shift, h), h) << shift;
  };
  if (n.has("add") && t == "f32")
    return reference::bits(reference::as<float>(static_cast<u32>(a)) + reference::as<float>(static_cast<u32>(b)));
  if (n.has("add") && t == "f64") return reference::bits(reference::as<double>(a) + reference::as<double>(b));
  if (n.has("add") && (t == "f16" || t == "bf16")) return half_sum(t, 0);
  if (n.has("add") && t.ends_with("x2")) return half_sum(t.substr(0, t.size() - 2), 0) | half_sum(t.substr(0, t.size() - 2), 16);
  if (n.has("add")) return reference::low(a + b, width);
  if (t.ends_with("f16") || t.ends_with("f16x2")) {
    const std::string h = t.ends_with("x2") ? t.substr(0, t.size() - 2) : t;
    u64 result = 0;
    for (int shift = 0; shift < width; shift += 16) {
      const bool first = (reference::value(a >> shift, h) < reference::value(b >> shift, h)) == n.has("min");
      result |= ((first ? a : b) >> shift & 0xffff) << shift;
    }
    return result;
  }
  if (n.has("min")) return reference::integer(a, t) < reference::integer(b, t) ? a : b;
  if (n.has("max")) return reference::integer(a, t) > reference::integer(b, t) ? a : b;
  if (n.has("and")) return a & b;
  if (n.has("or")) return a | b;
  if (n.has("xor")) return a ^ b;
  if (n.has("exch")) return b;
  if (n.has("inc")) return a >= b ? 0 : a + 1;
  if (n.has("dec")) return a == 0 || a > b ? b : a - 1;
  return a == b ? c : a;  // cas
}

// 32 threads update two cells in turn (even and odd threads): the old values come back in order of lanes.
void check_atomic(const Form& f) {
  SCOPED_TRACE(f.name);
  const Name n(f.name);
  const bool returns = n.base() == "atom", cas = n.has("cas");
  const int width = reference::bits_in(n.type()),
            count = n.has("v8")   ? 8
                    : n.has("v4") ? 4
                    : n.has("v2") ? 2
                                  : 1,
            bytes = width / 8 * count;
  const std::string reg = width == 64 ? "d" : width == 16 ? "h" : "r", u = "u" + std::to_string(width), w = std::to_string(width / 8);
  const std::string space = n.has("shared") ? "shared" : n.has("shared::cluster") ? "shared::cluster" : "global";
  std::string text =
      ".version 8.7\n.target sm_90a\n.address_size 64\n.shared .align 16 .b8 smem[64];\n.visible .entry t(.param .u64 pc, .param .u64 pi, "
      ".param .u64 po) {\n";
  text +=
      ".reg .b64 %c, %i, %o, %b, %t, %d<12>; .reg .b32 %r<12>, %q<4>; .reg .b16 %h<12>; .reg .pred %p;\nld.param.u64 %c, [pc]; "
      "ld.param.u64 %i, [pi]; ld.param.u64 %o, [po]; mov.u32 %q0, %tid.x; mul.wide.u32 %t, %q0, 64; add.u64 %i, %i, %t; add.u64 %o, %o, "
      "%t;\nand.b32 %q1, %q0, 1; mul.wide.u32 %t, %q1, 16; add.u64 %c, %c, %t;\nmov.u64 %b, %c;\n";
  if (space != "global") {
    text += "mov.u32 %q2, smem; cvt.u32.u64 %q3, %t; add.u32 %q2, %q2, %q3;\n";
    if (space == "shared::cluster") text += "mapa.shared::cluster.u32 %q2, %q2, 0;\n";
    text += "cvt.u64.u32 %b, %q2; ld.global.v2.u64 {%d8, %d9}, [%c]; st." + space + ".u64 [%b], %d8; st." + space +
            ".u64 [%b+8], %d9; bar.sync 0;\n";
  }
  for (int k = 0; k < count + (cas ? 1 : 0); ++k)
    text += "ld.global." + u + " %" + reg + std::to_string(4 + k) + ", [%i+" + std::to_string(k * 8) + "];\n";
  auto list = [&](int first) {
    std::string s = count == 1 ? "" : "{";
    for (int k = 0; k < count; ++k) s += (k != 0 ? ", %" : "%") + reg + std::to_string(first + k);
    return s + (count == 1 ? "" : "}");
  };
  text += f.name + " " + (returns ? list(0) + ", " : "") + "[%b], " + list(4) + (cas ? ", %" + reg + "5" : "") + ";\n";
  for (int k = 0; returns && k < count; ++k)
    text += "st.global." + u + " [%o+" + std::to_string(k * 8) + "], %" + reg + std::to_string(k) + ";\n";
  if (space != "global")
    text += "bar.sync 0; ld." + space + ".u64 %d8, [%b]; ld." + space + ".u64 %d9, [%b+8]; st.global.v2.u64 [%c], {%d8, %d9};\n";
  text += "ret;\n}\n";

  std::mt19937_64 g(17);
  auto small = [&]() -> u64 {  // values for which float sums are exact, integers of both signs
    const std::string& t = n.type();
    if (t == "f32") return reference::bits(static_cast<float>(static_cast<int>(g() % 64) - 32));
    if (t == "f64") return reference::bits(static_cast<double>(static_cast<int>(g() % 64) - 32));
    if (t == "f16" || t == "bf16") return reference::to_small(static_cast<int>(g() % 8) - 4, t);
    if (t.ends_with("x2"))
      return reference::to_small(static_cast<int>(g() % 8) - 4, t.substr(0, t.size() - 2)) |
             reference::to_small(static_cast<int>(g() % 8) - 4, t.substr(0, t.size() - 2)) << 16;
    return reference::low(n.has("inc") || n.has("dec") || cas ? g() % 4 : g(), width);
  };
  std::vector<u8> cells(32), want_cells(32);
  std::vector<u64> in(256), out(256), want_out(256);
  for (int cell = 0; cell < 2; ++cell)
    for (int k = 0; k < count; ++k) {
      const u64 v = small();
      std::memcpy(cells.data() + 16 * cell + k * width / 8, &v, static_cast<size_t>(width) / 8);
    }
  for (u64& v : in) v = small();
  want_cells = cells;
  for (size_t t = 0; t < 32; ++t) {
    for (int k = 0; k < count; ++k) {
      u8* cell = want_cells.data() + 16 * (t % 2) + static_cast<size_t>(k * width / 8);
      u64 old = 0;
      std::memcpy(&old, cell, static_cast<size_t>(width) / 8);
      if (returns) want_out[8 * t + static_cast<size_t>(k)] = old;
      const u64 next = updated(n, old, in[8 * t + static_cast<size_t>(k)], in[8 * t + 1]);
      std::memcpy(cell, &next, static_cast<size_t>(width) / 8);
    }
  }
  Memory memory;
  run_text(text, memory, pack_arguments(map(memory, "cells", cells), map(memory, "in", in), map(memory, "out", out)));
  EXPECT_EQ(std::vector<u8>(cells.begin(), cells.begin() + bytes), std::vector<u8>(want_cells.begin(), want_cells.begin() + bytes));
  EXPECT_EQ(cells[16], want_cells[16]);
  EXPECT_EQ(out, want_out);
}

TEST(MemoryForms, AtomicsOfEverySpaceTypeAndOperation) {
  int tested = 0;
  for (const Form& f : all_forms())
    if (f.name.starts_with("atom.") || (f.name.starts_with("red.") && !f.name.starts_with("red.async"))) check_atomic(f), ++tested;
  EXPECT_GT(tested, 150);
}

TEST(MemoryForms, AddressConversion) {
  std::vector<u64> y(16);
  Memory memory;
  const std::string text = kHead + table_bytes() + R"(.visible .entry t(.param .u64 py, .param .align 8 .b8 block[8]) {
.local .align 8 .b8 depot[8];
.reg .b64 %y, %a<8>; .reg .b32 %r<4>; .reg .pred %p<6>;
ld.param.u64 %y, [py];
mov.u64 %a0, smem; cvta.shared.u64 %a1, %a0; mov.u32 %r0, 77; st.u32 [%a1], %r0; ld.shared.u32 %r1, [smem]; st.global.u32 [%y], %r1;
cvta.to.shared.u64 %a2, %a1; sub.u64 %a2, %a2, %a0; st.global.u64 [%y+8], %a2;
mov.u64 %a0, depot; cvta.local.u64 %a3, %a0; st.u32 [%a3+4], %r0; ld.local.u32 %r1, [depot+4]; st.global.u32 [%y+16], %r1; cvta.to.local.u64 %a4, %a3; st.global.u64 [%y+24], %a4;
mov.b64 %a0, block; cvta.param.u64 %a5, %a0; ld.u64 %a6, [%a5]; st.global.u64 [%y+32], %a6; cvta.to.param.u64 %a6, %a5; sub.u64 %a6, %a6, %a0; st.global.u64 [%y+40], %a6;
cvta.global.u64 %a6, %y; cvta.to.global.u64 %a6, %a6; sub.u64 %a6, %a6, %y; st.global.u64 [%y+48], %a6;
isspacep.shared %p0, %a1; isspacep.local %p1, %a3; isspacep.param %p2, %a5; isspacep.global %p3, %y; isspacep.shared::cluster %p4, %a3; isspacep.global %p5, %a1;
selp.b32 %r0, 1, 0, %p0; selp.b32 %r1, 2, 0, %p1; or.b32 %r0, %r0, %r1; selp.b32 %r1, 4, 0, %p2; or.b32 %r0, %r0, %r1; selp.b32 %r1, 8, 0, %p3; or.b32 %r0, %r0, %r1;
selp.b32 %r1, 16, 0, %p4; or.b32 %r0, %r0, %r1; selp.b32 %r1, 32, 0, %p5; or.b32 %r0, %r0, %r1; st.global.u32 [%y+56], %r0;
mapa.u64 %a7, %a1, 0; ld.u32 %r1, [%a7]; st.global.u32 [%y+64], %r1; mapa.shared::cluster.u64 %a7, smem, 0; ld.shared::cluster.u32 %r1, [%a7]; st.global.u32 [%y+72], %r1;
prefetch.global.L2 [%y]; prefetchu.L1 [%y]; discard.global.L2 [%y], 128; createpolicy.fractional.L2::evict_first.b64 %a7, 1.0; ld.global.L2::cache_hint.u32 %r1, [%y], %a7;
ret; })";
  run_text(text, memory, pack_arguments(map(memory, "y", y), u64{4711}), 1);
  EXPECT_EQ(y, (std::vector<u64>{77, 0, 77, y[3], 4711, 0, 0, 15, 77, 77, 0, 0, 0, 0, 0, 0}));
  EXPECT_LT(y[3], 64u);  // an offset in local memory, not a generic address
}

}  // namespace
}  // namespace cutegen::vgpu
