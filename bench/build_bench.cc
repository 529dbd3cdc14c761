// Seconds of a cold build, and milliseconds of the same build found in the cache.
//
//   build_bench [Google Benchmark flags] [--task=TASK.py] [CANDIDATE.cu ...]
//
// Without files: candidates of this file, one plain and one that includes CuTe. Files are built for TASK.py, else for a task of one fp32
// input and output of [4096, 4096]; those that need another task fail, and the benchmark says so.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/fs.h"
#include "oracle/python_oracle.h"
#include "toolchain/nvcc.h"

namespace {

using namespace cutegen;

constexpr const char* kTaskFlag = "--task=";

constexpr const char* kPlain = R"(#include <cutegen/kernel.cuh>
extern "C" __global__ void __launch_bounds__(256) twice(float const* x, float* y, int64_t n) {
  for (int64_t i = blockIdx.x * 256 + threadIdx.x; i < n; i += 256 * gridDim.x) y[i] = 2 * x[i];
}
CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(twice).grid(1056).block(256).args(cutegen::input(0), cutegen::output(0), task::in0::elements)));
)";

constexpr const char* kCute = R"(#include <cutegen/kernel.cuh>
#include <cute/tensor.hpp>
using namespace cute;
extern "C" __global__ void __launch_bounds__(256) twice(float const* x, float* y) {
  auto tiler = make_shape(Int<4096>{});
  auto gx = local_tile(make_tensor(make_gmem_ptr(x), make_layout(Int<task::in0::elements>{})), tiler, make_coord(blockIdx.x));
  auto gy = local_tile(make_tensor(make_gmem_ptr(y), make_layout(Int<task::in0::elements>{})), tiler, make_coord(blockIdx.x));
  auto copy_atom = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{}, Layout<_256>{}, Layout<_4>{});
  auto slice = copy_atom.get_slice(threadIdx.x);
  auto from = slice.partition_S(gx);
  auto registers = make_fragment_like(from);
  copy(copy_atom, from, registers);
  for (int i = 0; i < size(registers); ++i) registers(i) *= 2;
  copy(copy_atom, registers, slice.partition_D(gy));
}
CUTEGEN_PLAN(cutegen::plan(CUTEGEN_LAUNCH(twice).grid(task::in0::elements / 4096).block(256).args(cutegen::input(0), cutegen::output(0))));
)";

Task square_task() {
  Task task;
  task.name = "square";
  task.inputs = {{"x", DType::f32, {4096, 4096}}};
  task.outputs = {{"out0", DType::f32, {4096, 4096}}};
  return task;
}

// One build in a cache under `root`; says why when it does not succeed.
bool build(benchmark::State& state, const std::filesystem::path& root, const Task& task, const std::string& source) {
  ToolchainConfig config;
  config.cache = root;
  const auto toolchain = make_nvcc_toolchain(config);
  if (!toolchain.ok()) return state.SkipWithError(toolchain.error().message.c_str()), false;
  Candidate candidate;
  candidate.source = source;
  candidate.backend = Backend::cuda;
  const auto outcome = (*toolchain)->build(task, candidate, Deadline::in(system_clock(), Seconds(600)));
  if (!outcome.ok()) return state.SkipWithError(outcome.error().message.c_str()), false;
  if (outcome->failure) return state.SkipWithError(outcome->failure->summary().c_str()), false;
  return true;
}

void cold(benchmark::State& state, const Task& task, const std::string& source) {
  for (auto _ : state) {
    state.PauseTiming();
    const auto root = TempDir::make("build-bench-");
    state.ResumeTiming();
    if (!root.ok() || !build(state, root->path(), task, source)) return;
  }
}

void cached(benchmark::State& state, const Task& task, const std::string& source) {
  const auto root = TempDir::make("build-bench-");
  if (!root.ok() || !build(state, root->path(), task, source)) return;
  for (auto _ : state)
    if (!build(state, root->path(), task, source)) return;
}

// Includes making the toolchain, as every command pays for it.
void add(const std::string& name, const Task& task, const std::string& source) {
  benchmark::RegisterBenchmark((name + "/cold").c_str(), [task, source](benchmark::State& s) { cold(s, task, source); })
      ->Iterations(3)
      ->UseRealTime()
      ->Unit(benchmark::kSecond);
  benchmark::RegisterBenchmark((name + "/cached").c_str(), [task, source](benchmark::State& s) { cached(s, task, source); })
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

// What the oracle reads from a user's file.
Result<Task> task_of(const std::filesystem::path& file) {
  OracleConfig config;
  config.task = file;
  config.device = "cpu";
  CUTEGEN_TRY(const auto oracle, start_python_oracle(config));
  return oracle->task();
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  Task task = square_task();
  int files = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with(kTaskFlag)) {
      auto read = task_of(argument.substr(std::string(kTaskFlag).size()));
      if (!read.ok()) return std::fprintf(stderr, "error: %s\n", read.error().message.c_str()), 2;
      task = std::move(*read);
    } else {
      const auto source = read_file(argument);
      if (!source.ok()) return std::fprintf(stderr, "error: %s\n", source.error().message.c_str()), 2;
      add(std::filesystem::path(argument).stem().string(), task, *source);
      ++files;
    }
  }
  if (files == 0) {
    add("plain", task, kPlain);
    add("cute", task, kCute);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
