// What the machine tells its observers about synchronisation and asynchronous operations, and in which order.
#include <gmock/gmock.h>

#include "vgpu/exec/unit.h"
#include "vgpu/isa/harness.h"

namespace cutegen::vgpu {
namespace {

using testing::ElementsAre;
using testing::Not;

// Events as short lines, for warp 0 alone.
class Recorder : public Observer {
 public:
  void instruction(const Warp&, const Inst&, u32) override {}
  void access(const MemoryEvent&) override {}
  void branch(const Warp&, const Inst&, bool) override {}
  void bulk(u64) override {}
  void release(const Warp& w, u32 mask, const SyncObject& o) override { add(w, "release " + name(mask, o)); }
  void acquire(const Warp& w, u32 mask, const SyncObject& o) override { add(w, "acquire " + name(mask, o)); }
  void async_begin(const AsyncEvent& e) override {
    add(e.warp, "begin " + std::to_string(e.lane) + (e.async_proxy ? " async proxy" : " generic proxy"));
  }
  void async_range(u64, const AsyncRange& r) override {
    lines.push_back(std::string(r.access == Access::load ? "read " : "write ") + to_string(r.space) + " " + std::to_string(r.bytes));
  }
  void async_end(u64, const SyncObject& o) override { lines.push_back("end " + name(0, o)); }
  std::vector<std::string> lines;

 private:
  static std::string name(u32 mask, const SyncObject& o) {
    constexpr const char* kKinds[] = {"barrier", "cluster", "warp", "mbarrier", "group", "address"};
    const std::string lanes = mask == 0 ? "" : mask == ~0u ? "all " : "some ";
    const bool numbered = o.kind == SyncObject::Kind::named_barrier || o.kind == SyncObject::Kind::async_group;
    return lanes + kKinds[static_cast<int>(o.kind)] + (numbered ? " " + std::to_string(o.id & 0xffffffff) : "");
  }
  void add(const Warp& w, std::string line) {
    if (w.index == 0) lines.push_back(std::move(line));
  }
};

std::vector<std::string> events_of(const std::string& body, Dim3 block, bool late = false) {
  const std::string text =
      ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry t(.param .u64 x) {\n.shared .align 1024 .b8 s[1024]; .shared .align "
      "8 "
      ".b64 bar; .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .pred %p<4>;\nld.param.u64 %d0, [x];\n" +
      body + "ret;\n}\n";
  auto program = load_ptx(text, "events.ptx");
  EXPECT_TRUE(program.ok()) << program.error().message;
  if (!program.ok()) return {};
  Memory memory;
  std::vector<u32> x(1024);
  const std::vector<uint8_t> arguments = pack_arguments(map(memory, "x", x));
  const Image& image = *(*program)->image("t");
  std::vector<u64> constants(image.constants.size() + 8);
  auto* aligned = reinterpret_cast<u64*>((reinterpret_cast<uintptr_t>(constants.data()) + 63) / 64 * 64);
  std::copy(image.constants.begin(), image.constants.end(), aligned);
  Grid grid;
  grid.image = &image, grid.constants = reinterpret_cast<const char*>(aligned), grid.block = block;
  grid.shared_end = image.shared_static_end, grid.late_async = late;
  Port port(memory, image.code.size());
  Recorder recorder;
  port.observer = &recorder;
  port.params = reinterpret_cast<const char*>(arguments.data()), port.param_bytes = static_cast<u32>(arguments.size());
  Unit unit(grid, 0);
  while (unit.step(port) != Progress::done) {
  }
  return recorder.lines;
}

TEST(Events, NamedBarriersReleaseAndThenAcquire) {
  EXPECT_THAT(events_of("bar.sync 3, 64;\n", {64}), ElementsAre("release all barrier 3", "acquire all barrier 3"));
  EXPECT_THAT(events_of("mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 32; @%p0 bar.arrive 2, 64; @!%p0 bar.sync 2, 64;\n", {64}),
              ElementsAre("release all barrier 2"));
}

TEST(Events, AnMbarrierReleasesAtArrivalAndAcquiresOnlyWhenComplete) {
  EXPECT_THAT(events_of("mbarrier.init.shared.b64 [bar], 2; mbarrier.arrive.shared.b64 _, [bar]; mbarrier.test_wait.parity.shared.b64 %p0, "
                        "[bar], 0; mbarrier.arrive.shared.b64 _, [bar]; mbarrier.test_wait.parity.shared.b64 %p0, [bar], 0;\n",
                        {1}),
              ElementsAre("release some mbarrier", "release some mbarrier", "acquire some mbarrier"));
}

TEST(Events, StoresReleaseOnceFencedAndLoadsAcquire) {
  const char* relaxed = "st.relaxed.gpu.global.u32 [%d0], 1;\n";
  EXPECT_THAT(events_of(relaxed, {32}), ElementsAre());
  EXPECT_THAT(events_of(std::string("fence.acq_rel.gpu;\n") + relaxed, {32}), ElementsAre("release all address"));
  EXPECT_THAT(events_of("st.release.gpu.global.u32 [%d0], 1; st.global.u32 [%d0], 1;\n", {32}), ElementsAre("release all address"));
  EXPECT_THAT(events_of("ld.volatile.global.u32 %r0, [%d0]; ld.global.u32 %r0, [%d0];\n", {32}), ElementsAre("acquire all address"));
  EXPECT_THAT(events_of("membar.gl; atom.global.add.u32 %r0, [%d0], 1; red.global.add.u32 [%d0], 1;\n", {32}),
              ElementsAre("release all address", "acquire all address", "release all address"));
}

TEST(Events, SmallCopiesEndWithTheirGroupAndWaitAcquiresIt) {
  const std::string copy = "mov.u32 %r0, s; cp.async.ca.shared.global [%r0], [%d0], 16;\n";
  EXPECT_THAT(events_of(copy + "cp.async.commit_group; cp.async.wait_group 0;\n", {1}),
              ElementsAre("begin 0 generic proxy", "read global 16", "write shared 16", "end group 1", "acquire some group 1"));
  EXPECT_THAT(events_of(copy + "cp.async.commit_group; cp.async.wait_group 1;\n", {1}),
              ElementsAre("begin 0 generic proxy", "read global 16", "write shared 16", "end group 1"));
  EXPECT_THAT(events_of("mbarrier.init.shared.b64 [bar], 1;\n" + copy + "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n", {1}),
              ElementsAre("begin 0 generic proxy", "read global 16", "write shared 16", "end mbarrier", "release some mbarrier"));
}

TEST(Events, BulkCopiesEndOnTheirBarrierOrGroup) {
  const std::string load =
      "mov.u32 %r0, s; mov.u32 %r1, bar; mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%d0], 64, [%r1];\n";
  const std::string wait = "mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0;\n";
  for (const bool late : {false, true})
    EXPECT_THAT(events_of(load + wait, {1}, late), ElementsAre("release some mbarrier", "begin 0 async proxy", "read global 64",
                                                               "write shared 64", "end mbarrier", "acquire some mbarrier"));
  EXPECT_THAT(events_of("mov.u32 %r0, s; cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r0], 32; cp.async.bulk.commit_group; "
                        "cp.async.bulk.wait_group.read 0;\n",
                        {1}),
              ElementsAre("begin 0 async proxy", "read shared 32", "write global 32", "end group 1", "acquire some group 1"));
}

TEST(Events, WgmmaReadsItsSharedOperandsUntilItsGroup) {
  // m64n8k16, both operands at s without swizzle: A has 16 rows a warp and B has 8 columns of 32 bytes, in chunks of 16.
  std::string body = "mov.u32 %r0, s; cvt.u64.u32 %d1, %r0; shr.u64 %d1, %d1, 4; .reg .f32 %f<4>; mov.f32 %f0, 0f00000000;\n";
  body += "mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0; setp.ne.u32 %p1, %r0, 0; wgmma.fence.sync.aligned;\n";
  body += "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d1, %d1, %p1, 1, 1, 0, 0;\n";
  const auto lines = events_of(body + "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n", {128});
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "read shared 16"), 4 * (32 + 16));
  EXPECT_EQ(lines.front(), "begin 0 async proxy");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "end group 1"), 4);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "acquire all group 1"), 1);
}

}  // namespace
}  // namespace cutegen::vgpu
