// Speed of the virtual GPU: PTX warp-instructions and tensor-core multiply-accumulates per second of processor time.
//   scripts/vgpu-speed
// Cases end in /threads/counters/checks (0 fast, 1 checked, 2 full). Rates of more than one thread are of the wall clock.
#include <benchmark/benchmark.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "vgpu/vgpu.h"

namespace {

using namespace cutegen;

constexpr const char* kHeader = ".version 8.0\n.target sm_90a\n.address_size 64\n";

// y = a x + y, grid-stride: what nvcc makes of it, without unrolling. 10 instructions an element.
constexpr const char* kAxpy = R"(
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

// A loop of four tf32 mma whose operands are normally distributed numbers: `in` holds 12 words a lane.
std::string mma_loop() {
  std::string s = kHeader;
  s += ".visible .entry mma(.param .u64 in, .param .u64 y) {\n.reg .pred %p; .reg .f32 %f<16>; .reg .b32 %r<16>; .reg .b64 %rd<4>;\n";
  s += "mov.u32 %r0, %tid.x; and.b32 %r0, %r0, 31; mul.wide.u32 %rd0, %r0, 48; ld.param.u64 %rd1, [in]; add.u64 %rd1, %rd1, %rd0;\n";
  for (int i = 0; i < 12; ++i) s += "ld.global.u32 %r" + std::to_string(1 + i) + ", [%rd1+" + std::to_string(4 * i) + "];\n";
  for (int i = 0; i < 16; ++i) s += "mov.f32 %f" + std::to_string(i) + ", 0f00000000;\n";
  s += "mov.u32 %r0, 0;\nLOOP:\n";
  for (int i = 0; i < 4; ++i) {
    const std::string d = "{%f" + std::to_string(4 * i) + ", %f" + std::to_string(4 * i + 1) + ", %f" + std::to_string(4 * i + 2) + ", %f" +
                          std::to_string(4 * i + 3) + "}";
    const std::string a = i % 2 == 0 ? "{%r1, %r2, %r3, %r4}" : "{%r5, %r6, %r7, %r8}", b = i < 2 ? "{%r9, %r10}" : "{%r11, %r12}";
    s += "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 " + d + ", " + a + ", " + b + ", " + d + ";\n";
  }
  s += "add.s32 %r0, %r0, 1; setp.lt.s32 %p, %r0, 2048; @%p bra LOOP;\nld.param.u64 %rd1, [y];\n";
  for (int i = 0; i < 16; ++i) s += "st.global.f32 [%rd1+" + std::to_string(4 * i) + "], %f" + std::to_string(i) + ";\n";
  return s + "ret;\n}\n";
}

// One warpgroup: 64x128 += 64x64 by 64x128 bf16 a turn (four wgmma of k16, 128-byte swizzle), over four stages of shared memory as a
// pipeline has them. Operands are normally distributed.
std::string wgmma_loop() {
  std::string s = kHeader;
  s += ".extern .shared .align 1024 .b8 smem[];\n.visible .entry wgmma(.param .u64 in, .param .u64 y) {\n.reg .pred %p, %q; .reg .f32 "
       "%f<64>; .reg .b32 %r<8>; "
       ".reg .b64 %rd<8>;\n";
  s += "ld.param.u64 %rd0, [in]; mov.u32 %r0, %tid.x; mov.u32 %r1, smem;\nCOPY:\nmul.wide.u32 %rd1, %r0, 4; add.u64 %rd1, %rd0, %rd1; "
       "ld.global.u32 %r2, [%rd1]; shl.b32 %r3, %r0, 2; add.u32 %r3, %r1, %r3; st.shared.u32 [%r3], %r2; add.u32 %r0, %r0, 128; "
       "setp.lt.u32 %p, %r0, 24576; @%p bra COPY;\nfence.proxy.async.shared::cta; bar.sync 0;\n";
  std::string d;
  for (int i = 0; i < 64; ++i) s += "mov.f32 %f" + std::to_string(i) + ", 0f00000000;\n", d += (i != 0 ? ", %f" : "%f") + std::to_string(i);
  s += "setp.eq.u32 %q, 0, 0; shr.u32 %r1, %r1, 4; mov.u32 %r0, 0;\nLOOP:\nand.b32 %r2, %r0, 3; mul.lo.u32 %r2, %r2, 1536; add.u32 %r2, "
       "%r2, %r1;\n";
  s += "cvt.u64.u32 %rd2, %r2; add.u64 %rd2, %rd2, 0x4000004000010000; add.u64 %rd3, %rd2, 512;\nwgmma.fence.sync.aligned;\n";
  for (int k = 0; k < 4; ++k)
    s += "add.u64 %rd4, %rd2, " + std::to_string(2 * k) + "; add.u64 %rd5, %rd3, " + std::to_string(2 * k) +
         ";\nwgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" + d + "}, %rd4, %rd5, %q, 1, 1, 0, 0;\n";
  s += "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; add.u32 %r0, %r0, 1; setp.lt.u32 %p, %r0, 512; @%p bra "
       "LOOP;\nld.param.u64 %rd1, [y];\n";
  for (int i = 0; i < 64; ++i) s += "st.global.f32 [%rd1+" + std::to_string(4 * i) + "], %f" + std::to_string(i) + ";\n";
  return s + "ret;\n}\n";
}

struct Settings {
  int threads = 1;
  bool count = false;
  vgpu::Checks checks = vgpu::Checks::fast;
  Settings(const benchmark::State& state, int first)
      : threads(static_cast<int>(state.range(first))),
        count(state.range(first + 1) != 0),
        checks(static_cast<vgpu::Checks>(state.range(first + 2))) {}
};

void run(benchmark::State& state, const std::string& text, vgpu::Memory& memory, vgpu::LaunchConfig config, const Settings& settings) {
  const auto program = vgpu::load_ptx(text, "bench.ptx");
  if (!program.ok()) return state.SkipWithError(program.error().message.c_str());
  vgpu::LaunchOptions options;
  options.threads = settings.threads, options.count = settings.count, options.checks = settings.checks;
  double instructions = 0, macs = 0;
  for (auto _ : state) {
    const vgpu::LaunchResult r = vgpu::launch(**program, memory, config, options);
    if (!r.ok()) return state.SkipWithError(r.fault->message.c_str());
    if (!r.findings.empty()) return state.SkipWithError(r.findings[0].message.c_str());
    instructions += static_cast<double>(r.warp_instructions), macs += static_cast<double>(r.counters.tensor_macs);
  }
  state.counters["warp_inst"] = benchmark::Counter(instructions, benchmark::Counter::kIsRate);
  if (macs > 0) state.counters["macs"] = benchmark::Counter(macs, benchmark::Counter::kIsRate);
  state.SetLabel(vgpu::host_isa());
}

void axpy(benchmark::State& state) {  // elements, then the settings
  std::vector<float> x(static_cast<size_t>(state.range(0)), 1), y(x.size(), 2);
  vgpu::Memory memory;
  const uint64_t dx = memory.map("x", x.data(), 4 * x.size()), dy = memory.map("y", y.data(), 4 * y.size());
  run(state, std::string(kHeader) + kAxpy, memory, {"axpy", {16}, {256}, {}, 0, false, pack(0.5f, dx, dy, static_cast<int64_t>(x.size()))},
      {state, 1});
}
BENCHMARK(axpy)
    ->Args({1 << 18, 1, 0, 0})
    ->Args({1 << 18, 1, 1, 0})
    ->Args({1 << 18, 1, 1, 1})
    ->Args({1 << 24, 1, 1, 0})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(axpy)->Args({1 << 22, 1, 1, 0})->Args({1 << 22, 2, 1, 0})->Unit(benchmark::kMillisecond)->UseRealTime();

// With buffers whose bytes are followed one by one.
void axpy_followed(benchmark::State& state) {
  std::vector<float> x(1 << 18, 1), y(x.size(), 2);
  vgpu::Memory memory;
  const uint64_t dx = memory.map("x", x.data(), 4 * x.size()), dy = memory.map("y", y.data(), 4 * y.size());
  for (const uint64_t b : {dx, dy}) memory.mark_undefined(b), memory.mark_written(b, 4 * x.size());
  run(state, std::string(kHeader) + kAxpy, memory, {"axpy", {16}, {256}, {}, 0, false, pack(0.5f, dx, dy, static_cast<int64_t>(x.size()))},
      {state, 0});
}
BENCHMARK(axpy_followed)->Args({1, 0, 0})->Args({1, 0, 1})->Args({1, 0, 2})->Unit(benchmark::kMillisecond);

void fma_chain(benchmark::State& state) {
  vgpu::Memory memory;
  run(state, std::string(kHeader) + kAxpy, memory, {"fma_chain", {1}, {256}, {}, 0, false, pack(memory.allocate("y", 4))}, {state, 0});
}
BENCHMARK(fma_chain)->Args({1, 0, 0})->Args({1, 1, 0})->Unit(benchmark::kMillisecond);

template <class T>
std::vector<T> normal(size_t n) {
  std::mt19937 g(1);
  std::normal_distribution<float> d;
  std::vector<T> v(n);
  for (T& x : v) {
    const float f = d(g);
    uint32_t bits = 0;
    std::memcpy(&bits, &f, 4);
    x = static_cast<T>(bits >> (32 - 8 * sizeof(T)));  // bf16 by cutting
  }
  return v;
}

void mma_tf32(benchmark::State& state) {
  vgpu::Memory memory;
  std::vector<uint32_t> in = normal<uint32_t>(12 * 32);
  run(state, mma_loop(), memory,
      {"mma", {2}, {256}, {}, 0, false, pack(memory.map("in", in.data(), 4 * in.size()), memory.allocate("y", 64))}, {state, 0});
}
BENCHMARK(mma_tf32)->Args({1, 1, 0})->Unit(benchmark::kMillisecond);
BENCHMARK(mma_tf32)->Args({1, 1, 0})->Args({2, 1, 0})->Unit(benchmark::kMillisecond)->UseRealTime();

void wgmma_bf16(benchmark::State& state) {
  vgpu::Memory memory;
  constexpr uint32_t kSmem = 4 * (64 + 128) * 128;
  std::vector<uint16_t> in = normal<uint16_t>(kSmem / 2);
  run(state, wgmma_loop(), memory,
      {"wgmma", {2}, {128}, {}, kSmem, false, pack(memory.map("in", in.data(), kSmem), memory.allocate("y", 256))}, {state, 0});
}
BENCHMARK(wgmma_bf16)->Args({1, 1, 0})->Unit(benchmark::kMillisecond);
BENCHMARK(wgmma_bf16)->Args({1, 1, 0})->Args({2, 1, 0})->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
