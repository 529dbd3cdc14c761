#include "vgpu/ptx/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fs.h"
#include "vgpu/vgpu.h"

namespace cutegen::vgpu::ptx {
namespace {

using testing::HasSubstr;

const std::string kHead = ".version 8.7\n.target sm_90a\n.address_size 64\n";

Module parsed(const std::string& body) {
  auto m = parse(kHead + body, "t.ptx");
  EXPECT_TRUE(m.ok()) << (m.ok() ? "" : m.error().message);
  return m.ok() ? std::move(m).value() : Module{};
}
std::string error_of(const std::string& body) {
  auto m = parse(kHead + body, "t.ptx");
  EXPECT_FALSE(m.ok()) << body;
  return m.ok() ? "" : m.error().message;
}
Function function(const std::string& body) {
  Module m = parsed(".visible .entry k(.param .u64 p) {\n" + body + "\n}\n");
  EXPECT_EQ(m.functions.size(), 1u);
  Function f = m.functions.empty() ? Function{} : m.functions[0];
  static std::vector<std::shared_ptr<const std::string>> keep;  // opcodes point into the text
  keep.push_back(m.text);
  return f;
}

TEST(Parser, ReadsTheHeader) {
  const Module m = parsed("// nothing\n/* still\nnothing */");
  EXPECT_EQ(m.version_major, 8);
  EXPECT_EQ(m.version_minor, 7);
  EXPECT_EQ(m.target, "sm_90a");
}

TEST(Parser, RegistersByRangeAndName) {
  const Function f = function(".reg .b32 %r<5>, %r1x; .reg .pred %p<2>; mov.u32 %r4, %r1x; @!%p1 mov.u32 %r0, 1;");
  ASSERT_EQ(f.body.size(), 2u);
  EXPECT_EQ(f.registers[static_cast<size_t>(f.body[0].operands[0].reg)].name, "%r4");
  EXPECT_EQ(f.registers[static_cast<size_t>(f.body[0].operands[1].reg)].name, "%r1x");
  EXPECT_TRUE(f.body[1].guard_negated);
  EXPECT_EQ(f.registers[static_cast<size_t>(f.body[1].guard)].name, "%p1");
}

TEST(Parser, ScopesHideRegistersAndLabels) {
  const Function f = function(R"(.reg .b32 %r<2>;
    { .reg .b32 %r<2>; WAIT: mov.u32 %r0, 1; bra WAIT; }
    { .reg .b32 x; WAIT: mov.u32 x, 2; bra.uni WAIT; }
    mov.u32 %r0, 3;)");
  ASSERT_EQ(f.body.size(), 5u);
  EXPECT_NE(f.body[0].operands[0].reg, f.body[4].operands[0].reg);
  EXPECT_EQ(f.body[1].operands[0].index, 0);
  EXPECT_EQ(f.body[3].operands[0].index, 2);
}

TEST(Parser, OperandsOfEveryKind) {
  const Function f = function(R"(.reg .b32 %r<9>; .reg .b64 %rd<3>; .reg .pred %p<3>;
    setp.lt.and.s32 %p0|%p1, %r0, -7, !%p2;
    ld.global.v4.u32 {%r0, %r1,
        %r2, _}, [%rd0+-16];
    mov.f32 %r0, 0fBF800000; mov.f64 %rd0, -0d3FF0000000000000; mov.u32 %r1, %tid.y; mov.b32 %r2, 0xFFU;
    ld.param.u64 %rd1, [p+8]; add.f64 %rd1, %rd1, 1.5e-3; elect.sync _|%p0, -1;)");
  ASSERT_EQ(f.body.size(), 9u);
  EXPECT_GE(f.body[0].operands[0].reg2, 0);
  EXPECT_EQ(static_cast<int64_t>(f.body[0].operands[2].bits), -7);
  EXPECT_TRUE(f.body[0].operands[3].negated);
  EXPECT_EQ(f.body[1].operands[0].items.size(), 4u);
  EXPECT_EQ(f.body[1].operands[0].items[3].kind, Operand::Kind::sink);
  EXPECT_EQ(f.body[1].operands[1].offset, -16);
  EXPECT_EQ(f.body[1].opcode, "ld.global.v4.u32");
  EXPECT_EQ(f.body[2].operands[1].bits, 0xbf800000u);
  EXPECT_EQ(f.body[3].operands[1].bits, 0xbff0000000000000u);
  EXPECT_EQ(f.body[4].operands[1].name, "%tid.y");
  EXPECT_EQ(f.body[5].operands[1].bits, 255u);
  EXPECT_EQ(f.body[6].operands[1].items[0].kind, Operand::Kind::variable);
  EXPECT_EQ(f.body[6].operands[1].offset, 8);
  EXPECT_EQ(f.body[8].operands[0].reg, -1);
  EXPECT_GE(f.body[8].operands[0].reg2, 0);
}

TEST(Parser, QualifiersWithDoubleColons) {
  const Function f = function(
      ".reg .b64 %rd<3>; .reg .b32 %r<9>; ld.global.L2::128B.u32 %r0, [%rd0]; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r0], %r1;");
  EXPECT_EQ(f.body[0].opcode, "ld.global.L2::128B.u32");
  EXPECT_EQ(f.body[1].opcode, "mbarrier.arrive.expect_tx.shared::cta.b64");
}

TEST(Parser, VariablesAndInitialisers) {
  const Module m = parsed(R"(.global .align 4 .b8 text[6] = {104, 101, 108, 108, 111};
.const .align 4 .f32 f[2] = {0f3F800000, 2.0};
.global .u64 pointer = generic(text)+2;
.extern .shared .align 1024 .b8 dynamic[];
.visible .global .u32 matrix[2][3];)");
  ASSERT_EQ(m.variables.size(), 5u);
  EXPECT_EQ(m.variables[0].bytes, 6u);
  EXPECT_EQ(m.variables[0].init[4], 111);
  EXPECT_EQ(m.variables[1].init, (std::vector<uint8_t>{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40}));
  EXPECT_EQ(m.variables[2].relocations.at(0).symbol, "text");
  EXPECT_EQ(m.variables[2].relocations.at(0).addend, 2);
  EXPECT_EQ(m.variables[3].align, 1024u);
  EXPECT_EQ(m.variables[3].bytes, 0u);
  EXPECT_EQ(m.variables[4].bytes, 24u);
}

TEST(Parser, PerformanceDirectives) {
  const Module m = parsed(
      ".visible .entry k()\n.maxntid 256, 2, 1\n.minnctapersm 2\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n{ .pragma \"nounroll\"; "
      "ret; }");
  EXPECT_EQ(m.functions[0].max_threads[1], 2u);
  EXPECT_EQ(m.functions[0].cluster[0], 2u);
}

TEST(Parser, LinesAndInlining) {
  const Module m = parsed(R"(.visible .entry k() {
.loc 1 10 3
ret;
.loc 2 5 1, function_name $L__info_string0, inlined_at 1 12 7
ret;
}
.file 1 "a.cu"
.file 2 "b.h", 17, 99
.section .debug_str { $L__info_string0: .b8 97, 0 }
)");
  const Loc& first = m.locs[static_cast<size_t>(m.functions[0].body[0].loc)];
  const Loc& second = m.locs[static_cast<size_t>(m.functions[0].body[1].loc)];
  EXPECT_EQ(first.line, 10u);
  EXPECT_EQ(m.file_path(second.file), "b.h");
  ASSERT_GE(second.inlined_at, 0);
  EXPECT_EQ(m.locs[static_cast<size_t>(second.inlined_at)].line, 12u);
}

TEST(Parser, ErrorsNameFileLineAndText) {
  EXPECT_THAT(error_of(".visible .entry k() {\n mov.u32 %r1, 5;\n}"), HasSubstr("t.ptx:5: "));
  EXPECT_THAT(error_of(".visible .entry k() {\n bra NOWHERE;\n}"), HasSubstr("undefined name 'NOWHERE': `bra NOWHERE;`"));
  EXPECT_THAT(error_of(".visible .entry k() {\n ret;\n"), HasSubstr("unterminated function body"));
  EXPECT_THAT(error_of(".bogus 3;"), HasSubstr("unknown directive"));
  EXPECT_THAT(error_of(".visible .entry k() { .reg .b32 %r<4000000000>; }"), HasSubstr("too many registers"));
  EXPECT_THAT(error_of(".visible .entry k() { L: ret; L: ret; }"), HasSubstr("defined twice"));
  EXPECT_FALSE(parse("", "empty").ok());
  EXPECT_FALSE(parse("\x01\xff", "garbage").ok());
}

TEST(Load, RefusesUnknownInstructionsWithTheirText) {
  auto p = load_ptx(kHead + ".visible .entry k() {\n.reg .b32 %r<3>;\n frobnicate.u32 %r1, %r2;\n ret; }", "t.ptx");
  ASSERT_FALSE(p.ok());
  EXPECT_THAT(p.error().message, HasSubstr("t.ptx:6: unsupported instruction frobnicate.u32: `frobnicate.u32 %r1, %r2;`"));
}

TEST(Load, RefusesWhatDoesNotFitARecord) {
  auto error = [](const std::string& body) {
    auto p = load_ptx(kHead + ".visible .entry k() {\n.reg .b32 %r<3>; .reg .b64 %rd<2>; .reg .pred %p;\n" + body + "\n ret; }", "t.ptx");
    EXPECT_FALSE(p.ok()) << body;
    return p.ok() ? "" : p.error().message;
  };
  EXPECT_THAT(error("add.u32 %r0, %r1;"), HasSubstr("too few operands"));
  EXPECT_THAT(error("add.u32 %r0, %r1, %r2, %r2;"), HasSubstr("too many operands"));
  EXPECT_THAT(error("add.u32 %r0, %r1, %p;"), HasSubstr("predicate and data registers mixed up"));
  EXPECT_THAT(error("ld.global.v2.u32 %r0, [%rd0];"), HasSubstr("wrong number of registers"));
  EXPECT_THAT(error("add.u32 5, %r1, %r2;"), HasSubstr("not a register"));
}

TEST(Load, RefusesVariablesTooLargeForTheirSpace) {
  auto p = load_ptx(kHead + ".visible .entry k() { .local .b8 depot[4000000000]; ret; }", "t.ptx");
  ASSERT_FALSE(p.ok());
  EXPECT_THAT(p.error().message, HasSubstr("'depot' of 4000000000 bytes is too large"));
}

TEST(Load, RefusesRecursion) {
  auto p = load_ptx(kHead + ".func f() { call f; ret; }\n.visible .entry k() { call f; ret; }", "t.ptx");
  ASSERT_FALSE(p.ok());
  EXPECT_THAT(p.error().message, HasSubstr("recursion is not supported"));
}

// Cuts and damages real text: an error or a module, never a crash.
TEST(Load, SurvivesDamagedText) {
  const auto text = read_file(std::string(CUTEGEN_SOURCE_DIR) + "/tests/vgpu/fixtures/faults.ptx");
  ASSERT_TRUE(text.ok());
  uint64_t state = 1;
  int refused = 0;
  for (int i = 0; i < 400; ++i) {
    std::string damaged = *text;
    for (int k = 0; k < 3; ++k) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const size_t at = (state >> 33) % damaged.size();
      if (state >> 62 == 0)
        damaged.resize(at + 1);
      else
        damaged[at] = static_cast<char>(state >> 20);
    }
    refused += !load_ptx(damaged, "damaged.ptx").ok();
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace cutegen::vgpu::ptx
