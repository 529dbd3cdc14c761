#include "vgpu/time/predict.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

namespace cutegen::vgpu {
namespace {

GpuProfile h200() {
  auto p = load_gpu_profile(std::filesystem::path(CUTEGEN_SOURCE_DIR) / "gpus" / "h200.json");
  EXPECT_TRUE(p.ok()) << (p.ok() ? "" : p.error().message);
  return p.ok() ? *p : GpuProfile{};
}

std::string kernel(const std::string& body) {
  return ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 y) {\n"
         ".reg .pred %p<3>; .reg .f32 %f<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .shared .align 16 .b8 s[4096];\n"
         "ld.param.u64 %rd1, [y]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, s; mov.f32 %f1, 0f3F800000; mov.f32 %f2, %f1;\n"
         "mov.f32 %f3, %f1; mov.f32 %f4, %f1;\n" +
         body + "\nret;\n}\n";
}

Forecast run(const std::string& body, Dim3 grid, Dim3 block, uint64_t bytes = 1 << 20, double budget = 4e6) {
  const auto program = load_ptx(kernel(body), "k.ptx");
  EXPECT_TRUE(program.ok()) << program.error().message;
  Memory memory;
  const uint64_t y = memory.allocate("y", bytes);
  LaunchConfig launch;
  launch.kernel = "k";
  launch.grid = grid, launch.block = block;
  launch.arguments.resize(8);
  std::memcpy(launch.arguments.data(), &y, 8);
  ForecastOptions options;
  options.budget = budget;
  Forecast f = forecast(h200(), **program, memory, launch, nullptr, options);
  EXPECT_TRUE(f.ok()) << f.fault->message;
  return f;
}

std::string repeated(int times, const std::string& text) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

// Lanes 4 * stride bytes apart: stride 1 has none, 2 two lanes a bank, 32 all lanes in one.
TEST(Forecast, CountsBankConflicts) {
  for (const auto& [stride, conflicts] : {std::pair{1, 0}, {2, 1}, {8, 7}, {32, 31}, {33, 0}}) {
    const Forecast f =
        run(fmt::format("mul.lo.u32 %r4, %r1, {}; and.b32 %r4, %r4, 4092; add.u32 %r4, %r4, %r3; ld.shared.u32 %r5, [%r4];", 4 * stride),
            {1}, {32});
    EXPECT_EQ(f.work.shared_requests, 1) << stride;
    EXPECT_EQ(f.work.shared_conflicts, conflicts) << stride;
    EXPECT_EQ(f.work.shared_wavefronts, conflicts + 1) << stride;
  }
  const Forecast wide = run("shl.b32 %r4, %r1, 4; add.u32 %r4, %r4, %r3; ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r4];", {1}, {32});
  EXPECT_EQ(wide.work.shared_wavefronts, 4) << "512 bytes take four wavefronts";
  EXPECT_EQ(wide.work.shared_conflicts, 0) << "and that is no conflict";
}

TEST(Forecast, CountsSectorsOfGlobalAccesses) {
  const Forecast f =
      run("mul.wide.u32 %rd2, %r1, 8; add.s64 %rd3, %rd1, %rd2; ld.global.f32 %f5, [%rd3]; st.global.f32 [%rd3], %f5;", {1}, {64});
  EXPECT_EQ(f.work.memory.load_sectors, 16) << "two warps, 256 bytes each";
  EXPECT_EQ(f.work.memory.store_sectors, 16);
  EXPECT_EQ(f.work.memory.dram_reads, 16);
  EXPECT_EQ(f.work.memory.l1_requests, 4);
}

// A chain of dependent products takes their latency each; independent ones overlap.
TEST(Forecast, SeesDependences) {
  const double fma = h200().fma_latency;
  const Forecast chain = run(repeated(400, "fma.rn.f32 %f1, %f1, %f1, %f1;\n"), {1}, {32});
  const Forecast four = run(repeated(100,
                                     "fma.rn.f32 %f1, %f1, %f1, %f1;\nfma.rn.f32 %f2, %f2, %f2, %f2;\nfma.rn.f32 %f3, %f3, %f3, %f3;\n"
                                     "fma.rn.f32 %f4, %f4, %f4, %f4;\n"),
                            {1}, {32});
  EXPECT_NEAR(chain.work.cta_cycles, 400 * fma, 50);
  EXPECT_LT(four.work.cta_cycles, 0.5 * chain.work.cta_cycles);
  EXPECT_EQ(chain.work.pipe_cycles[static_cast<size_t>(Pipe::fma)], four.work.pipe_cycles[static_cast<size_t>(Pipe::fma)]);
}

// Warp 0 works before the barrier, the others wait for it.
TEST(Forecast, WarpsWaitAtBarriers) {
  const std::string body =
      "setp.gt.u32 %p1, %r1, 31;\n@%p1 bra SKIP;\n" + repeated(200, "fma.rn.f32 %f1, %f1, %f1, %f1;\n") + "SKIP:\nbar.sync 0;";
  const Forecast f = run(body, {1}, {64});
  EXPECT_GT(f.work.barrier_cycles, 200 * h200().fma_latency * 0.9);
  EXPECT_LT(run("bar.sync 0;", {1}, {64}).work.barrier_cycles, 200);
}

TEST(Forecast, SamplesLongGridsAndSaysSo) {
  const std::string body =
      "mad.lo.u32 %r4, %r2, 64, %r1; mul.wide.u32 %rd2, %r4, 4; add.s64 %rd3, %rd1, %rd2; ld.global.f32 %f5, [%rd3]; st.global.f32 [%rd3], "
      "%f5;";
  const Forecast all = run(body, {4000}, {64}), some = run(body, {4000}, {64}, 1 << 20, 20000);
  EXPECT_EQ(all.sampled_share, 1);
  EXPECT_LT(some.sampled_share, 0.5);
  EXPECT_GT(some.sampled_share, 0.03);
  EXPECT_NEAR(some.work.ctas, all.work.ctas, 1);
  EXPECT_NEAR(some.work.memory.load_sectors, all.work.memory.load_sectors, 1);
  EXPECT_NEAR(some.seconds, all.seconds, 0.1 * all.seconds);
}

TEST(Forecast, AFaultIsReported) {
  const auto program = load_ptx(kernel("st.global.f32 [%rd1+64], %f1;"), "k.ptx");
  ASSERT_TRUE(program.ok()) << program.error().message;
  Memory memory;
  const uint64_t y = memory.allocate("y", 4);
  LaunchConfig launch;
  launch.kernel = "k";
  launch.arguments.resize(8);
  std::memcpy(launch.arguments.data(), &y, 8);
  const Forecast f = forecast(h200(), **program, memory, launch, nullptr);
  ASSERT_FALSE(f.ok());
  EXPECT_EQ(f.fault->kind, FaultKind::out_of_bounds);
}

TEST(Forecast, MoreCtasThanFitTakeMoreWaves) {
  const std::string body = repeated(500, "fma.rn.f32 %f1, %f1, %f1, %f1;\n");
  const Forecast one = run(body, {132}, {1024}), two = run(body, {133}, {1024});
  EXPECT_EQ(one.occupancy.ctas, 2u);
  EXPECT_GE(two.seconds, one.seconds);
  EXPECT_GT(run(body, {1320}, {1024}).seconds, 2 * two.seconds - 2 * h200().launch_s);
}

}  // namespace
}  // namespace cutegen::vgpu
