// The whole toolchain against the compilers of this machine, and against small scripts in their place.
#include "toolchain/nvcc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "support/toolchain_data.h"

namespace cutegen {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kTwice = R"(#include <cutegen/kernel.cuh>
#include <task.h>

extern "C" __global__ void __launch_bounds__(256) twice(float const* x, float* y, int64_t n) {
  __shared__ float tile[256];
  for (int64_t i = blockIdx.x * 256 + threadIdx.x; i < n; i += 256 * gridDim.x) {
    tile[threadIdx.x] = x[i];
    __syncthreads();
    y[i] = 2 * tile[threadIdx.x ^ 1];
    __syncthreads();
  }
}
CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(twice).grid(128).block(256).args(cutegen::input(0), cutegen::output(0), task::in0::elements)));
)";

Candidate cuda_candidate(const std::string& source) {
  Candidate candidate;
  candidate.source = source;
  candidate.backend = Backend::cuda;
  return candidate;
}

Deadline in_seconds(double s) { return Deadline::in(system_clock(), Seconds(s)); }

class NvccTest : public testing::Test {
 protected:
  NvccTest() : dir_(*TempDir::make("nvcc-test-")) {
    config_.places.data = CUTEGEN_SOURCE_DIR;
    config_.cache = dir_.path() / "cache";
  }
  void SetUp() override {
    if (const auto tools = tools_here(); !tools.ok()) GTEST_SKIP() << tools.error().message;
    auto made = make_nvcc_toolchain(config_);
    ASSERT_TRUE(made.ok()) << made.error().message;
    toolchain_ = std::move(*made);
  }
  std::shared_ptr<const Build> build(const std::string& source = kTwice) {
    const auto outcome = toolchain_->build(twice_task(), cuda_candidate(source), in_seconds(300));
    EXPECT_TRUE(outcome.ok()) << outcome.error().message;
    if (!outcome.ok()) return nullptr;
    EXPECT_FALSE(outcome->failure) << outcome->failure->summary();
    return outcome->build;
  }
  TempDir dir_;
  ToolchainConfig config_;
  std::unique_ptr<Toolchain> toolchain_;
};

TEST_F(NvccTest, BuildsAndFindsTheBuildAgain) {
  const auto first = build();
  ASSERT_TRUE(first);
  EXPECT_FALSE(first->cached);
  EXPECT_EQ(first->arch, "sm_90a");
  EXPECT_GT(first->seconds, 0);
  ASSERT_EQ(first->kernels.size(), 1u);
  EXPECT_EQ(first->kernels[0].name, "twice");
  EXPECT_GT(first->kernels[0].registers, 0);
  EXPECT_EQ(first->kernels[0].smem_bytes, 1024);
  ASSERT_EQ(first->plan.launches.size(), 1u);
  EXPECT_EQ(first->plan.launches[0].args[2].value, 32768u);
  const auto ptx = read_file(first->ptx);
  ASSERT_TRUE(ptx.ok());
  EXPECT_THAT(*ptx, HasSubstr(".file\t1 \"candidate.cu\""));
  EXPECT_THAT(*ptx, HasSubstr(".loc\t1 7"));
  EXPECT_EQ(read_file(first->cubin)->substr(1, 3), "ELF");

  const auto second = build();
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->cached);
  EXPECT_EQ(second->key, first->key);
  EXPECT_EQ(second->ptx, first->ptx);
  EXPECT_EQ(second->ptx_hash, first->ptx_hash);
  EXPECT_EQ(to_json(second->plan), to_json(first->plan));
  EXPECT_EQ(second->kernels[0].registers, first->kernels[0].registers);

  // Another source, the same code: another key, the same PTX hash.
  std::string renamed = kTwice;
  for (size_t at = renamed.find("twice"); at != std::string::npos; at = renamed.find("twice", at + 6)) renamed.replace(at, 5, "dauble");
  const auto third = build("// a comment\n" + renamed);
  ASSERT_TRUE(third);
  EXPECT_NE(third->key, first->key);
  EXPECT_EQ(third->ptx_hash, first->ptx_hash);
}

TEST_F(NvccTest, RebuildsADamagedEntry) {
  const auto first = build();
  ASSERT_TRUE(first);
  std::ofstream(first->cubin) << "not a cubin";
  const auto second = build();
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->cached);
  EXPECT_EQ(read_file(second->cubin)->substr(1, 3), "ELF");
}

TEST_F(NvccTest, CachesFailuresToo) {
  const std::string broken = std::string(kTwice) + "int x = y;\n";
  const auto first = toolchain_->build(twice_task(), cuda_candidate(broken), in_seconds(300));
  ASSERT_TRUE(first.ok() && first->failure);
  EXPECT_EQ(first->failure->diagnostics[0].message, "identifier \"y\" is undefined");
  EXPECT_THAT(*read_file(first->failure->raw_log), HasSubstr("error: identifier \"y\" is undefined"));
  // No compiler can answer in this time: it comes from the cache.
  const auto second = toolchain_->build(twice_task(), cuda_candidate(broken), in_seconds(0));
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(second->failure->summary(), first->failure->summary());
}

TEST_F(NvccTest, TheTaskIsPartOfTheKey) {
  const auto first = build();
  Task task = twice_task();
  task.inputs[0].shape = {64, 256};
  const auto second = toolchain_->build(task, cuda_candidate(kTwice), in_seconds(300));
  ASSERT_TRUE(first && second.ok() && second->build);
  EXPECT_NE(first->key, second->build->key);
  EXPECT_EQ(second->build->plan.launches[0].args[2].value, 16384u);
}

TEST_F(NvccTest, SaysItsVersions) { EXPECT_THAT(toolchain_->version(), testing::MatchesRegex("nvcc [0-9.]+, CUTLASS [0-9.]+")); }

// Compilers made of shell scripts: they count their runs and behave as a test asks.
class ScriptedToolchain : public testing::Test {
 protected:
  ScriptedToolchain() : dir_(*TempDir::make("scripted-")) {
    config_.places.data = CUTEGEN_SOURCE_DIR;
    config_.places.nvcc = dir_.path() / "bin/nvcc";
    config_.places.host_compiler = dir_.path() / "bin/g++";
    config_.places.cutlass = dir_.path() / "cutlass";
    config_.cache = dir_.path() / "cache";
    write("cutlass/cute/tensor.hpp", "");
    write("cutlass/cutlass/version.h", "");
    script("g++", "exit 0");
    script("ptxas",
           "for last; do :; done; echo cubin > $last\necho \"ptxas info    : Compiling entry function 'k' for 'sm_90a'\"\necho 'ptxas info "
           "   : Used 10 registers, used 0 barriers'");
    nvcc("cat > candidate.ptx < " + (dir_.path() / "good.ptx").string());
    write("good.ptx", good_ptx());
  }
  void write(const fs::path& path, const std::string& text) { ASSERT_TRUE(write_file_atomic(dir_.path() / path, text).ok()); }
  void script(const std::string& name, const std::string& body) {
    write("bin/" + name, "#!/bin/sh\n" + body + "\n");
    fs::permissions(dir_.path() / "bin" / name, fs::perms::owner_all);
  }
  void nvcc(const std::string& body) {
    script("nvcc", "if [ \"$1\" = --version ]; then echo 'release 13.0, V13.0.88'; exit 0; fi\necho run >> " +
                       (dir_.path() / "runs").string() + "\n" + body);
  }
  int runs() {
    const auto text = read_file(dir_.path() / "runs");
    return text.ok() ? static_cast<int>(std::count(text->begin(), text->end(), '\n')) : 0;
  }
  // A plan of one launch of "k" that passes output 0.
  static std::string good_ptx() {
    std::string bytes = "CUTEPLAN";
    const auto put = [&](uint64_t v, int n) {
      for (int i = 0; i < n; ++i) bytes.push_back(static_cast<char>(v >> (8 * i)));
    };
    for (const uint64_t v : {1, 248, 1, 0}) put(v, 4);
    for (int i = 0; i < 2; ++i) put(0, 8);
    bytes += "k" + std::string(127, '\0');
    for (int i = 0; i < 9; ++i) put(1, 4);
    for (const uint64_t v : {0, 0, 1}) put(v, 4);
    put(3, 4), put(0, 4), put(0, 8), put(0, 8), put(8, 4), put(0, 4);
    std::string list;
    for (const char c : bytes) list += (list.empty() ? "" : ", ") + std::to_string(static_cast<unsigned char>(c));
    return ".version 9.0\n.global .align 8 .b8 cutegen_plan[248] = {" + list +
           "};\n.visible .entry k(\n\t.param .u64 k_param_0\n)\n{\n\tret;\n}\n";
  }
  Result<BuildOutcome> build(Deadline deadline = in_seconds(60)) {
    auto made = make_nvcc_toolchain(config_);
    if (!made.ok()) return std::move(made).error();
    return (*made)->build(twice_task(), cuda_candidate("CUTEGEN_PLAN()"), deadline);
  }
  TempDir dir_;
  ToolchainConfig config_;
};

TEST_F(ScriptedToolchain, BuildsOnceForManyProcesses) {
  nvcc("sleep 0.3; cat > candidate.ptx < " + (dir_.path() / "good.ptx").string());
  std::vector<int> children;
  for (int i = 0; i < 4; ++i) {
    const int child = fork();
    if (child == 0) {
      const auto outcome = build();
      _exit(outcome.ok() && outcome->build ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const int child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(runs(), 1);
}

TEST_F(ScriptedToolchain, AKilledBuilderBlocksNobodyAndLeavesNoCompiler) {
  nvcc("echo $$ > " + (dir_.path() / "pid").string() + "; sleep 60");
  const int child = fork();
  if (child == 0) {
    (void)build().ok();
    _exit(0);
  }
  std::string pid;
  for (int i = 0; i < 500 && pid.empty(); ++i) {
    if (const auto text = read_file(dir_.path() / "pid"); text.ok()) pid = *text;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_FALSE(pid.empty());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  nvcc("cat > candidate.ptx < " + (dir_.path() / "good.ptx").string());
  const auto outcome = build();
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_TRUE(outcome->build);
  bool gone = false;
  for (int i = 0; i < 500 && !gone; ++i) {
    gone = kill(std::stoi(pid), 0) != 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(gone);
}

TEST_F(ScriptedToolchain, TheTimeLimitIsAnErrorAndIsNotCached) {
  nvcc("sleep 60");
  const auto late = build(in_seconds(0.3));
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, Errc::timeout);
  nvcc("cat > candidate.ptx < " + (dir_.path() / "good.ptx").string());
  const auto again = build();
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_TRUE(again->build);
  EXPECT_EQ(runs(), 2);
}

struct Environment {
  const char* name;
  const char* script;
  Errc code;
  const char* message;
};

class BrokenEnvironment : public ScriptedToolchain, public testing::WithParamInterface<Environment> {};

// What is not the candidate's doing is an error, never a verdict on the candidate, and never cached.
TEST_P(BrokenEnvironment, IsAnError) {
  nvcc(GetParam().script);
  for (int i = 0; i < 2; ++i) {
    const auto outcome = build();
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.error().code, GetParam().code);
    EXPECT_THAT(outcome.error().message, HasSubstr(GetParam().message));
  }
  EXPECT_EQ(runs(), 2);
}

INSTANTIATE_TEST_SUITE_P(
    Table, BrokenEnvironment,
    testing::Values(
        Environment{"no_host_compiler", "echo \"nvcc fatal   : Failed to preprocess host compiler properties.\" >&2; exit 1",
                    Errc::missing_dependency, "nvcc cannot work on this machine: nvcc fatal"},
        Environment{"no_space", "echo 'fatal error: error writing to /x: No space left on device' >&2; exit 1", Errc::io, "no space left"},
        Environment{"out_of_memory", "echo \"nvcc error   : 'cicc' died due to signal 9 (Kill signal)\" >&2; exit 9", Errc::io,
                    "killed by the system, most likely for lack of memory"},
        Environment{"killed", "kill -9 $$", Errc::io, "killed by the system"},
        Environment{"no_cuda_runtime", "echo '<command-line>: fatal error: cuda_runtime.h: No such file or directory' >&2; exit 1",
                    Errc::missing_dependency, "cuda_runtime.h"},
        Environment{"no_cxx_headers", "echo \"task.h:6:10: fatal error: 'cstdint' file not found\" >&2; exit 1", Errc::missing_dependency,
                    "'cstdint' file not found (included by task.h)"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_F(ScriptedToolchain, ACompilerThatCrashesIsTheCandidatesFailure) {
  nvcc("echo \"nvcc error   : 'cicc' died due to signal 11 (Invalid memory reference)\" >&2; exit 11");
  const auto outcome = build();
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  ASSERT_TRUE(outcome->failure);
  EXPECT_THAT(outcome->failure->summary(), HasSubstr("'cicc' died due to signal 11"));
  nvcc("exit 3");
  const auto silent = build();
  ASSERT_TRUE(silent.ok() && silent->failure);
  EXPECT_THAT(silent->failure->summary(), HasSubstr("'cicc' died due to signal 11"));  // cached
}

TEST_F(ScriptedToolchain, AFailureWithoutWordsStillSaysSomething) {
  nvcc("exit 3");
  const auto outcome = build();
  ASSERT_TRUE(outcome.ok() && outcome->failure);
  EXPECT_THAT(outcome->failure->summary(), HasSubstr("the compiler ended without an error message (exit code 3)"));
}

TEST_F(ScriptedToolchain, FlagsInTheEnvironmentDoNotReachTheCompiler) {
  setenv("NVCC_APPEND_FLAGS", "-DSNEAKY", 1);
  nvcc("[ -z \"$NVCC_APPEND_FLAGS\" ] || exit 5\ncat > candidate.ptx < " + (dir_.path() / "good.ptx").string());
  const auto outcome = build();
  unsetenv("NVCC_APPEND_FLAGS");
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_TRUE(outcome->build);
}

}  // namespace
}  // namespace cutegen
