// Clusters, cooperative grids, spinning kernels and asynchronous copies as nvcc compiles them (fixtures/machine.cu), with every schedule.
#include <numeric>

#include "vgpu/support.h"
#include "vgpu/tensor_map.h"

namespace cutegen::vgpu {
namespace {

struct Mode {
  const char* name;
  bool late_async;
  std::optional<uint64_t> seed;
};

class Machine : public testing::TestWithParam<Mode> {
 protected:
  static const Program& program() {
    static const std::shared_ptr<const Program> p = load_fixture("machine.ptx");
    return *p;
  }
  static LaunchOptions options() {
    LaunchOptions o;
    o.threads = 1, o.time_limit = Seconds(20);
    o.late_async = GetParam().late_async, o.random_schedule = GetParam().seed;
    return o;
  }
  LaunchResult run(const std::string& kernel, Dim3 grid, Dim3 block, std::vector<uint8_t> arguments, Dim3 cluster = {},
                   bool cooperative = false) {
    LaunchConfig c;
    c.kernel = kernel, c.grid = grid, c.block = block, c.cluster = cluster, c.arguments = std::move(arguments), c.cooperative = cooperative;
    return launch(program(), memory, c, options());
  }
  static std::vector<float> ramp(size_t n) {
    std::vector<float> v(n);
    for (size_t i = 0; i < n; ++i) v[i] = static_cast<float>(i * 7 % 101);
    return v;
  }
  TensorMap matrix(uint64_t address, uint64_t columns, uint64_t rows, uint32_t box_columns, uint32_t box_rows) const {
    TiledTensor t;
    t.type = TensorType::float32, t.rank = 2, t.address = address, t.dims = {columns, rows}, t.strides = {columns * 4};
    t.box = {box_columns, box_rows};
    auto map = encode(t);
    EXPECT_TRUE(map.ok());
    return *map;
  }
  static std::vector<uint8_t> with_maps(const std::vector<TensorMap>& maps, const std::vector<uint8_t>& rest) {
    std::vector<uint8_t> bytes(maps.size() * sizeof(TensorMap));
    for (size_t i = 0; i < maps.size(); ++i) std::memcpy(bytes.data() + i * sizeof(TensorMap), &maps[i], sizeof(TensorMap));
    bytes.insert(bytes.end(), rest.begin(), rest.end());
    return bytes;
  }
  Memory memory;
};
INSTANTIATE_TEST_SUITE_P(Modes, Machine,
                         testing::Values(Mode{"default", false, {}}, Mode{"late", true, {}}, Mode{"random1", false, 1},
                                         Mode{"random2", false, 2}, Mode{"late_random3", true, 3}),
                         [](const auto& mode) { return std::string(mode.param.name); });

TEST_P(Machine, DistributedSharedMemory) {
  std::vector<float> x = ramp(8 * 128), y(x.size());
  const LaunchResult r = run("cluster_sum", {8}, {128}, pack_arguments(map(memory, "x", x), map(memory, "y", y)), {4, 1, 1});
  ASSERT_TRUE(r.ok()) << r.fault->message;
  for (size_t c = 0; c < 8; ++c)
    for (size_t i = 0; i < 128; ++i) {
      float sum = 0;
      for (size_t rank = 0; rank < 4; ++rank) sum += x[(c / 4 * 4 + rank) * 128 + i];
      ASSERT_EQ(y[c * 128 + i], sum);
    }
}

TEST_P(Machine, CooperativeGridsMeet) {
  constexpr size_t kThreads = 64, kN = 9 * kThreads;
  std::vector<float> x = ramp(kN), between(kN), y(kN);
  const LaunchResult r = run("grid_rotate", {9}, {kThreads},
                             pack_arguments(map(memory, "x", x), map(memory, "between", between), map(memory, "y", y)), {}, true);
  ASSERT_TRUE(r.ok()) << r.fault->message;
  for (size_t i = 0; i < kN; ++i) ASSERT_EQ(y[i], x[(i + 3 * kThreads) % kN] + 2) << i;
}

TEST_P(Machine, DecoupledLookBackMakesProgress) {
  constexpr uint32_t kN = 40;
  std::vector<uint32_t> x(kN), y(kN), state(kN), sums(kN), prefixes(kN), want(kN);
  std::iota(x.begin(), x.end(), 5u);
  std::partial_sum(x.begin(), x.end(), want.begin());
  const LaunchResult r = run("look_back", {kN}, {32},
                             pack_arguments(map(memory, "x", x), map(memory, "y", y), map(memory, "state", state),
                                            map(memory, "sums", sums), map(memory, "prefixes", prefixes)));
  ASSERT_TRUE(r.ok()) << r.fault->message;
  EXPECT_EQ(y, want);
}

TEST_P(Machine, CtasThatWaitForLaterOnesGetThem) {
  std::vector<uint32_t> count(1), y(30);
  const LaunchResult r = run("home_made_barrier", {30}, {64}, pack_arguments(map(memory, "count", count), map(memory, "y", y)));
  ASSERT_TRUE(r.ok()) << r.fault->message;
  EXPECT_EQ(y, std::vector<uint32_t>(30, 30));
}

TEST_P(Machine, WaitingForWhatNobodyWritesIsADeadlock) {
  std::vector<uint32_t> flag(1);
  const LaunchResult r = run("waits_for_ever", {40}, {64}, pack_arguments(map(memory, "flag", flag)));
  ASSERT_TRUE(r.fault.has_value());
  EXPECT_EQ(r.fault->kind, FaultKind::deadlock) << r.fault->message;
  EXPECT_NE(r.fault->message.find("memory that nobody changes"), std::string::npos) << r.fault->message;
  EXPECT_EQ(r.fault->line, 69u);
}

TEST_P(Machine, AMissingWaitForSmallCopiesShowsWhenTheyAreLate) {
  for (const int waits : {1, 0}) {
    std::vector<float> x = ramp(256), y(256), want(256);
    for (size_t t = 0; t < 64; ++t) std::copy_n(x.data() + (63 - t) * 4, 4, want.data() + t * 4);
    const LaunchResult r = run("copy_small", {1}, {64}, pack_arguments(map(memory, "x", x), map(memory, "y", y), waits));
    ASSERT_TRUE(r.ok()) << r.fault->message;
    if (waits == 1 || (!GetParam().late_async && !GetParam().seed)) {
      EXPECT_EQ(y, want);
    } else if (GetParam().late_async) {
      EXPECT_NE(y, want);
    }
  }
}

TEST_P(Machine, ARingOfTmaStages) {
  constexpr size_t kTiles = 7, kRows = kTiles * 16, kColumns = 32;
  std::vector<float> x = ramp(kRows * kColumns), want(kColumns);
  for (size_t i = 0; i < x.size(); ++i) want[i % kColumns] += x[i];
  for (const int waits : {1, 0}) {
    std::vector<float> y(kColumns);
    const TensorMap from = matrix(map(memory, "x", x), kColumns, kRows, kColumns, 16);
    const LaunchResult r = run("ring", {1}, {64}, with_maps({from}, pack_arguments(map(memory, "y", y), static_cast<int>(kTiles), waits)));
    if (waits == 1) {
      ASSERT_TRUE(r.ok()) << r.fault->message;
      EXPECT_EQ(y, want);
    } else if (GetParam().late_async) {
      EXPECT_NE(y, want);
    }
  }
}

TEST_P(Machine, MulticastAndTensorReduction) {
  std::vector<float> x = ramp(16 * 32), y(16 * 32, 1), want(y.size());
  for (size_t i = 0; i < x.size(); ++i) want[i] = 1 + 2 * x[i];  // both CTAs of the cluster add the whole tile
  const TensorMap from = matrix(map(memory, "x", x), 32, 16, 32, 8), to = matrix(map(memory, "y", y), 32, 16, 32, 16);
  const LaunchResult r = run("share_tile", {2}, {32}, with_maps({from, to}, {}));
  ASSERT_TRUE(r.ok()) << r.fault->message;
  EXPECT_EQ(y, want);
}

TEST_P(Machine, WgmmaIsDoneAtOnce) {
  for (const bool waits : {true, false}) {
    const std::string text =
        std::string(
            ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry t(.param .u64 y) {\n.shared .align 1024 .b8 s[1024]; .reg "
            ".b32 "
            "%r<4>; .reg .b64 %d<4>; .reg .f32 %f<4>; .reg .pred %p;\nld.param.u64 %d0, [y]; mov.u32 %r0, %tid.x; mov.u32 %r1, s; shl.b32 "
            "%r2, %r0, 3; add.u32 %r2, %r2, %r1; mov.u32 %r3, 0x3c003c00; st.shared.v2.u32 [%r2], {%r3, %r3}; fence.proxy.async; bar.sync "
            "0;\n"
            "cvt.u64.u32 %d1, %r1; shr.u64 %d1, %d1, 4; mov.f32 %f0, 0f3F800000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0; "
            "setp.eq.u32 %p, %r1, %r1; wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, "
            "%d1, "
            "%d1, %p, 1, 1, 0, 0;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d1, %d1, %p, 1, 1, 0, 0;\n"
            "wgmma.commit_group.sync.aligned;\nmov.b64 %d1, 0;\n") +
        (waits ? "wgmma.wait_group.sync.aligned 0;\n" : "") +
        "mul.wide.u32 %d2, %r0, 4; add.u64 %d0, %d0, %d2; add.f32 %f0, %f0, %f3; st.global.f32 [%d0], %f0; ret;\n}\n";
    auto loaded = load_ptx(text, "wgmma.ptx");
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    std::vector<float> y(128);
    LaunchConfig c;
    c.kernel = "t", c.block = {128}, c.arguments = pack_arguments(map(memory, "y", y));
    const LaunchResult r = launch(**loaded, memory, c, options());
    ASSERT_TRUE(r.ok()) << r.fault->message;
    // Two products of ones over k = 16, on top of 1; twice that is stored.
    EXPECT_EQ(y, std::vector<float>(128, 66)) << waits;  // never late: exec/async.cc
  }
}

TEST(Schedule, ASeedGivesTheSameRunEveryTime) {
  auto program = load_ptx(
      ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry t(.param .u64 next, .param .u64 y) {\n.reg .b32 %r<4>; .reg .b64 "
      "%d<6>;\nld.param.u64 %d0, [next]; ld.param.u64 %d1, [y]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mad.lo.u32 %r1, %r1, 64, %r0; "
      "mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2; atom.global.add.u32 %r2, [%d0], 1; st.global.u32 [%d1], %r2; ret;\n}\n",
      "order.ptx");
  ASSERT_TRUE(program.ok()) << program.error().message;
  auto order = [&](std::optional<uint64_t> seed) {
    Memory memory;
    std::vector<uint32_t> next(1), y(12 * 64);
    LaunchConfig c;
    c.kernel = "t", c.grid = {12}, c.block = {64}, c.arguments = pack_arguments(map(memory, "next", next), map(memory, "y", y));
    LaunchOptions o;
    o.random_schedule = seed;
    EXPECT_TRUE(launch(**program, memory, c, o).ok());
    return y;
  };
  EXPECT_EQ(order(5), order(5));
  EXPECT_NE(order(5), order(6));
  std::vector<uint32_t> in_order(12 * 64);
  std::iota(in_order.begin(), in_order.end(), 0u);
  EXPECT_EQ(order({}), in_order);
}

TEST(Schedule, Spelling) {
  EXPECT_FALSE(parse_schedule("default")->has_value());
  EXPECT_EQ(parse_schedule("random:17")->value(), 17u);
  EXPECT_FALSE(parse_schedule("random:").ok());
  EXPECT_FALSE(parse_schedule("random:1x").ok());
  EXPECT_FALSE(parse_schedule("late").ok());
}

}  // namespace
}  // namespace cutegen::vgpu
