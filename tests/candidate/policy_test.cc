#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "candidate/candidate.h"

namespace cutegen {
namespace {

// A candidate that breaks no rule; `extra` goes in front of its kernel.
std::string source_with(const std::string& extra) {
  return "#include <cutegen/kernel.cuh>\n#include <task.h>\n#include <cute/tensor.hpp>\n" + extra +
         "\nextern \"C\" __global__ void __launch_bounds__(256) k(float const* x, float* y) {\n"
         "  auto t = cute::make_tensor(cute::make_gmem_ptr(x), cute::make_layout(cute::Int<256>{}));\n"
         "  y[threadIdx.x] = t(threadIdx.x);\n}\n"
         "CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(k).grid(1).block(256).args(cutegen::input(0), cutegen::output(0))));\n";
}

std::vector<PolicyFinding> check(const std::string& source, Backend backend = Backend::cute) {
  Candidate candidate;
  candidate.source = source;
  candidate.backend = backend;
  return check_policy(candidate);
}

// The rules broken by `extra`, once each, in order.
std::vector<std::string> rules(const std::string& extra, Backend backend = Backend::cute) {
  std::vector<std::string> out;
  for (const PolicyFinding& f : check(source_with(extra), backend))
    if (out.empty() || out.back() != f.rule) out.push_back(f.rule);
  return out;
}

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Policy, AcceptsOrdinaryCandidates) {
  EXPECT_THAT(rules(""), IsEmpty());
  EXPECT_THAT(rules("#pragma unroll\n#include <cutlass/numeric_types.h>\n#include <cuda_fp16.h>\n#include <cuda/std/limits>\n#include "
                    "<cooperative_groups.h>"),
              IsEmpty());
  EXPECT_THAT(rules("template <class T> __device__ __forceinline__ T twice(T v) { return v + v; }"), IsEmpty());
  EXPECT_THAT(rules("CUTE_HOST_DEVICE constexpr int two() { return 2; }\nconstexpr int kTile = 128;"), IsEmpty());
  EXPECT_THAT(rules("struct Op { __device__ Op(int v) : v_(v) {} __device__ float operator()(float a) const { return a; } int v_; };"),
              IsEmpty());
  EXPECT_THAT(rules("__device__ float f(float v) {\n  __shared__ float tile[32];\n  extern __shared__ char raw[];\n  static constexpr int "
                    "n = 3;\n  auto g = [=] __device__(float a) { return a; };\n  return g(v);\n}"),
              IsEmpty());
  EXPECT_THAT(rules("__device__ float f(float v) { asm volatile(\"fma.rn.f32 %0, %0, %0, %0;\" : \"+f\"(v)); return v; }"), IsEmpty());
  EXPECT_THAT(rules("__device__ void wait() { cudaGridDependencySynchronize(); }"), IsEmpty());
}

TEST(Policy, WordsInCommentsAndStringsDoNotCount) {
  EXPECT_THAT(rules("// __device__ int state; k<<<1, 2>>>(); asm(\"exit;\")\n/* #include </etc/passwd> */"), IsEmpty());
  EXPECT_THAT(rules("__device__ const char text[] = \"k<<<1, 2>>>() __host__ main(\";"), IsEmpty());
  EXPECT_THAT(rules("__device__ const char text[] = R\"x(// __host__ \" )x\";"), IsEmpty());
}

TEST(Policy, HasExactlyOnePlan) {
  EXPECT_THAT(check("// CUTEGEN_PLAN(x)\n", Backend::cuda), ElementsAre(testing::Field(&PolicyFinding::rule, "has_plan")));
  EXPECT_THAT(rules("CUTEGEN_PLAN(cutegen::plan());"), ElementsAre("has_plan"));
}

TEST(Policy, IncludesOnlyTheAllowedHeaders) {
  for (const char* header : {"<torch/extension.h>", "<thread>", "<cub/cub.cuh>", "\"/etc/passwd\"", "<cutegen/../../../etc/passwd>",
                             "<cublas_v2.h>", "\"other.cuh\"", "<cuda_runtime_api.h/../x>"})
    EXPECT_THAT(rules(std::string("#include ") + header), ElementsAre("include_allowed")) << header;
  EXPECT_THAT(rules("#define WHAT <thread>\n#include WHAT"), ElementsAre("include_allowed"));
  EXPECT_THAT(rules("#include_next <cmath>"), ElementsAre("include_allowed"));
  EXPECT_THAT(rules("#inc\\\nlude <thread>"), ElementsAre("include_allowed"));
  EXPECT_THAT(rules("%: include <thread>"), ElementsAre("include_allowed"));
}

TEST(Policy, LimitsDirectives) {
  EXPECT_THAT(rules("#pragma nv_diag_suppress 177"), IsEmpty());
  EXPECT_THAT(rules("#pragma comment(lib, \"x\")"), ElementsAre("directive_allowed"));
  EXPECT_THAT(rules("#line 1 \"x.cu\""), ElementsAre("directive_allowed"));
  EXPECT_THAT(rules("#define PASTE(a, b) a##b"), ElementsAre("directive_allowed"));
  EXPECT_THAT(rules("#define CUTEGEN_LAUNCH(k) k"), ElementsAre("directive_allowed"));
  EXPECT_THAT(rules("#define __shared__"), ElementsAre("directive_allowed"));
}

TEST(Policy, HasNoHostCode) {
  EXPECT_THAT(rules("void run() { k<<<1, 2>>>(); }"), ElementsAre("no_host_code"));
  EXPECT_THAT(rules("int main() { return 0; }"), ElementsAre("no_host_code"));
  EXPECT_THAT(rules("__host__ void f() {}"), ElementsAre("no_host_code"));
  EXPECT_THAT(rules("__host__ __device__ inline int f() { return 1; }"), IsEmpty());
  EXPECT_THAT(rules("__device__ __host__ inline int f() { return 1; }"), IsEmpty());
  EXPECT_THAT(rules("void f() { cudaMalloc(nullptr, 1); }"), ElementsAre("no_host_code"));
  EXPECT_THAT(rules("void f() { getenv(\"HOME\"); }"), ElementsAre("no_host_code"));
  EXPECT_THAT(rules("torch::Tensor f();"), ElementsAre("no_host_code"));
}

TEST(Policy, InlineAsmDoesNotEndTheKernel) {
  for (const char* body : {"asm(\"exit;\");", "asm volatile(\"trap;\");", "asm volatile(\"{ mov.u32 %0, 1; \" \"@p exit; }\" :: );",
                           "__asm__ __volatile__(\"\\n\\texit;\");", "asm(\"brkpt;\");"})
    EXPECT_THAT(rules(std::string("__device__ void f() { ") + body + " }"), ElementsAre("no_asm_exit")) << body;
  EXPECT_THAT(rules("__device__ void f() { asm(\"// not_exit\\n mov.u32 %0, %exit_code;\"); }"), IsEmpty());
}

TEST(Policy, KeepsNoStateBetweenLaunches) {
  for (const char* state :
       {"__device__ int s;", "__device__ float s = 1.0f;", "__device__ int s[4];", "__device__ int s{0};", "__device__ int s(0);",
        "__managed__ int s;", "int __device__ s;", "static __device__ unsigned s;", "__device__ const float* s;",
        "__device__ alignas(16) int s;", "__device__ cute::array<int, 4> s;", "#define D __device__\nD int s;",
        "namespace a { __device__ int s; }", "struct A { int v; };\n__device__ A s;", "__device__ void f() { static int s = 0; ++s; }",
        "__dev\\\nice__ int s;", "#define S(n) static __device__ int n = 1\nS(s);", "#define S(t, n) static __device__ t n\nS(int, s) = 1;",
        "#define S(space, n) static space int n = 1\nS(__device__, s);"})
    EXPECT_THAT(rules(state), ElementsAre("no_persistent_state")) << state;
  for (const char* fine :
       {"__device__ const float s[2] = {1, 2};", "__device__ constexpr int s = 3;", "__constant__ float s[2] = {1, 2};",
        "const __device__ int s = 1;", "__device__ float* const s = nullptr;", "__device__ int f();", "static __device__ int f(int a);"})
    EXPECT_THAT(rules(fine), IsEmpty()) << fine;
}

TEST(Policy, SaysTheLineOfAStatefulVariable) {
  const auto findings = check(source_with("\n__device__ int s;"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].line, 5);
  EXPECT_THAT(findings[0].message, testing::HasSubstr("'s' keeps its value between launches"));
}

TEST(Policy, CuteBackendMustUseCute) {
  const std::string plan = "CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(k).grid(1).block(1).args()));\n";
  const std::string kernel = "extern \"C\" __global__ void k() {}\n";
  const auto broken = [&](const std::string& head) {
    return check(head + kernel + plan).size() == 1 && check(head + kernel + plan)[0].rule == "uses_cute";
  };
  EXPECT_TRUE(broken("#include <cute/tensor.hpp>\n"));
  EXPECT_TRUE(broken("#include <cute/tensor.hpp>\nusing namespace cute;\n// make_tensor(x)\n"));
  EXPECT_TRUE(broken("#include <cute/tensor.hpp>\nnamespace mine { template <class T> struct Tensor {}; using A = Tensor<int>; }\n"));
  EXPECT_TRUE(broken("#include <cute/tensor.hpp>\nusing T = mine::Tensor<int>;\nusing namespace cute;\n"));
  EXPECT_FALSE(broken("#include <cute/tensor.hpp>\nusing L = cute::Layout<cute::_1>;\n"));
  EXPECT_FALSE(
      broken("#include <cute/tensor.hpp>\nusing namespace cute;\nusing A = SM80_16x8x16_F32F16F16F32_TN;\nusing M = MMA_Atom<A>;\n"));
  EXPECT_TRUE(check("#include <cute/tensor.hpp>\n" + kernel + plan, Backend::cuda).empty());
}

TEST(PtxPolicy, FindsVariablesHoweverTheyWereSpelled) {
  const auto names = [](const std::string& ptx) {
    std::vector<std::string> out;
    for (const PolicyFinding& f : check_ptx_policy(ptx)) out.push_back(f.message.substr(0, f.message.find("' ") + 1));
    return out;
  };
  EXPECT_THAT(names(".visible .global .align 4 .u32 calls;\n"), ElementsAre("'calls'"));
  EXPECT_THAT(names(".visible .global .align 4 .u32 calls = 7;\n"), ElementsAre("'calls'"));
  EXPECT_THAT(names(".global .align 4 .u32 hidden;\n.global .align 4 .b8 table[16];\n"), ElementsAre("'hidden'", "'table'"));
  EXPECT_THAT(names(".global .align 16 .b8 cutegen_plan[8] = {1, 2};\n.global .align 4 .b8 table[8] = {1, 2};\n"), IsEmpty());
  EXPECT_THAT(names(".global .align 1 .b8 _ZN4cute1_E[1];\n.global .align 1 .b8 tag;\n"), IsEmpty());
  EXPECT_THAT(names("{ .reg .u32 %a; .global .u32 inner; }\n.weak\t.global .u32 w = 1;\n"), ElementsAre("'inner'", "'w'"));
  EXPECT_THAT(names("\tcp.async.bulk.prefetch.L2.global [%rd1], 16;\n\tst.global .u32 [%rd1], %r1;\n"), IsEmpty());
  EXPECT_THAT(names("// .visible .global .u32 x;\n\tst.global.u32 [%rd1], %r1;\n\t@%p1 ld.global.u32 %r1, [%rd1];\n"), IsEmpty());
}

}  // namespace
}  // namespace cutegen
