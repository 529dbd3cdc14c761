// Seconds of a cold build, and milliseconds of the same build found in the cache.
//
//   build_bench [Google Benchmark flags] [CANDIDATE.cu ...]
//
// Without files: candidates of this file, one plain and one that includes CuTe. Files are built for a task of one fp32 input and output of
// [4096, 4096]; those that need another task fail, and the benchmark says so.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/fs.h"
#include "toolchain/nvcc.h"

namespace {

using namespace cutegen;

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
bool build(benchmark::State& state, const std::filesystem::path& root, const std::string& source) {
  ToolchainConfig config;
  config.cache = root;
  const auto toolchain = make_nvcc_toolchain(config);
  if (!toolchain.ok()) return state.SkipWithError(toolchain.error().message.c_str()), false;
  Candidate candidate;
  candidate.source = source;
  candidate.backend = Backend::cuda;
  const auto outcome = (*toolchain)->build(square_task(), candidate, Deadline::in(system_clock(), Seconds(600)));
  if (!outcome.ok()) return state.SkipWithError(outcome.error().message.c_str()), false;
  if (outcome->failure) return state.SkipWithError(outcome->failure->summary().c_str()), false;
  return true;
}

void cold(benchmark::State& state, const std::string& source) {
  for (auto _ : state) {
    state.PauseTiming();
    const auto root = TempDir::make("build-bench-");
    state.ResumeTiming();
    if (!root.ok() || !build(state, root->path(), source)) return;
  }
}

void cached(benchmark::State& state, const std::string& source) {
  const auto root = TempDir::make("build-bench-");
  if (!root.ok() || !build(state, root->path(), source)) return;
  for (auto _ : state)
    if (!build(state, root->path(), source)) return;
}

// Includes making the toolchain, as every command pays for it.
void add(const std::string& name, const std::string& source) {
  benchmark::RegisterBenchmark((name + "/cold").c_str(), [source](benchmark::State& s) { cold(s, source); })
      ->Iterations(3)
      ->UseRealTime()
      ->Unit(benchmark::kSecond);
  benchmark::RegisterBenchmark((name + "/cached").c_str(), [source](benchmark::State& s) { cached(s, source); })
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (int i = 1; i < argc; ++i)
    if (const auto source = read_file(argv[i]); source.ok()) add(std::filesystem::path(argv[i]).stem().string(), *source);
  if (argc <= 1) {
    add("plain", kPlain);
    add("cute", kCute);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
