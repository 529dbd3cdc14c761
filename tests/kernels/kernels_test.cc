// The playbook's kernels, executed: traced by the real oracle, built by the real compiler, run on the virtual GPU and judged against
// float64. Beside them wrong kernels, which the same judge must refuse for the right reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "base/fs.h"
#include "device/virtual/virtual_device.h"
#include "judge/judge.h"
#include "oracle/python_oracle.h"
#include "propose/playbook/playbook.h"
#include "task/analysis.h"
#include "toolchain/nvcc.h"

namespace cutegen {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const fs::path kRoot = CUTEGEN_SOURCE_DIR;

// A module in KernelBench's convention: `init` runs in its constructor, `forward` and `inputs` are expressions.
std::string module_text(const std::string& forward, const std::string& inputs, const std::string& init = "pass") {
  return "import torch\nimport torch.nn as nn\n\n\nclass Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n        " +
         init + "\n\n    def forward(self, x, y=None):\n        return " + forward + "\n\n\ndef get_inputs():\n    return [" + inputs +
         "]\n\n\ndef get_init_inputs():\n    return []\n";
}

// A task, and what is needed to judge candidates for it; skips where the machine lacks a part.
class ExecutedTest : public testing::Test {
 protected:
  void open(const fs::path& task) {
    ToolchainConfig tools;
    tools.places.data = kRoot;
    auto toolchain = make_nvcc_toolchain(tools);
    if (!toolchain.ok() && toolchain.error().code == Errc::missing_dependency) GTEST_SKIP() << toolchain.error().message;
    ASSERT_TRUE(toolchain.ok()) << toolchain.error().message;
    toolchain_ = std::move(*toolchain);
    if (const auto python = find_python(); !python.ok()) GTEST_SKIP() << python.error().message;
    OracleConfig config;
    config.task = task;
    config.device = "cpu";
    config.package_dir = kRoot / "python";
    auto oracle = start_python_oracle(config);
    ASSERT_TRUE(oracle.ok()) << oracle.error().message;
    oracle_ = std::move(*oracle);
    auto device = open_virtual_device({.threads = 2});
    ASSERT_TRUE(device.ok()) << device.error().message;
    device_ = std::move(*device);
    auto sanitizer = open_virtual_device({.checks = DeviceChecks::full});
    ASSERT_TRUE(sanitizer.ok()) << sanitizer.error().message;
    sanitizer_ = std::move(*sanitizer);
  }
  void open_module(const std::string& text) {
    auto folder = TempDir::make("kernels-test-");
    ASSERT_TRUE(folder.ok());
    folder_ = std::move(*folder);
    ASSERT_TRUE(write_file_atomic(folder_->path() / "module.py", text).ok());
    open(folder_->path() / "module.py");
  }
  Verdict judge(const Candidate& candidate) {
    JudgePolicy policy;
    policy.time = false;
    auto verdict = Judge(*oracle_, *toolchain_, *device_).evaluate(candidate, policy, Deadline::in(system_clock(), Seconds(500)));
    if (verdict.ok()) return std::move(*verdict);
    ADD_FAILURE() << verdict.error().message << "\n" << verdict.error().detail;
    return {};
  }
  // One run under every check of the virtual GPU.
  Verdict judge_with_all_checks(const Candidate& candidate) {
    JudgePolicy policy;
    policy.time = false;
    policy.trials = {{.seed = 1}};
    auto verdict = Judge(*oracle_, *toolchain_, *sanitizer_).evaluate(candidate, policy, Deadline::in(system_clock(), Seconds(500)));
    if (verdict.ok()) return std::move(*verdict);
    ADD_FAILURE() << verdict.error().message << "\n" << verdict.error().detail;
    return {};
  }
  // The playbook's candidate after `moves` that each follow from the one before.
  Candidate proposed(const std::string& arch = "sm_90a", int sm_count = 132, int moves = 0) {
    const Task& task = oracle_->task();
    const auto proposer = make_playbook(kRoot / "kernels");
    const Analysis analysis = analyse(task, rates_for("NVIDIA H200"));
    std::vector<Attempt> attempts;
    while (true) {
      auto proposal = proposer->propose({.task = task, .analysis = analysis, .attempts = attempts, .arch = arch, .sm_count = sm_count});
      if (!proposal.ok()) return ADD_FAILURE() << proposal.error().message, Candidate{};
      if (!proposal->has_value()) return ADD_FAILURE() << "the playbook has nothing for " << task.name, Candidate{};
      const int id = static_cast<int>(attempts.size());
      if (id == moves) return (*proposal)->candidate;
      attempts.push_back({id, (*proposal)->parent, (*proposal)->candidate, true, 1.0 / (1 + id), "", {}});
    }
  }

  std::optional<TempDir> folder_;
  std::unique_ptr<Toolchain> toolchain_;
  std::unique_ptr<Oracle> oracle_;
  std::unique_ptr<Device> device_, sanitizer_;
};

// The playbook's first candidate for a task, or one a few moves from it. `strategy` is what this case is here to execute: when the playbook
// comes to prefer another one for the shape, the case needs another shape.
struct Case {
  std::string name;  // of a file under cases/, unless `text` is given
  std::string strategy;
  std::string text = {};
  std::string arch = "sm_90a";  // that the playbook writes for; sm_80 has no wgmma
  int sm_count = 132;           // ... and how many SMs; one: a few rows are many already
  int moves = 0;                // from the first candidate
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class KernelTest : public ExecutedTest, public testing::WithParamInterface<Case> {};

TEST_P(KernelTest, IsVerifiedOnTheVirtualGpu) {
  const Case& c = GetParam();
  c.text.empty() ? open(kRoot / "tests/kernels/cases" / (c.name + ".py")) : open_module(c.text);
  if (IsSkipped() || HasFatalFailure()) return;
  const Candidate candidate = proposed(c.arch, c.sm_count, c.moves);
  EXPECT_EQ(json_or<std::string>(candidate.config, "strategy", "map"), c.strategy);
  const Verdict verdict = judge(candidate);
  EXPECT_TRUE(verdict.verified()) << "reached " << to_string(verdict.reached) << ": " << verdict.why << "\n"
                                  << to_string(verdict.outcome.kind) << " " << verdict.outcome.detail;
  EXPECT_EQ(verdict.device_kind, "virtual");
  EXPECT_GE(verdict.trials.size(), 8u) << "all distributions were tried";
  const Verdict sanitized = judge_with_all_checks(candidate);
  EXPECT_TRUE(sanitized.verified()) << sanitized.why;
  for (const CheckEvidence& check : sanitized.checks) EXPECT_TRUE(check.passed) << check.name << ": " << check.detail;
}

INSTANTIATE_TEST_SUITE_P(
    Playbook, KernelTest,
    testing::Values(Case{"broadcast_both", "map"}, Case{"scalar_map", "map"}, Case{"two_maps", "map"},
                    Case{"map_half_odd", "map", module_text("x * y + 0.5", "torch.randn(3, 1667).half(), torch.randn(3, 1).half()")},
                    Case{"softmax_odd_rows", "registers"},
                    Case{"softmax_stream", "stream", module_text("torch.softmax(x, dim=1)", "torch.randn(3, 40003)"), "sm_90a", 1},
                    Case{"softmax_cluster_of_four", "cluster", module_text("torch.softmax(x, dim=1)", "torch.randn(3, 60001)"), "sm_90a", 1,
                         1},
                    Case{"softmax_tall_columns", "column_split", module_text("torch.softmax(x, dim=0)", "torch.randn(500, 33)")},
                    Case{"layer_norm_odd", "registers"},
                    Case{"layer_norm_bf16_rows", "registers",
                         module_text("self.norm(x)", "torch.randn(6, 1024).bfloat16()", "self.norm = nn.LayerNorm(1024).bfloat16()")},
                    Case{"two_reductions", "registers"}, Case{"mean_prime", "split"}, Case{"hinge_small", "registers"},
                    Case{"var_odd", "registers"}, Case{"group_norm", "registers"},
                    Case{"sum_tall_columns", "column_split", module_text("torch.sum(x, dim=0)", "torch.rand(10003, 3)")},
                    Case{"scan_rows", "scan_row"}, Case{"scan_odd_rows_product", "scan_row"}, Case{"scan_long_product", "scan_row"},
                    Case{"scan_reverse", "scan_row"}, Case{"scan_exclusive", "scan_row"}, Case{"scan_columns_masked", "scan_column"},
                    Case{"scan_columns_reverse_bf16", "scan_column"}, Case{"scan_integers", "scan_row"},
                    Case{"gemm_simt_ragged", "simt", module_text("x @ y", "torch.randn(67, 93), torch.randn(93, 45)")},
                    Case{"gemm_mma_sync_ragged", "mma_sync", module_text("x @ y", "torch.randn(67, 300), torch.randn(300, 44)"), "sm_80"},
                    Case{"gemm_wgmma_ragged", "wgmma", module_text("x @ y", "torch.randn(67, 300), torch.randn(300, 44)")}),
    [](const auto& tested) { return tested.param.name; });

// Wrong in ways that models really are wrong, in plain CUDA.
class WrongKernelTest : public ExecutedTest {
 protected:
  Verdict judge_source(const std::string& kernel, const std::string& launch) {
    Candidate candidate;
    candidate.backend = Backend::cuda;
    candidate.source = "#include <cutegen/kernel.cuh>\n#include <task.h>\n#include <cuda_fp16.h>\n\n" + kernel +
                       "\nCUTEGEN_PLAN(cutegen::plan(" + launch + ".args(cutegen::input(0), cutegen::output(0))));\n";
    Verdict verdict = judge(candidate);
    EXPECT_FALSE(verdict.build_failure) << verdict.build_failure->summary();
    EXPECT_FALSE(verdict.verified());
    return verdict;
  }
};

TEST_F(WrongKernelTest, TheTailElementIsNeverWritten) {
  open_module(module_text("torch.relu(x)", "torch.randn(4097)"));
  if (IsSkipped() || HasFatalFailure()) return;
  const Verdict verdict = judge_source(R"(
extern "C" __global__ void relu(float const* x, float* y) {
  int64_t const i = int64_t(blockIdx.x) * 256 + threadIdx.x;
  if (i < task::in0::elements) y[i] = x[i] < 0 ? 0.0f : x[i];
}
)",
                                       "CUTEGEN_LAUNCH(relu).grid(task::in0::elements / 256).block(256)");
  EXPECT_EQ(verdict.reached, Stage::ran) << verdict.why;
  EXPECT_TRUE(verdict.outcome.ok());
  ASSERT_EQ(verdict.trials.size(), 1u) << "the first trial shows it";
  EXPECT_EQ(verdict.trials[0].outputs.at(0).poison_left, 1);
}

TEST_F(WrongKernelTest, ARowTooManyIsRead) {
  open_module(module_text("torch.sum(x, dim=0)", "torch.randn(40, 96)"));
  if (IsSkipped() || HasFatalFailure()) return;
  const Verdict verdict = judge_source(R"(
extern "C" __global__ void column_sums(float const* x, float* y) {
  constexpr int rows = int(task::in0::shape[0]), columns = int(task::in0::shape[1]);
  float sum = 0;
  for (int row = 0; row <= rows; ++row) {
    float const value = x[row * columns + threadIdx.x];
    sum += row < rows ? value : 0 * value;
  }
  y[threadIdx.x] = sum;
}
)",
                                       "CUTEGEN_LAUNCH(column_sums).grid(1).block(96)");
  EXPECT_EQ(verdict.reached, Stage::built) << verdict.why;
  EXPECT_EQ(verdict.outcome.kind, OutcomeKind::illegal_address);
  EXPECT_THAT(verdict.outcome.detail, HasSubstr("column_sums"));
}

// One row of a softmax a CTA of 32, with `real` the type of its arithmetic and `shift` what is subtracted before exp.
std::string softmax_kernel(const std::string& real, const std::string& shift) {
  return R"(
using real = )" +
         real + R"(;
extern "C" __global__ void softmax(float const* x, float* y) {
  constexpr int n = int(task::in0::shape[1]);
  float const* row = x + blockIdx.x * n;
  float top = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < n; i += 32) top = fmaxf(top, row[i]);
  for (int lane = 16; lane > 0; lane /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, lane));
  for (int i = threadIdx.x; i < n; i += 32) sum += float(real(expf(float(real(row[i] - )" +
         shift + R"()))));
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(~0u, sum, lane);
  for (int i = threadIdx.x; i < n; i += 32) y[blockIdx.x * n + i] = float(real(expf(float(real(row[i] - )" +
         shift + R"())))) / sum;
}
)";
}

constexpr const char* kSoftmaxLaunch = "CUTEGEN_LAUNCH(softmax).grid(task::in0::shape[0]).block(32)";

TEST_F(WrongKernelTest, ASoftmaxInHalfPrecisionIsLessAccurateThanTheReference) {
  open_module(module_text("torch.softmax(x, dim=1)", "torch.randn(12, 200)"));
  if (IsSkipped() || HasFatalFailure()) return;
  const Verdict verdict = judge_source(softmax_kernel("__half", "top"), kSoftmaxLaunch);
  EXPECT_EQ(verdict.reached, Stage::ran) << verdict.why;
  EXPECT_TRUE(verdict.outcome.ok());
  EXPECT_GT(verdict.worst_error_ratio, 100);
  const Verdict right = judge(proposed());
  EXPECT_TRUE(right.verified()) << "the same judge accepts a right kernel: " << right.why;
}

TEST_F(WrongKernelTest, ASoftmaxThatDoesNotSubtractTheMaximumFailsOnlyOnWideInputs) {
  open_module(module_text("torch.softmax(x, dim=1)", "torch.randn(12, 200)"));
  if (IsSkipped() || HasFatalFailure()) return;
  const Verdict verdict = judge_source(softmax_kernel("float", "0"), kSoftmaxLaunch);
  EXPECT_EQ(verdict.reached, Stage::ran) << verdict.why;
  ASSERT_GE(verdict.trials.size(), 2u) << "the inputs as given do not show it";
  EXPECT_TRUE(verdict.trials[0].passed);
  EXPECT_EQ(verdict.trials.back().spec.distribution, Distribution::wide_exponent);
  EXPECT_GT(verdict.trials.back().outputs.at(0).nonfinite_mismatches, 0);
}

}  // namespace
}  // namespace cutegen
