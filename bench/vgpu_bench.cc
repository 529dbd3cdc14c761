// Speed of the virtual GPU in PTX warp-instructions per second, on one host thread. Reports medians over repetitions:
//   vgpu_bench --benchmark_repetitions=7 --benchmark_report_aggregates_only=true
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "vgpu/vgpu.h"

namespace {

using namespace cutegen;

// y = a x + y, grid-stride: what nvcc makes of it, without unrolling. 10 instructions an element.
constexpr const char* kAxpy = R"(
.version 8.0
.target sm_90a
.address_size 64
.visible .entry axpy(.param .f32 a, .param .u64 x, .param .u64 y, .param .u64 n) {
  .reg .pred %p<3>; .reg .f32 %f<5>; .reg .b32 %r<6>; .reg .b64 %rd<12>;
  ld.param.f32 %f1, [a]; ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.u64 %rd3, [n];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mov.u32 %r4, %nctaid.x;
  mul.wide.u32 %rd4, %r1, %r2; cvt.u64.u32 %rd5, %r3; add.s64 %rd6, %rd4, %rd5; mul.wide.u32 %rd7, %r2, %r4;
LOOP:
  setp.ge.s64 %p1, %rd6, %rd3;
  @%p1 bra END;
  shl.b64 %rd8, %rd6, 2;
  add.s64 %rd9, %rd1, %rd8;
  add.s64 %rd10, %rd2, %rd8;
  ld.global.f32 %f2, [%rd9];
  ld.global.f32 %f3, [%rd10];
  fma.rn.f32 %f4, %f1, %f2, %f3;
  st.global.f32 [%rd10], %f4;
  add.s64 %rd6, %rd6, %rd7;
  bra.uni LOOP;
END:
  ret;
}
.visible .entry fma_chain(.param .u64 y) {
  .reg .pred %p<3>; .reg .f32 %f<9>; .reg .b32 %r<6>; .reg .b64 %rd<12>;
  mov.u32 %r1, 0; mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f3F000000; mov.f32 %f3, 0f3F000000; mov.f32 %f4, 0f3F000000;
LOOP:
  fma.rn.f32 %f1, %f1, %f2, %f3;
  fma.rn.f32 %f2, %f2, %f3, %f4;
  fma.rn.f32 %f3, %f3, %f4, %f1;
  fma.rn.f32 %f4, %f4, %f1, %f2;
  fma.rn.f32 %f1, %f1, %f2, %f3;
  fma.rn.f32 %f2, %f2, %f3, %f4;
  add.s32 %r1, %r1, 1;
  setp.lt.s32 %p1, %r1, 4096;
  @%p1 bra LOOP;
  ld.param.u64 %rd1, [y];
  st.global.f32 [%rd1], %f1;
  ret;
}
.visible .entry mma(.param .u64 y) {
  .reg .pred %p<3>; .reg .f32 %f<9>; .reg .b32 %r<12>; .reg .b64 %rd<12>;
  mov.u32 %r1, 0; mov.u32 %r2, 0; mov.u32 %r3, 0; mov.f32 %f1, 0f00000000; mov.f32 %f2, 0f00000000; mov.f32 %f3, 0f00000000; mov.f32 %f4, 0f00000000;
LOOP:
  mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1, %f2, %f3, %f4}, {%r2, %r2, %r3, %r3}, {%r2, %r3}, {%f1, %f2, %f3, %f4};
  add.s32 %r1, %r1, 1;
  setp.lt.s32 %p1, %r1, 4096;
  @%p1 bra LOOP;
  ld.param.u64 %rd1, [y];
  st.global.f32 [%rd1], %f1;
  ret;
}
)";

template <class... A>
std::vector<uint8_t> pack(A... args) {
  std::vector<uint8_t> bytes;
  auto one = [&](auto a) {
    bytes.resize((bytes.size() + sizeof a - 1) / sizeof a * sizeof a);
    bytes.resize(bytes.size() + sizeof a);
    std::memcpy(bytes.data() + bytes.size() - sizeof a, &a, sizeof a);
  };
  (one(args), ...);
  return bytes;
}

void run(benchmark::State& state, vgpu::Memory& memory, const char* kernel, vgpu::Dim3 grid, std::vector<uint8_t> arguments, bool count,
         vgpu::Checks checks = vgpu::Checks::fast) {
  const auto program = vgpu::load_ptx(kAxpy, "bench.ptx");
  if (!program.ok()) return state.SkipWithError(program.error().message.c_str());
  vgpu::LaunchConfig config{kernel, grid, {256}, {}, 0, false, std::move(arguments)};
  vgpu::LaunchOptions options;
  options.threads = 1;
  options.count = count;
  options.checks = checks;
  uint64_t instructions = 0;
  for (auto _ : state) {
    const vgpu::LaunchResult r = vgpu::launch(**program, memory, config, options);
    if (!r.ok()) return state.SkipWithError(r.fault->message.c_str());
    instructions += r.warp_instructions;
  }
  state.counters["warp_inst"] = benchmark::Counter(static_cast<double>(instructions), benchmark::Counter::kIsRate);
  state.SetLabel(vgpu::host_isa());
}

void axpy(benchmark::State& state) {  // arguments: elements, counters
  std::vector<float> x(static_cast<size_t>(state.range(0)), 1), y(x.size(), 2);
  vgpu::Memory memory;
  const uint64_t dx = memory.map("x", x.data(), 4 * x.size()), dy = memory.map("y", y.data(), 4 * y.size());
  run(state, memory, "axpy", {16}, pack(0.5f, dx, dy, static_cast<int64_t>(x.size())), state.range(1) != 0);
}
BENCHMARK(axpy)->Args({1 << 18, 0})->Args({1 << 18, 1})->Args({1 << 24, 0})->Unit(benchmark::kMillisecond);

// With buffers whose bytes are followed one by one.
void axpy_checks(benchmark::State& state) {  // argument: vgpu::Checks
  std::vector<float> x(1 << 18, 1), y(x.size(), 2);
  vgpu::Memory memory;
  const uint64_t dx = memory.map("x", x.data(), 4 * x.size()), dy = memory.map("y", y.data(), 4 * y.size());
  for (const uint64_t b : {dx, dy}) memory.mark_undefined(b), memory.mark_written(b, 4 * x.size());
  run(state, memory, "axpy", {16}, pack(0.5f, dx, dy, static_cast<int64_t>(x.size())), false, static_cast<vgpu::Checks>(state.range(0)));
}
BENCHMARK(axpy_checks)->Arg(0)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond);

void fma_chain(benchmark::State& state) {
  vgpu::Memory memory;
  run(state, memory, "fma_chain", {1}, pack(memory.allocate("y", 4)), false);
}
BENCHMARK(fma_chain)->Unit(benchmark::kMillisecond);

void mma_tf32(benchmark::State& state) {
  vgpu::Memory memory;
  run(state, memory, "mma", {1}, pack(memory.allocate("y", 4)), false);
}
BENCHMARK(mma_tf32)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
