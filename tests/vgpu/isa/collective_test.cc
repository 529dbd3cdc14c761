// Instructions of a whole warp or CTA: shuffles, votes, barriers, asynchronous copies, matrices.
#include <gtest/gtest.h>

#include <functional>

#include "vgpu/isa/harness.h"
#include "vgpu/isa/reference.h"

namespace cutegen::vgpu {
namespace {

const std::string kHead = R"(.version 8.7
.target sm_90a
.address_size 64
.shared .align 128 .b8 smem[8192];
.visible .entry t(.param .u64 pin, .param .u64 pout) {
.reg .b64 %in, %out, %rd<8>; .reg .b32 %r<40>, %t; .reg .f32 %f<16>; .reg .f64 %d<8>; .reg .b16 %h<4>; .reg .pred %p<8>;
mov.u32 %t, %tid.x; ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout];
)";

LaunchResult run_body(const std::string& body, std::vector<u32>& in, std::vector<u32>& out, uint32_t threads = 32, Dim3 cluster = {1}) {
  auto program = load_ptx(kHead + body + "\nret;\n}\n", "collective.ptx");
  EXPECT_TRUE(program.ok()) << program.error().message;
  LaunchResult r;
  if (!program.ok()) return r;
  Memory memory;
  LaunchConfig c;
  c.kernel = "t", c.block = {threads}, c.grid = cluster, c.cluster = cluster;
  c.arguments = pack_arguments(map(memory, "in", in), map(memory, "out", out));
  r = launch(**program, memory, c);
  EXPECT_TRUE(r.ok()) << r.fault->message;
  return r;
}
const std::string kStoreR1 = "mul.wide.u32 %rd7, %t, 4; add.u64 %rd7, %out, %rd7; st.global.u32 [%rd7], %r1;\n";
std::string load_input(const char* into) {
  return std::string("mul.wide.u32 %rd7, %t, 4; add.u64 %rd7, %in, %rd7; ld.global.u32 ") + into + ", [%rd7];\n";
}

std::vector<u32> noise(size_t n, u32 below = ~0u) {
  std::mt19937 g(3);
  std::vector<u32> v(n);
  for (u32& x : v) x = static_cast<u32>(g()) % below;
  return v;
}

TEST(Shuffle, EveryModeAgreesWithTheManual) {
  std::vector<u32> in = noise(32);
  for (const char* mode : {"up", "down", "bfly", "idx"}) {
    for (u32 b : {0u, 1u, 5u, 16u, 31u}) {
      for (u32 width : {4u, 8u, 32u}) {
        const u32 c = ((32 - width) << 8) | (std::string(mode) == "up" ? 0 : 31);
        std::vector<u32> out(32);
        run_body(load_input("%r0") + "shfl.sync." + mode + ".b32 %r1|%p0, %r0, " + std::to_string(b) + ", " + std::to_string(c) +
                     ", -1; @%p0 add.u32 %r1, %r1, 1;\n" + kStoreR1,
                 in, out);
        for (u32 lane = 0; lane < 32; ++lane) {
          const u32 first = lane / width * width, last = first + width - 1;
          s64 from = std::string(mode) == "up"     ? s64{lane} - b
                     : std::string(mode) == "down" ? s64{lane} + b
                     : std::string(mode) == "bfly" ? s64{lane ^ b}
                                                   : s64{first + (b & (width - 1))};
          bool inside = std::string(mode) == "up" ? from >= first : from <= last;
          if (!inside) from = lane;
          EXPECT_EQ(out[lane], in[static_cast<size_t>(from)] + inside) << mode << " b=" << b << " width=" << width << " lane " << lane;
        }
      }
    }
  }
}

TEST(Shuffle, ExitedLanesDoNotCount) {
  std::vector<u32> in = noise(32), out(32);
  run_body(load_input("%r0") + "setp.ge.u32 %p0, %t, 16; @%p0 exit; shfl.sync.bfly.b32 %r1, %r0, 1, 31, -1;\n" + kStoreR1, in, out);
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i < 16 ? in[i ^ 1] : 0);
}

TEST(Shuffle, MeetsAcrossDivergentPaths) {  // both halves reach the one shuffle after the join
  std::vector<u32> in = noise(32), out(32);
  run_body(load_input("%r0") +
               "setp.lt.u32 %p0, %t, 7; @%p0 bra A; add.u32 %r0, %r0, 1; bra B; A: add.u32 %r0, %r0, 2; B: shfl.sync.idx.b32 %r1, %r0, 3, "
               "31, -1;\n" +
               kStoreR1,
           in, out);
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], in[3] + 2);
}

TEST(Vote, AllAnyUniBallot) {
  for (u32 votes : {0u, ~0u, 0x0000ff01u}) {
    std::vector<u32> in(32), out(32);
    for (u32 i = 0; i < 32; ++i) in[i] = (votes >> i) & 1;
    run_body(
        load_input("%r0") +
            R"(setp.ne.u32 %p0, %r0, 0; vote.sync.all.pred %p1, %p0, -1; vote.sync.any.pred %p2, %p0, -1; vote.sync.uni.pred %p3, %p0, -1; vote.sync.all.pred %p4, !%p0, -1;
      vote.sync.ballot.b32 %r2, %p0, -1; selp.b32 %r1, 1, 0, %p1; selp.b32 %r3, 2, 0, %p2; or.b32 %r1, %r1, %r3; selp.b32 %r3, 4, 0, %p3; or.b32 %r1, %r1, %r3; selp.b32 %r3, 8, 0, %p4; or.b32 %r1, %r1, %r3;
      add.u32 %r1, %r1, %r2;)" +
            kStoreR1,
        in, out);
    const u32 all = votes == ~0u, any = votes != 0, none = votes == 0;
    EXPECT_EQ(out[5], votes + all + 2 * any + 4 * (all | none) + 8 * none) << votes;
  }
}

TEST(Match, AnyAndAll) {
  std::vector<u32> in = noise(32, 4), out(32), same(32, 9);
  run_body(load_input("%r0") + "match.any.sync.b32 %r1, %r0, -1;" + kStoreR1, in, out);
  std::vector<u32> wide(32);
  run_body(load_input("%r0") + "cvt.u64.u32 %rd0, %r0; shl.b64 %rd0, %rd0, 32; match.any.sync.b64 %r1, %rd0, -1;" + kStoreR1, in, wide);
  for (u32 i = 0; i < 32; ++i) {
    u32 want = 0;
    for (u32 j = 0; j < 32; ++j) want |= static_cast<u32>(in[i] == in[j]) << j;
    EXPECT_EQ(out[i], want);
    EXPECT_EQ(wide[i], want);
  }
  for (const char* type : {"b32", "b64"}) {
    const std::string body = load_input("%r0") + "cvt.u64.u32 %rd0, %r0; match.all.sync." + type + " %r1|%p0, " +
                             (std::string(type) == "b32" ? "%r0" : "%rd0") + ", -1; @%p0 sub.u32 %r1, %r1, 1;" + kStoreR1;
    run_body(body, same, out);
    EXPECT_EQ(out[0], ~0u - 1);
    run_body(body, in, out);
    EXPECT_EQ(out[0], 0u);
  }
}

TEST(Redux, EveryOperation) {
  std::vector<u32> in = noise(32);
  struct Case {
    const char* op;
    std::function<u32(u32, u32)> f;
  };
  auto s = [](u32 v) { return static_cast<s32>(v); };
  for (const Case& c :
       {Case{"add.u32", [](u32 a, u32 b) { return a + b; }}, Case{"add.s32", [](u32 a, u32 b) { return a + b; }},
        Case{"min.u32", [](u32 a, u32 b) { return std::min(a, b); }}, Case{"max.u32", [](u32 a, u32 b) { return std::max(a, b); }},
        Case{"min.s32", [&](u32 a, u32 b) { return s(a) < s(b) ? a : b; }},
        Case{"max.s32", [&](u32 a, u32 b) { return s(a) > s(b) ? a : b; }}, Case{"and.b32", [](u32 a, u32 b) { return a & b; }},
        Case{"or.b32", [](u32 a, u32 b) { return a | b; }}, Case{"xor.b32", [](u32 a, u32 b) { return a ^ b; }}}) {
    std::vector<u32> out(32);
    // Odd lanes only: the others go around.
    run_body(load_input("%r0") + "mov.u32 %r1, 0; and.b32 %r2, %t, 1; setp.eq.u32 %p0, %r2, 0; @%p0 bra SKIP; redux.sync." + c.op +
                 " %r1, %r0, 0xaaaaaaaa; SKIP:" + kStoreR1,
             in, out);
    u32 want = in[1];
    for (size_t i = 3; i < 32; i += 2) want = c.f(want, in[i]);
    EXPECT_EQ(out[31], want) << c.op;
    EXPECT_EQ(out[30], 0u) << c.op;
  }
}

TEST(Warp, ElectActivemaskAndWarpBarrier) {
  std::vector<u32> in(32), out(32);
  run_body(
      "mov.u32 %r1, 0; setp.lt.u32 %p0, %t, 5; @%p0 bra SKIP; elect.sync %r2|%p1, 0xffffffe0; activemask.b32 %r1; @%p1 add.u32 %r1, %r1, "
      "%r2; elect.sync _|%p2, 0xffffffe0; bar.warp.sync 0xffffffe0; SKIP:" +
          kStoreR1,
      in, out);
  EXPECT_EQ(out[4], 0u);
  EXPECT_EQ(out[5], 0xffffffe0u + 5);
  EXPECT_EQ(out[6], 0xffffffe0u);
}

TEST(Barrier, ReductionsInEverySpelling) {
  for (const char* name : {"bar.red", "bar.cta.red", "barrier.red", "barrier.cta.red"}) {
    for (const char* aligned : {"", ".aligned"}) {
      if (std::string(name).starts_with("bar.") && *aligned != 0) continue;
      const std::string n = name, a = aligned;
      std::vector<u32> in(96), out(96);
      run_body("and.b32 %r0, %t, 3; setp.eq.u32 %p0, %r0, 0; " + n + ".popc" + a + ".u32 %r1, 0, %p0; " + n + ".and" + a +
                   ".pred %p1, 1, %p0; " + n + ".or" + a + ".pred %p2, 2, 96, %p0; " + n + ".popc" + a + ".u32 %r2, 3, 96, !%p0; " + n +
                   ".and" + a + ".pred %p3, 4, 96, %p0; " + n + ".or" + a +
                   ".pred %p4, 5, %p0; @%p1 add.u32 %r1, %r1, 1000; @%p2 add.u32 %r1, %r1, 10000; @%p3 add.u32 %r1, %r1, 2000; @%p4 "
                   "add.u32 %r1, %r1, 20000; mad.lo.u32 %r1, %r2, 100000, %r1;" +
                   kStoreR1,
               in, out, 96);
      EXPECT_EQ(out[50], 24u + 10000 + 20000 + 72 * 100000) << n << a;
    }
  }
}

TEST(Barrier, ProducersAndConsumersByNames) {  // warps 0-1 write, arrive and go on; warps 2-3 wait and read
  for (const char* p : {"bar", "bar.cta", "barrier", "barrier.cta"}) {
    for (const char* aligned : {"", ".aligned"}) {
      if (std::string(p).starts_with("bar.") || (std::string(p) == "bar" && *aligned != 0)) {
        if (*aligned != 0) continue;
      }
      const std::string n = p, a = aligned;
      std::vector<u32> in(128), out(128);
      run_body(
          "mov.u32 %r3, smem; setp.ge.u32 %p0, %t, 64; @%p0 bra READ; shl.b32 %r0, %t, 2; add.u32 %r0, %r0, %r3; st.shared.u32 [%r0], "
          "%t; " +
              n + ".arrive" + a + " 2, 128; mov.u32 %r1, 7; bra DONE; READ: " + n + ".sync" + a +
              " 2, 128; sub.u32 %r0, 127, %t; shl.b32 %r0, %r0, 2; add.u32 %r0, %r0, %r3; ld.shared.u32 %r1, [%r0]; DONE: " + n + ".sync" +
              a + " 0;" + kStoreR1,
          in, out, 128);
      for (u32 i = 0; i < 128; ++i) ASSERT_EQ(out[i], i < 64 ? 7 : 127 - i) << n << a;
    }
  }
}

TEST(Cluster, DistributedSharedMemoryAndBarrier) {
  for (const char* aligned : {"", ".aligned"}) {
    std::vector<u32> in(64), out(128);
    const std::string a = aligned;
    run_body(
        "mov.u32 %r0, %cluster_ctarank; mov.u32 %r2, %cluster_nctarank; mov.u32 %r3, smem; shl.b32 %r4, %t, 2; add.u32 %r4, %r4, %r3; "
        "mad.lo.u32 %r5, %r0, 100, %t; st.shared.u32 [%r4], %r5; barrier.cluster.arrive.release" +
            a + "; barrier.cluster.wait.acquire" + a +
            "; add.u32 %r6, %r0, 1; rem.u32 %r6, %r6, %r2; mapa.shared::cluster.u32 %r7, %r4, %r6; ld.shared::cluster.u32 %r1, [%r7]; "
            "mad.lo.u32 %t, %r0, 32, %t; barrier.cluster.arrive" +
            a + "; barrier.cluster.wait" + a + ";" + kStoreR1,
        in, out, 32, {4});
    for (u32 rank = 0; rank < 4; ++rank)
      for (u32 t = 0; t < 32; ++t) EXPECT_EQ(out[32 * rank + t], (rank + 1) % 4 * 100 + t);
  }
}

TEST(AsyncCopy, SmallCopiesWithZeroFill) {
  std::vector<u32> in = noise(256), out(128);
  run_body(
      "mov.u32 %r3, smem; mul.lo.u32 %r4, %t, 16; add.u32 %r4, %r4, %r3; mul.wide.u32 %rd0, %t, 16; add.u64 %rd0, %in, %rd0; "
      "cp.async.cg.shared.global.L2::128B [%r4], [%rd0], 16; and.b32 %r5, %t, 3; mul.lo.u32 %r5, %r5, 4; setp.lt.u32 %p0, %t, 16;"
      "@%p0 cp.async.ca.shared.global [%r4], [%rd0+16], 16, %r5; cp.async.commit_group; cp.async.wait_group 0; cp.async.wait_all; bar.sync "
      "0; ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r4]; mul.wide.u32 %rd1, %t, 16; add.u64 %rd1, %out, %rd1; st.global.v4.u32 [%rd1], "
      "{%r10, %r11, %r12, %r13};",
      in, out);
  for (u32 t = 0; t < 32; ++t)
    for (u32 k = 0; k < 4; ++k) EXPECT_EQ(out[4 * t + k], t >= 16 ? in[4 * t + k] : k < t % 4 ? in[4 * t + 4 + k] : 0) << t << "." << k;
}

TEST(AsyncCopy, BulkCopiesThroughAnMbarrier) {
  for (const char* space : {".shared::cta", ".shared", ""}) {
    const std::string s = space, bar = s.empty() ? "%rd6" : "%r3";
    std::vector<u32> in = noise(64), out(64);
    run_body(
        "mov.u32 %r3, smem; mov.u32 %r4, smem+128; cvt.u64.u32 %rd6, %r3; cvta.shared.u64 %rd6, %rd6; setp.ne.u32 %p0, %t, 0; @%p0 bra "
        "WAIT; mbarrier.init" +
            s + ".b64 [" + bar + "], 2; fence.mbarrier_init.release.cluster; mbarrier.arrive.expect_tx" + s + ".b64 %rd0, [" + bar +
            "], 256; mbarrier.arrive" + s + ".b64 %rd1, [" + bar +
            "]; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%in], 256, [%r3]; WAIT: bar.sync 0; POLL: "
            "mbarrier.try_wait.parity" +
            s + ".b64 %p1, [" + bar +
            "], 0; @!%p1 bra POLL; @%p0 bra END; fence.proxy.async.shared::cta; cp.async.bulk.global.shared::cta.bulk_group [%out], [%r4], "
            "256; cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; END:",
        in, out);
    EXPECT_EQ(in, out) << space;
  }
}

TEST(Mbarrier, PhasesCountsAndStates) {
  std::vector<u32> in(1), out(32);
  run_body(
      R"(mov.u32 %r3, smem; mbarrier.init.shared.b64 [%r3], 3; mbarrier.arrive.shared.b64 %rd0, [%r3], 2; mbarrier.test_wait.shared.b64 %p0, [%r3], %rd0; selp.b32 %r1, 1, 0, %p0;
    mbarrier.pending_count.b64 %r2, %rd0; mad.lo.u32 %r1, %r2, 10, %r1; cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r3]; mbarrier.try_wait.shared.b64 %p0, [%r3], %rd0, 1000; selp.b32 %r2, 100, 0, %p0; add.u32 %r1, %r1, %r2;
    mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r3], 64; mbarrier.arrive_drop.shared.b64 %rd1, [%r3]; mbarrier.arrive.shared.b64 _, [%r3], 2; mbarrier.test_wait.parity.shared.b64 %p0, [%r3], 1; selp.b32 %r2, 1000, 0, %p0; add.u32 %r1, %r1, %r2;
    mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r3], 64; mbarrier.test_wait.parity.shared.b64 %p0, [%r3], 1; selp.b32 %r2, 2000, 0, %p0; add.u32 %r1, %r1, %r2;
    mbarrier.arrive.shared.b64 %rd2, [%r3], 2; mbarrier.test_wait.shared.b64 %p0, [%r3], %rd2; selp.b32 %r2, 4000, 0, %p0; add.u32 %r1, %r1, %r2; mbarrier.inval.shared.b64 [%r3];)" +
          kStoreR1,
      in, out, 1);
  EXPECT_EQ(out[0], 30u + 100 + 2000 + 4000);
}

TEST(Matrix, LoadAndStoreInEveryShape) {
  for (int n : {1, 2, 4}) {
    for (const char* trans : {"", ".trans"}) {
      for (const char* space : {".shared", ""}) {
        const std::string x = ".x" + std::to_string(n), t = trans, s = space;
        const std::string regs = n == 1   ? "{%r10}"
                                 : n == 2 ? "{%r10, %r11}"
                                          : "{%r10, %r11, %r12, %r13}",
                          back = n == 1   ? "{%r20}"
                                 : n == 2 ? "{%r20, %r21}"
                                          : "{%r20, %r21, %r22, %r23}";
        std::vector<u32> in = noise(128), out(256);
        std::string body =
            "mov.u32 %r3, smem; mul.lo.u32 %r4, %t, 16; add.u32 %r4, %r4, %r3; mul.wide.u32 %rd0, %t, 16; add.u64 %rd1, %in, %rd0; "
            "ld.global.v4.u32 {%r30, %r31, %r32, %r33}, [%rd1]; st.shared.v4.u32 [%r4], {%r30, %r31, %r32, %r33}; bar.sync 0;\n";
        body += "cvt.u64.u32 %rd2, %r4; " + std::string(s.empty() ? "cvta.shared.u64 %rd2, %rd2; " : "");
        body += "ldmatrix.sync.aligned.m8n8" + x + t + s + ".b16 " + regs + ", [%rd2];\n";
        for (int q = 0; q < n; ++q)
          body += "mul.wide.u32 %rd3, %t, 4; add.u64 %rd3, %out, %rd3; st.global.u32 [%rd3+" + std::to_string(128 * q) + "], %r1" +
                  std::to_string(q) + ";\n";
        body += "add.u64 %rd4, %rd2, 4096; stmatrix.sync.aligned" + x + ".m8n8" + t + s + ".b16 [%rd4], " + regs +
                "; bar.sync 0; ld.shared.v4.u32 {%r30, %r31, %r32, %r33}, [%r4+4096]; add.u64 %rd1, %out, %rd0; st.global.v4.u32 "
                "[%rd1+512], {%r30, %r31, %r32, %r33};\n";
        run_body(body, in, out);
        const auto* halves = reinterpret_cast<const u16*>(in.data());
        for (u32 q = 0; q < static_cast<u32>(n); ++q)
          for (u32 l = 0; l < 32; ++l)
            for (u32 e = 0; e < 2; ++e) {
              const u32 row = l / 4, column = 2 * (l % 4) + e;
              const u16 want = t.empty() ? halves[64 * q + 8 * row + column] : halves[64 * q + 8 * column + row];
              ASSERT_EQ((out[32 * q + l] >> (16 * e)) & 0xffff, want) << n << t << s << " matrix " << q << " lane " << l;
            }
        for (int i = 0; i < 32 * n; ++i) ASSERT_EQ(out[static_cast<size_t>(128 + i)], in[static_cast<size_t>(i)]) << n << t << s;
      }
    }
  }
}

TEST(Matrix, Transpose) {
  std::vector<u32> in = noise(32), out(32);
  run_body(load_input("%r0") + "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r0;" + kStoreR1, in, out);
  const auto *a = reinterpret_cast<const u16*>(in.data()), *b = reinterpret_cast<const u16*>(out.data());
  for (int r = 0; r < 8; ++r)
    for (int c = 0; c < 8; ++c) EXPECT_EQ(b[8 * r + c], a[8 * c + r]);
}

}  // namespace
}  // namespace cutegen::vgpu
