// How long one evaluation takes, its build excluded, and how long a cached one: eval_bench TASK CANDIDATE [--benchmark_...]
//
//   fresh_trials   inputs, float64 truths and reference runs are made anew, as for the first candidate of a run
//   kept_trials    the oracle still holds them, as for every later candidate
//   no_timing      kept trials, stopped before timing: accuracy and honesty alone
//   cached         the verdict is known
//
// Needs the GPU that it measures on. Exit codes: 0 measured, 2 usage, 3 something is missing, 1 the candidate was not verified.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "base/fs.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/executor.h"
#include "device/lease.h"
#include "judge/judge.h"
#include "oracle/python_oracle.h"
#include "search/verdict_cache.h"
#include "toolchain/nvcc.h"

namespace cutegen {
namespace {

struct Setting {
  std::unique_ptr<Device> device;
  std::unique_ptr<Lease> lease;
  std::unique_ptr<Toolchain> toolchain;
  std::unique_ptr<Oracle> oracle;
  Candidate candidate;
  int failures = 0;  // evaluations that did not verify it
};

Result<Setting> open_setting(const std::string& task, const std::string& candidate) {
  Setting s;
  CUTEGEN_TRY(s.candidate.source, read_file(candidate));
  s.candidate.backend = Backend::cuda;  // the least that the policy asks
  s.candidate.origin = "file:" + candidate;
  CUTEGEN_TRY(s.device, open_cuda_device({}));
  CUTEGEN_TRY(s.lease, acquire_gpu_lease(s.device->info().uuid, Deadline::in(system_clock(), Seconds(600))));
  ToolchainConfig toolchain;
  toolchain.arch = s.device->info().arch;
  CUTEGEN_TRY(s.toolchain, make_nvcc_toolchain(toolchain));
  OracleConfig oracle;
  oracle.task = task;
  CUTEGEN_TRY(s.oracle, start_python_oracle(oracle));
  return s;
}

// Whether the iteration counts.
bool report(benchmark::State& state, Setting& s, const Result<Verdict>& verdict) {
  if (!verdict.ok() || !verdict->verified()) {
    ++s.failures;
    state.SkipWithError((verdict.ok() ? "not verified: " + verdict->why : verdict.error().message).c_str());
    return false;
  }
  state.SetIterationTime(verdict->seconds);
  state.counters["trials"] = static_cast<double>(verdict->trials.size());
  state.counters["error_ratio"] = verdict->worst_error_ratio;
  if (verdict->timing) {
    state.counters["candidate_ms"] = verdict->timing->candidate_ms;
    state.counters["timed_samples"] = verdict->timing->samples;
  }
  return true;
}

void evaluate(benchmark::State& state, Setting& s, bool fresh_trials, bool time) {
  Judge judge(*s.oracle, *s.toolchain, *s.device);
  JudgePolicy policy;
  policy.time = time;
  static uint64_t secret = 1;
  if (fresh_trials) ++secret;
  for (auto _ : state) {
    if (fresh_trials) ++secret;
    policy.secret_seed = secret;
    if (!report(state, s, judge.evaluate(s.candidate, policy, Deadline::in(system_clock(), Seconds(600))))) break;
  }
}

void cached(benchmark::State& state, Setting& s) {
  const auto dir = TempDir::make("eval-bench");
  if (!dir.ok()) return state.SkipWithError(dir.error().message.c_str());
  const VerdictCache cache(dir->path());
  const JudgePolicy policy;
  const auto verdict = Judge(*s.oracle, *s.toolchain, *s.device).evaluate(s.candidate, policy, Deadline::in(system_clock(), Seconds(600)));
  if (!verdict.ok()) return state.SkipWithError(verdict.error().message.c_str());
  const std::string key = VerdictCache::key(s.oracle->task(), s.candidate, policy, s.device->info());
  if (!cache.put(key, *verdict).ok()) return state.SkipWithError("the verdict cannot be kept");
  for (auto _ : state) {
    const auto entry = cache.find(VerdictCache::key(s.oracle->task(), s.candidate, policy, s.device->info()));
    if (!entry) {
      state.SkipWithError("the verdict was not found");
      break;
    }
    benchmark::DoNotOptimize(entry->verdict.reached);
  }
}

void register_all(Setting& s) {
  const auto add = [&](const char* name, bool fresh, bool time) {
    benchmark::RegisterBenchmark(name, [&s, fresh, time](benchmark::State& state) { evaluate(state, s, fresh, time); })
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond)
        ->Iterations(1)
        ->Repetitions(5)
        ->ReportAggregatesOnly(false);
  };
  add("fresh_trials", true, true);
  add("kept_trials", false, true);
  add("no_timing", false, false);
  benchmark::RegisterBenchmark("cached", [&s](benchmark::State& state) { cached(state, s); })
      ->Unit(benchmark::kMillisecond)
      ->Iterations(100);
}

int fail(const std::string& message, int code) {
  std::fputs((message + "\n").c_str(), stderr);
  return code;
}

int bench_main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "__executor") return run_executor(3);
  benchmark::Initialize(&argc, argv);
  if (argc != 3) return fail("usage: eval_bench TASK CANDIDATE [--benchmark_...]", 2);
  auto setting = open_setting(argv[1], argv[2]);
  if (!setting.ok()) {
    const Error& error = setting.error();
    return fail(error.message + (error.hint.empty() ? "" : "\n" + error.hint), error.code == Errc::missing_dependency ? 3 : 2);
  }
  // The build is cached from here on: it is part of no number.
  if (auto built = setting->toolchain->build(setting->oracle->task(), setting->candidate, Deadline::never()); !built.ok()) {
    return fail(built.error().message, 3);
  }
  const DeviceInfo info = setting->device->info();
  benchmark::AddCustomContext("device", info.name);
  benchmark::AddCustomContext("driver", info.driver);
  benchmark::AddCustomContext("torch", setting->oracle->info().torch);
  benchmark::AddCustomContext("task", setting->oracle->task().name);
  register_all(*setting);
  benchmark::RunSpecifiedBenchmarks();
  return setting->failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace cutegen

int main(int argc, char** argv) { return cutegen::bench_main(argc, argv); }
