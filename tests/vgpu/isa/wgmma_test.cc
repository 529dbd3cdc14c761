// wgmma with small integers, exact in every format, against the definition, for every operand layout.
#include <gtest/gtest.h>

#include "vgpu/isa/harness.h"
#include "vgpu/isa/reference.h"

namespace cutegen::vgpu {
namespace {

// A canonical layout of PTX ISA 9.7.15.5.1 as shapes and strides in 16-byte chunks; `swizzle` flips bits 4.. by bits 7...
struct Layout {
  const char* name;
  u32 swizzle;  // 0-3
  u64 code;     // of the descriptor's bits 62-63
  bool mn_major;
  u32 leading, stride;  // offsets as encoded
};
u32 element_byte(const Layout& l, u32 mn, u32 k, u32 bytes) {
  u32 chunk = 0, inside = 0;
  if (!l.mn_major) {
    const u32 kc = k * bytes / 16;
    inside = k * bytes % 16;
    constexpr u32 kRow[] = {1, 2, 4, 8};
    chunk = mn % 8 * kRow[l.swizzle] + mn / 8 * l.stride + kc * (l.swizzle == 0 ? l.leading : 1);
  } else {
    inside = mn % 8 * bytes;
    const u32 c = mn / 8;
    switch (l.swizzle) {
      case 0: chunk = c * l.stride + k % 8 + k / 8 * l.leading; break;
      case 1: chunk = c % 2 + c / 2 * l.leading + k % 8 * 2 + k / 8 * l.stride; break;
      case 2: chunk = c % 4 + c / 4 * l.leading + k % 8 * 4 + k / 8 * l.stride; break;
      default: chunk = c % 8 + c / 8 * l.leading + k % 8 * 8 + k / 8 * l.stride; break;
    }
  }
  const u32 at = 16 * chunk;
  const u32 mask = (1u << l.swizzle) - 1;
  return (at ^ (((at >> 7) & mask) << 4)) + inside;
}

struct Format {
  const char* name;
  u32 bytes;
  bool transposes;
};
u64 encode(int x, const std::string& t) {
  if (t == "tf32") return reference::bits(static_cast<float>(x)) | (x != 0 ? 0x1234 : 0);  // low bits are ignored
  if (t == "f16" || t == "bf16") return reference::to_small(x, t);
  const u64 sign = x < 0 ? 0x80 : 0;  // fp8: |x| up to 3
  constexpr u64 kE4m3[] = {0, 0x38, 0x40, 0x44}, kE5m2[] = {0, 0x3c, 0x40, 0x42};
  return sign | (t == "e4m3" ? kE4m3 : kE5m2)[std::abs(x)];
}

constexpr u32 kM = 64, kBOffset = 32768, kImage = 65536;

struct Case {
  Format format;
  u32 n;
  Layout a, b;
  bool a_in_registers, half_accumulators, add;
  int scale_a, scale_b;
  bool barrier = true;  // between the warps' stores to shared memory and the product; without it they overwrite them after the wait
  bool late = false;    // LaunchOptions::late_async
};

std::string kernel(const Case& c, u64 desc_a, u64 desc_b) {
  const u32 K = 32 / c.format.bytes, accumulators = c.n / (c.half_accumulators ? 4 : 2);
  std::string s =
      ".version 8.7\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 smem[];\n.visible .entry t(.param .u64 pin, .param "
      ".u64 pout, .param .u64 pa) {\n.reg .b64 %in, %out, %pa, %t<4>, %da, %db; .reg .b32 %r<8>, %d<128>, %a<4>; .reg .f32 %f<128>; .reg "
      ".pred %p<2>;\n";
  s += "ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout]; ld.param.u64 %pa, [pa]; mov.u32 %r0, %tid.x; mov.u32 %r1, %r0;\nCOPY: "
       "mul.wide.u32 %t0, %r1, 4; add.u64 %t1, %in, %t0; ld.global.u32 %r2, [%t1]; mov.u32 %r3, smem; cvt.u32.u64 %r4, %t0; add.u32 %r3, "
       "%r3, %r4; st.shared.u32 [%r3], %r2; add.u32 %r1, %r1, 128; setp.lt.u32 %p0, %r1, 16384; @%p0 bra COPY;\n";
  s += "fence.proxy.async.shared::cta; " + std::string(c.barrier ? "bar.sync 0; " : "") +
       "mov.u32 %r3, smem; shr.u32 %r3, %r3, 4; cvt.u64.u32 %t0, %r3; add.u64 %da, %t0, " + std::to_string(desc_a) +
       "; add.u64 %db, %t0, " + std::to_string(desc_b) + ";\n";
  s += "mul.wide.u32 %t0, %r0, 512; add.u64 %out, %out, %t0; mul.wide.u32 %t0, %r0, 16; add.u64 %pa, %pa, %t0; ld.global.v4.u32 {%a0, %a1, "
       "%a2, %a3}, [%pa];\n";
  const std::string reg = c.half_accumulators ? "%d" : "%f";
  std::string list = "{";
  for (u32 i = 0; i < accumulators; ++i) {
    s += "ld.global.u32 " + reg + std::to_string(i) + ", [%out+" + std::to_string(4 * i) + "];\n";
    list += (i != 0 ? ", " : "") + reg + std::to_string(i);
  }
  const std::string t = c.format.name;
  s += std::string("setp.ne.b32 %p1, ") + (c.add ? "1" : "0") + ", 0; wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n" +
       std::to_string(c.n) + "k" + std::to_string(K) + (c.half_accumulators ? ".f16." : ".f32.") + t + "." + t + " " + list + "}, " +
       (c.a_in_registers ? "{%a0, %a1, %a2, %a3}" : "%da") + ", %db, %p1, " + std::to_string(c.scale_a) + ", " + std::to_string(c.scale_b);
  if (c.format.transposes)
    s += (c.a_in_registers ? "" : std::string(", ") + (c.a.mn_major ? "1" : "0")) + ", " + (c.b.mn_major ? "1" : "0");
  s += ";\nwgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n";
  if (!c.barrier)
    s += "mov.u32 %r1, %r0; mov.u32 %r2, 0;\nCLEAR: shl.b32 %r4, %r1, 2; mov.u32 %r3, smem; add.u32 %r3, %r3, %r4; st.shared.u32 [%r3], "
         "%r2; "
         "add.u32 %r1, %r1, 128; setp.lt.u32 %p0, %r1, 16384; @%p0 bra CLEAR;\n";
  for (u32 i = 0; i < accumulators; ++i) s += "st.global.u32 [%out+" + std::to_string(4 * i) + "], " + reg + std::to_string(i) + ";\n";
  return s + "ret;\n}\n";
}

void check(const Case& c) {
  SCOPED_TRACE(std::string(c.format.name) + " n" + std::to_string(c.n) + " A " + (c.a_in_registers ? "registers" : c.a.name) + " B " +
               c.b.name);
  const u32 bytes = c.format.bytes, K = 32 / bytes, per = 4 / bytes;
  std::mt19937 g(c.n + bytes);
  auto draw = [&] { return static_cast<int>(g() % 7) - 3; };
  std::vector<int> a(kM * K), b(c.n * K), d(kM * c.n);
  for (auto* v : {&a, &b, &d})
    for (int& x : *v) x = draw();
  std::vector<u8> image(kImage);
  auto put = [&](u32 at, int x) {
    const u64 v = encode(x, c.format.name);
    ASSERT_LE(at + bytes, kImage);
    std::memcpy(image.data() + at, &v, bytes);
  };
  for (u32 m = 0; m < kM; ++m)
    for (u32 k = 0; k < K; ++k) put(element_byte(c.a, m, k, bytes), a[m * K + k]);
  for (u32 n = 0; n < c.n; ++n)
    for (u32 k = 0; k < K; ++k) put(kBOffset + element_byte(c.b, n, k, bytes), b[n * K + k]);
  std::vector<u32> fragments(128 * 4), out(128 * 128);
  for (u32 t = 0; t < 128; ++t) {
    const u32 w = t / 32, l = t % 32;
    for (u32 r = 0; r < 4; ++r)
      for (u32 p = 0; p < per; ++p)
        fragments[4 * t + r] |= static_cast<u32>(
            encode(a[(16 * w + l / 4 + 8 * (r % 2)) * K + 4 * per * (r / 2) + per * (l % 4) + p], c.format.name) << (8 * bytes * p));
  }
  auto place = [&](u32 row, u32 col, u32& thread, u32& index) {  // accumulator (row, col)
    thread = 32 * (row / 16) + 4 * (row % 8) + col % 8 / 2;
    index = col / 8 * 4 + row % 16 / 8 * 2 + col % 2;
  };
  for (u32 row = 0; row < kM; ++row)
    for (u32 col = 0; col < c.n; ++col) {
      u32 t = 0, i = 0;
      place(row, col, t, i);
      if (c.half_accumulators)
        out[128 * t + i / 2] |= static_cast<u32>(reference::to_small(d[row * c.n + col], "f16") << (16 * (i % 2)));
      else
        out[128 * t + i] = static_cast<u32>(reference::bits(static_cast<float>(d[row * c.n + col])));
    }
  auto descriptor = [](const Layout& l, u64 offset) { return offset / 16 | u64{l.leading} << 16 | u64{l.stride} << 32 | l.code << 62; };
  auto program = load_ptx(kernel(c, descriptor(c.a, 0), descriptor(c.b, kBOffset)), "wgmma.ptx");
  ASSERT_TRUE(program.ok()) << program.error().message;
  Memory memory;
  LaunchConfig config;
  config.kernel = "t", config.block = {128}, config.dynamic_smem_bytes = kImage;
  config.arguments = pack_arguments(map(memory, "image", image), map(memory, "out", out), map(memory, "fragments", fragments));
  LaunchOptions options;
  options.late_async = c.late;
  const LaunchResult r = launch(**program, memory, config, options);
  ASSERT_TRUE(r.ok()) << r.fault->message;
  for (u32 row = 0; row < kM; ++row)
    for (u32 col = 0; col < c.n; ++col) {
      int want = c.add ? d[row * c.n + col] : 0;
      for (u32 k = 0; k < K; ++k) want += c.scale_a * c.scale_b * a[row * K + k] * b[col * K + k];
      u32 t = 0, i = 0;
      place(row, col, t, i);
      const u64 got = c.half_accumulators ? (out[128 * t + i / 2] >> (16 * (i % 2))) & 0xffff : out[128 * t + i];
      ASSERT_EQ(got, c.half_accumulators ? reference::to_small(want, "f16") : reference::bits(static_cast<float>(want)))
          << row << "," << col;
    }
}

const Layout kKMajor[] = {
    {"K none", 0, 0, false, 128, 16}, {"K 32B", 1, 3, false, 1, 16}, {"K 64B", 2, 2, false, 1, 32}, {"K 128B", 3, 1, false, 1, 64}};
const Layout kMnMajor[] = {
    {"MN none", 0, 0, true, 512, 8}, {"MN 32B", 1, 3, true, 32, 512}, {"MN 64B", 2, 2, true, 64, 512}, {"MN 128B", 3, 1, true, 128, 512}};
const Format kF16{"f16", 2, true}, kBf16{"bf16", 2, true}, kTf32{"tf32", 4, false}, kE4m3{"e4m3", 1, false}, kE5m2{"e5m2", 1, false};

TEST(Wgmma, EveryTypeAndKMajorLayout) {
  for (const Format& f : {kF16, kBf16, kTf32, kE4m3, kE5m2})
    for (const Layout& l : kKMajor) check({f, 64, l, l, false, false, true, 1, 1});
}
TEST(Wgmma, MnMajorLayouts) {
  for (const Layout& l : kMnMajor) {
    check({kF16, 64, l, kKMajor[3], false, false, true, 1, 1});
    check({kBf16, 128, kKMajor[3], l, false, false, true, 1, 1});
  }
}
TEST(Wgmma, AFromRegisters) {
  for (const Format& f : {kF16, kBf16, kTf32, kE4m3, kE5m2}) check({f, 32, kKMajor[3], kKMajor[3], true, false, true, 1, 1});
  check({kF16, 32, kKMajor[3], kMnMajor[3], true, true, true, 1, 1});
}
TEST(Wgmma, ScalesAndHalfAccumulators) {
  check({kF16, 64, kKMajor[3], kKMajor[3], false, true, true, 1, 1});
  check({kF16, 64, kKMajor[3], kKMajor[3], false, false, false, 1, 1});
  check({kBf16, 64, kKMajor[3], kKMajor[3], false, false, true, -1, 1});
  check({kTf32, 64, kKMajor[3], kKMajor[3], false, false, true, -1, -1});
}
// A and B are written and overwritten by all four warps, with nothing to wait at but wgmma itself.
TEST(Wgmma, IsOneInstructionOfFourWarps) {
  for (const bool late : {false, true}) {
    check({kF16, 64, kKMajor[3], kKMajor[3], false, false, true, 1, 1, false, late});
    check({kTf32, 64, kKMajor[0], kKMajor[0], false, false, true, 1, 1, false, late});
  }
}
TEST(Wgmma, EveryWidth) {
  for (u32 n = 8; n <= 256; n += 8) check({kF16, n, kKMajor[3], kKMajor[3], false, false, true, 1, 1});
}

}  // namespace
}  // namespace cutegen::vgpu
