#include "toolchain/diagnostics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/toolchain_data.h"

namespace cutegen {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// The diagnostics of a recorded log (made with nvcc 13.0.88 and CUTLASS 4.2.0 from the candidate of the same name).
std::vector<Diagnostic> recorded(const std::string& name, const std::string& source, const std::string& ptx = "") {
  return parse_diagnostics(test_text("data/" + name + ".log"), {source, ptx});
}
std::vector<Diagnostic> recorded(const std::string& name) { return recorded(name, test_text("bad_candidates/" + name + ".cu")); }

TEST(Diagnostics, SyntaxErrorComesBeforeItsWarnings) {
  const auto d = recorded("syntax_error");
  ASSERT_EQ(d.size(), 2u);
  EXPECT_EQ(d[0].severity, "error");
  EXPECT_EQ(d[0].file, "candidate.cu");
  EXPECT_EQ(d[0].message, "expected a \";\"");
  EXPECT_EQ(d[0].user_line, "candidate.cu:10: y[i] = v;");
  EXPECT_EQ(d[0].cute_frame, "");
  EXPECT_EQ(d[1].severity, "warning");
  EXPECT_EQ(d[1].message, "variable \"v\" was declared but never referenced");
}

TEST(Diagnostics, StaticAssertionInCuteLeadsBackToTheUser) {
  const auto d = recorded("layout_mismatch");
  ASSERT_EQ(d.size(), 1u);
  EXPECT_EQ(d[0].file, "cute/atom/copy_atom.hpp");
  EXPECT_EQ(d[0].line, 111);
  EXPECT_EQ(d[0].message, "static assertion failed: CopyAtom: Src/Dst partitioning does not match the instruction requirement.");
  EXPECT_THAT(d[0].user_line, HasSubstr("copy(Copy_Atom<UniversalCopy<uint128_t>, float>{}, from, to);"));
  EXPECT_EQ(d[0].cute_frame, "cute/atom/copy_atom.hpp:111 in cute::Copy_Atom<...>::call");
}

TEST(Diagnostics, TheFirstOfManyErrorsIsTheCause) {
  const auto d = recorded("tiled_copy", test_text("data/tiled_copy.cu"));
  ASSERT_EQ(d.size(), 8u);
  EXPECT_EQ(d[0].message, "static assertion failed: TiledCopy uses too few vals for selected CopyAtom");
  EXPECT_THAT(d[0].user_line, StartsWith("candidate.cu:7: auto tc = make_tiled_copy("));
  EXPECT_EQ(d[0].cute_frame, "cute/atom/copy_atom.hpp:206 in cute::TiledCopy<...>");
  // A chain through several files: steps without a file are in the file of the error.
  EXPECT_EQ(d[1].message, "static assertion failed: logical_divide: Too many modes in tiler.");
  EXPECT_THAT(d[1].user_line, StartsWith("candidate.cu:10: auto bad = local_tile("));
  EXPECT_THAT(d[2].message,
              HasSubstr("no instance of overloaded function \"cute::make_layout\" matches the argument list argument types are: ("));
  for (const Diagnostic& one : d) EXPECT_LE(one.message.size(), 410u);
}

TEST(Diagnostics, PlanRulesNameTheLineOfThePlan) {
  const auto d = recorded("scalar_for_pointer");
  ASSERT_EQ(d.size(), 1u);
  EXPECT_EQ(d[0].file, "cutegen/plan/launch.cuh");
  EXPECT_THAT(d[0].message, HasSubstr("a scalar is given for a pointer parameter"));
  EXPECT_THAT(d[0].user_line, HasSubstr("CUTEGEN_LAUNCH(twice)"));
  EXPECT_EQ(d[0].cute_frame, "");
}

TEST(Diagnostics, NoMatchingOverloadSaysWithWhatItWasCalled) {
  const auto d = recorded("wrong_mma_operands");
  ASSERT_GE(d.size(), 1u);
  EXPECT_THAT(d[0].message,
              StartsWith("no instance of overloaded function \"gemm\" matches the argument list argument types are: (cute::TiledMMA<"));
  EXPECT_THAT(d[0].user_line, HasSubstr("gemm("));
}

TEST(Diagnostics, EndlessRecursion) {
  const auto d = recorded("infinite_recursion");
  ASSERT_EQ(d.size(), 1u);
  EXPECT_THAT(d[0].message, StartsWith("excessive recursion at instantiation of function"));
  EXPECT_THAT(d[0].user_line, HasSubstr("return deeper<N + 1>(v) + 1;"));
}

TEST(Diagnostics, MissingHeaderOfGcc) {
  const auto d = recorded("unknown_header");
  ASSERT_EQ(d.size(), 1u);
  EXPECT_EQ(d[0].severity, "error");
  EXPECT_EQ(d[0].message, "cutegen/no_such_block.cuh: No such file or directory");
  EXPECT_THAT(d[0].user_line, HasSubstr("#include <cutegen/no_such_block.cuh>"));
}

TEST(Diagnostics, MissingHeaderOfClang) {
  const auto d = parse_diagnostics(
      "In file included from candidate.cu:1:\ncandidate.cu:2:10: fatal error: 'a.h' file not found\n#include <a.h>\n         ^~~~~\n1 "
      "error generated.\n",
      {"x\n#include <a.h>\n", ""});
  ASSERT_EQ(d.size(), 1u);
  EXPECT_EQ(d[0].message, "'a.h' file not found");
  EXPECT_EQ(d[0].user_line, "candidate.cu:2: #include <a.h>");
}

TEST(Diagnostics, PtxasErrorLeadsBackThroughLineInformation) {
  const auto d =
      recorded("unknown_instruction", test_text("bad_candidates/unknown_instruction.cu"), test_text("data/unknown_instruction.ptx"));
  ASSERT_EQ(d.size(), 2u);
  EXPECT_EQ(d[0].file, "candidate.ptx");
  EXPECT_EQ(d[0].line, 38);
  EXPECT_EQ(d[0].message, "Unknown modifier '.rx'");
  EXPECT_THAT(d[0].user_line, HasSubstr("asm(\"fma.rx.f32"));
}

TEST(Diagnostics, PtxasErrorsWithoutALine) {
  const auto d = recorded("static_smem_too_large");
  ASSERT_EQ(d.size(), 1u);
  EXPECT_EQ(d[0].message, "Entry function 'twice' uses too much shared data (0x61a80 bytes, 0x38c00 max)");
  const auto extern_function = parse_diagnostics("ptxas fatal   : Unresolved extern function 'helper'\n", {});
  ASSERT_EQ(extern_function.size(), 1u);
  EXPECT_EQ(extern_function[0].severity, "error");
}

TEST(Diagnostics, AdvisoriesOfPtxasAreKept) {
  const auto d = parse_diagnostics(test_text("data/wgmma_wait.log"), {test_text("data/wgmma_wait.cu"), test_text("data/wgmma_wait.ptx")});
  ASSERT_EQ(d.size(), 4u);
  EXPECT_EQ(d[0].severity, "advisory");
  EXPECT_THAT(d[0].message, StartsWith("(C7517) warpgroup.wait is injected"));
  EXPECT_THAT(d[0].user_line, StartsWith("candidate.cu:13: for (int k = 0; k < 4; ++k)"));
}

TEST(Diagnostics, DuplicatesAreFolded) {
  const std::string one = "candidate.cu(1): error: identifier \"q\" is undefined\n    q;\n    ^\n\n";
  const auto d = parse_diagnostics(one + one + "candidate.cu(2): error: identifier \"q\" is undefined\n" + one, {"q;\nq;\n", ""});
  ASSERT_EQ(d.size(), 2u);
  EXPECT_EQ(d[0].repeats, 3);
  EXPECT_EQ(d[1].line, 2);
}

TEST(Diagnostics, NvccSpeaksForItself) {
  const auto d = parse_diagnostics("nvcc error   : 'cicc' died due to signal 11 (Invalid memory reference)\n", {});
  ASSERT_EQ(d.size(), 1u);
  EXPECT_EQ(d[0].message, "nvcc: 'cicc' died due to signal 11 (Invalid memory reference)");
}

TEST(Diagnostics, ShortensFunctionsAndPaths) {
  EXPECT_EQ(short_function("void cute::copy(const cute::Copy_Atom<A, B> &, int) [with A=<int>]"), "cute::copy");
  EXPECT_EQ(short_function("auto cute::Tensor<Engine, Layout>::operator()(const Coord &) const [with Coord=int]"),
            "cute::Tensor<...>::operator()");
  EXPECT_EQ(short_function("cute::TiledCopy<A, cute::Layout<B>> [with A=int]"), "cute::TiledCopy<...>");
  EXPECT_EQ(as_included("/opt/cutlass/include/cute/atom/copy_atom.hpp"), "cute/atom/copy_atom.hpp");
  EXPECT_EQ(as_included("./task.h"), "task.h");
  EXPECT_EQ(as_included("/build/x/candidate.cu"), "candidate.cu");
}

TEST(Diagnostics, LineInformationFollowsInlinedFunctions) {
  const std::string ptx =
      ".entry k(\n)\n{\n\t.loc\t1 7 3\n\t.loc\t2 241 7, function_name $L0, inlined_at 1 7 3\n\t.loc\t3 171 7, function_name $L1, "
      "inlined_at 2 241 7\n\tadd;\n}\n\t.file\t1 \"candidate.cu\"\n\t.file\t2 \"a.h\"\n\t.file\t3 \"b.h\"\n";
  EXPECT_EQ(source_line_of_ptx(ptx, 7), 7);
  EXPECT_EQ(source_line_of_ptx(ptx, 4), 7);
  EXPECT_EQ(source_line_of_ptx(ptx, 3), 0);
  EXPECT_EQ(source_line_of_ptx(ptx, 1000), 7);
  EXPECT_EQ(source_line_of_ptx("", 5), 0);
}

TEST(Diagnostics, SurvivesEveryCutOffLog) {
  for (const char* name : {"scalar_for_pointer", "unknown_instruction", "unknown_header"}) {
    const std::string log = test_text(std::string("data/") + name + ".log");
    for (size_t n = 0; n <= log.size(); ++n) parse_diagnostics(std::string_view(log).substr(0, n), {"a\nb\n", ""});
  }
}

TEST(BuildFailure, SummaryIsShortAndStartsWithTheCause) {
  BuildFailure failure;
  failure.stage = "nvcc";
  failure.diagnostics = recorded("tiled_copy", test_text("data/tiled_copy.cu"));
  const std::string text = failure.summary();
  EXPECT_THAT(text,
              StartsWith("build failed (nvcc)\ncute/atom/copy_atom.hpp:206: error: static assertion failed: TiledCopy uses too few vals"));
  EXPECT_THAT(text, HasSubstr("\n  at candidate.cu:7: auto tc"));
  EXPECT_THAT(text, HasSubstr("\n  in cute/atom/copy_atom.hpp:206 in cute::TiledCopy<...>\n"));
  EXPECT_THAT(text, HasSubstr("and 5 more\n"));
  EXPECT_LT(text.size(), 2000u);
}

}  // namespace
}  // namespace cutegen
