// One bug a kernel (fixtures/faults.cu): each is reported with its kind, source line, thread and buffer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vgpu/support.h"

namespace cutegen::vgpu {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

class Faults : public testing::Test {
 protected:
  static const Program& program() {
    static const std::shared_ptr<const Program> p = load_fixture("faults.ptx");
    return *p;
  }
  Fault run(const std::string& kernel, Dim3 grid, Dim3 block, std::vector<uint8_t> arguments, LaunchOptions o = {}) {
    LaunchConfig c;
    c.kernel = kernel, c.grid = grid, c.block = block, c.arguments = std::move(arguments);
    const LaunchResult r = launch(program(), memory, c, o);
    EXPECT_FALSE(r.ok()) << kernel;
    return r.fault.value_or(Fault{});
  }
  Memory memory;
};

TEST_F(Faults, WritePastTheEnd) {
  std::vector<float> y(100);
  const Fault f = run("past_end", {4}, {32}, pack_arguments(map(memory, "y", y), 100));
  EXPECT_EQ(f.kind, FaultKind::out_of_bounds);
  EXPECT_EQ(f.line, 7u);
  EXPECT_THAT(f.file, EndsWith("faults.cu"));
  EXPECT_EQ(f.cta.x, 3u);
  EXPECT_EQ(f.thread.x, 4u);
  EXPECT_EQ(f.buffer, "y");
  EXPECT_EQ(f.distance, 4);
  EXPECT_THAT(f.message, HasSubstr("write of 4 bytes"));
  EXPECT_THAT(f.message, HasSubstr("0 bytes past the end of 'y' (400 bytes)"));
  EXPECT_EQ(y[95], 1);  // warps before it did their work; the faulting instruction wrote nothing
}

TEST_F(Faults, Misaligned) {
  std::vector<char> y(256);
  const Fault f = run("misaligned", {1}, {32}, pack_arguments(map(memory, "y", y)));
  EXPECT_EQ(f.kind, FaultKind::misaligned);
  EXPECT_EQ(f.line, 10u);
  EXPECT_EQ(f.address % 4, 2u);
}

TEST_F(Faults, BarrierInDivergentCode) {
  std::vector<int> y(64);
  const Fault f = run("divergent_barrier", {1}, {64}, pack_arguments(map(memory, "y", y)));
  EXPECT_EQ(f.kind, FaultKind::barrier_divergence);
  EXPECT_EQ(f.line, 13u);
  EXPECT_THAT(f.message, HasSubstr("barrier 0 reached by lanes 0xaaaaaaaa"));
}

TEST_F(Faults, DeadlockNamesTheBarrier) {
  std::vector<int> y(64);
  const Fault f = run("missing_arrival", {1}, {64}, pack_arguments(map(memory, "y", y)));
  EXPECT_EQ(f.kind, FaultKind::deadlock);
  EXPECT_THAT(f.message, HasSubstr("warp 0 waits at barrier 1 (64 of 96 threads have arrived)"));
  EXPECT_TRUE(f.line == 19 || f.line == 21) << f.line;
}

TEST_F(Faults, SharedMemoryOverflow) {
  std::vector<float> y(128, 1);
  const Fault f = run("shared_overflow", {1}, {128}, pack_arguments(map(memory, "y", y)));
  EXPECT_EQ(f.kind, FaultKind::out_of_bounds);
  EXPECT_EQ(f.buffer, "shared");
  EXPECT_EQ(f.line, 28u);
  EXPECT_EQ(f.thread.x, 64u);
}

TEST_F(Faults, NullPointer) {
  std::vector<int> y(32);
  const Fault f = run("null_pointer", {1}, {32}, pack_arguments(map(memory, "y", y)));
  EXPECT_EQ(f.kind, FaultKind::out_of_bounds);
  EXPECT_EQ(f.line, 32u);
  EXPECT_THAT(f.message, HasSubstr("near the null pointer"));
}

TEST_F(Faults, FreedBuffer) {
  const uint64_t y = memory.allocate("workspace", 400);
  memory.release(y);
  const Fault f = run("past_end", {1}, {32}, pack_arguments(y, 10));
  EXPECT_EQ(f.kind, FaultKind::use_after_free);
  EXPECT_EQ(f.buffer, "workspace");
}

TEST_F(Faults, ReadOnlyBuffer) {
  std::vector<float> y(100);
  const Fault f = run("past_end", {1}, {32}, pack_arguments(memory.map_read_only("x", y.data(), 400), 10));
  EXPECT_EQ(f.kind, FaultKind::read_only);
  EXPECT_EQ(f.buffer, "x");
}

TEST_F(Faults, Assertion) {
  const Fault f = run("fails_assertion", {1}, {32}, pack_arguments(5));
  EXPECT_EQ(f.kind, FaultKind::assertion);
  EXPECT_EQ(f.thread.x, 5u);
  EXPECT_THAT(f.message, HasSubstr("int(threadIdx.x) < n"));
}

TEST_F(Faults, LimitsEndALoopWithoutEnd) {
  std::vector<int> flag(1);
  LaunchOptions o;
  o.max_warp_instructions = 100000;
  EXPECT_EQ(run("endless", {1}, {32}, pack_arguments(map(memory, "flag", flag)), o).kind, FaultKind::instruction_limit);
  LaunchOptions t;
  t.time_limit = Seconds(0.05);
  EXPECT_EQ(run("endless", {1}, {32}, pack_arguments(map(memory, "flag", flag)), t).kind, FaultKind::time_limit);
}

TEST_F(Faults, WrongLaunches) {
  EXPECT_THAT(run("fails_assertion", {1}, {2048}, pack_arguments(5)).message, HasSubstr("2048 threads"));
  EXPECT_THAT(run("fails_assertion", {1}, {32}, {}).message, HasSubstr("0 bytes of arguments; the kernel takes 4"));
  EXPECT_THAT(run("absent", {1}, {32}, {}).message, HasSubstr("no such kernel"));
  EXPECT_THAT(run("fails_assertion", {0}, {32}, pack_arguments(5)).message, HasSubstr("must not be empty"));
}

}  // namespace
}  // namespace cutegen::vgpu
