#include <gtest/gtest.h>

#include "candidate/candidate.h"

namespace cutegen {
namespace {

const std::string kPtx = R"(.version 9.0
.target sm_90a
.visible .entry scale(
	.param .u64 scale_param_0
)
{
	.reg .b32 	%r<6>;
	.loc	1 4 0
	ld.param.u64 	%rd1, [scale_param_0];
	mov.u32 	%r1, %tid.x;
	setp.gt.u32 	%p1, %r1, 7;
	@%p1 bra 	$L__BB0_2;
	add.s32 	%r2, %r1, %envreg1;
	st.global.u32 	[%rd1], %r2;
$L__BB0_2:
	ret;
}
	.file	1 "candidate.cu"
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  return text;
}

TEST(NormalisedPtxHash, IgnoresNamesOfRegistersLabelsAndKernels) {
  const std::string hash = normalised_ptx_hash(kPtx);
  EXPECT_EQ(hash, normalised_ptx_hash(replaced(kPtx, "%r2", "%r17")));
  EXPECT_EQ(hash, normalised_ptx_hash(replaced(kPtx, "$L__BB0_2", "$L__BB4_7")));
  EXPECT_EQ(hash, normalised_ptx_hash(replaced(kPtx, "scale", "other_name")));
  EXPECT_EQ(hash, normalised_ptx_hash(replaced(kPtx, "%r<6>", "%r<9>")));
  EXPECT_EQ(hash, normalised_ptx_hash(replaced(kPtx, "\t.loc\t1 4 0\n", "\t.loc\t1 9 2\n// note\n")));
  EXPECT_EQ(hash, normalised_ptx_hash(replaced(kPtx, "candidate.cu", "/elsewhere/candidate.cu")));
}

TEST(NormalisedPtxHash, SeesWhatTheCodeDoes) {
  const std::string hash = normalised_ptx_hash(kPtx);
  EXPECT_NE(hash, normalised_ptx_hash(replaced(kPtx, "add.s32", "sub.s32")));
  EXPECT_NE(hash, normalised_ptx_hash(replaced(kPtx, "%r1, 7", "%r1, 8")));
  EXPECT_NE(hash, normalised_ptx_hash(replaced(kPtx, "%r1, %envreg1", "%r1, %r1")));
  EXPECT_NE(hash, normalised_ptx_hash(replaced(kPtx, "%envreg1", "%envreg2")));
  EXPECT_NE(hash, normalised_ptx_hash(replaced(kPtx, ".u64 scale_param_0", ".u32 scale_param_0")));
}

// nvcc puts a hash of the translation unit into the names of internal objects.
TEST(NormalisedPtxHash, IgnoresTheNameOfTheTranslationUnit) {
  const std::string a = ".global .align 1 .b8 _ZN40_INTERNAL_636a2fbd_12_candidate_cu_twice4cute1_E[1];\n";
  const std::string b = ".global .align 1 .b8 _ZN31_INTERNAL_b3f247d4_4_b_cu_scale4cute1_E[1];\n";
  EXPECT_EQ(normalised_ptx_hash(a + kPtx), normalised_ptx_hash(b + kPtx));
  EXPECT_NE(normalised_ptx_hash(a + kPtx), normalised_ptx_hash(kPtx));
}

// A __shared__ array is named after its kernel.
TEST(NormalisedPtxHash, IgnoresNamesOfVariables) {
  const auto with = [](const std::string& variable) {
    return "// demoted variable\n.shared .align 4 .b8 " + variable + "[64];\n" + replaced(kPtx, "%r1, 7", "%r1, " + variable);
  };
  EXPECT_EQ(normalised_ptx_hash(with("_ZZ5scaleE4tile")), normalised_ptx_hash(with("_ZZ5otherE4area")));
  EXPECT_NE(normalised_ptx_hash(with("_ZZ5scaleE4tile")), normalised_ptx_hash(replaced(with("_ZZ5scaleE4tile"), "[64]", "[65]")));
}

TEST(CandidateHash, DependsOnSourceAndBackend) {
  Candidate a;
  a.source = "x";
  Candidate b = a;
  b.origin = "elsewhere";
  EXPECT_EQ(a.hash(), b.hash());
  b.backend = Backend::cuda;
  EXPECT_NE(a.hash(), b.hash());
  b = a;
  b.source = "y";
  EXPECT_NE(a.hash(), b.hash());
}

}  // namespace
}  // namespace cutegen
