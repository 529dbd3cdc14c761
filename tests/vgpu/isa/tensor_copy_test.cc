// TMA tensor copies against host loops that say where each element must land.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "vgpu/isa/harness.h"
#include "vgpu/tensor_map.h"

namespace cutegen::vgpu {
namespace {

constexpr u32 kSharedBytes = 64 * 1024;

struct Case {
  TiledTensor tensor;
  std::vector<int> start;
  bool im2col = false;
  Im2colTensor columns{};
  std::vector<u32> offsets{};
};

std::string coordinates(const std::vector<int>& start) {
  std::string s = "{";
  for (size_t i = 0; i < start.size(); ++i) s += (i != 0 ? ", " : "") + std::to_string(start[i]);
  return s + "}";
}

// Kernel `t(map, y, x)`: `body` runs in thread 0 with the tile at shared address %r0; before it x fills the tile, after it y receives it.
std::string kernel(const std::string& body) {
  return ".version 8.7\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 tile[];\n"
         ".visible .entry t(.param .align 64 .b8 tmap[128], .param .u64 y, .param .u64 x, .param .u32 bytes) {\n"
         ".shared .align 8 .b64 bar; .reg .b32 %r<12>; .reg .b64 %d<8>; .reg .pred %p<4>;\n"
         "ld.param.u64 %d0, [y]; ld.param.u64 %d1, [x]; ld.param.u32 %r9, [bytes]; mov.b64 %d2, tmap; cvta.param.u64 %d3, %d2;\n"
         "mov.u32 %r0, tile; mov.u32 %r1, bar; mov.u32 %r2, %tid.x; shl.b32 %r3, %r2, 2;\n"
         "mov.u32 %r4, %r3;\nIN: setp.ge.u32 %p0, %r4, %r9; @%p0 bra READY; cvt.u64.u32 %d4, %r4; add.u64 %d5, %d1, %d4; add.u32 %r5, %r0, "
         "%r4; ld.global.u32 %r6, [%d5]; st.shared.u32 [%r5], %r6; add.u32 %r4, %r4, 512; bra IN;\nREADY: bar.sync 0;\n"
         "setp.ne.u32 %p1, %r2, 0; @%p1 bra DONE;\n" +
         body +
         "DONE: bar.sync 0;\nmov.u32 %r4, %r3;\nOUT: setp.ge.u32 %p0, %r4, %r9; @%p0 bra END; cvt.u64.u32 %d4, %r4; add.u64 %d5, %d0, %d4; "
         "add.u32 %r5, %r0, %r4; ld.shared.u32 %r6, [%r5]; st.global.u32 [%d5], %r6; add.u32 %r4, %r4, 512; bra OUT;\nEND: ret;\n}\n";
}

struct Outcome {
  std::vector<u8> tile;
  LaunchResult result;
};
Outcome run(const std::string& body, const TensorMap& tensor_map, Memory& memory, std::vector<u8> tile, bool late = false) {
  Outcome o;
  o.tile.assign(tile.size(), 0);
  auto program = load_ptx(kernel(body), "tma.ptx");
  EXPECT_TRUE(program.ok()) << program.error().message;
  if (!program.ok()) return o;
  const uint64_t y = map(memory, "y", o.tile), x = map(memory, "x", tile);
  LaunchConfig c;
  c.kernel = "t", c.block = {128}, c.dynamic_smem_bytes = kSharedBytes;
  c.arguments.resize(128);
  std::memcpy(c.arguments.data(), &tensor_map, 128);
  const std::vector<uint8_t> rest = pack_arguments(y, x, static_cast<u32>(tile.size()));
  c.arguments.insert(c.arguments.end(), rest.begin(), rest.end());
  LaunchOptions options;
  options.late_async = late, options.checks = Checks::fast;
  o.result = launch(**program, memory, c, options);
  memory.release(y), memory.release(x);
  return o;
}

std::string load_body(const Case& c, u32 bytes) {
  const std::string dims = std::to_string(c.tensor.rank) + "d";
  std::string offsets;
  if (c.im2col) {
    offsets = ", {";
    for (size_t i = 0; i < c.offsets.size(); ++i) offsets += (i != 0 ? ", " : "") + std::to_string(c.offsets[i]);
    offsets += "}";
  }
  return "mbarrier.init.shared::cta.b64 [%r1], 1;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], " + std::to_string(bytes) +
         ";\ncp.async.bulk.tensor." + dims + ".shared::cluster.global" + (c.im2col ? ".im2col" : ".tile") +
         ".mbarrier::complete_tx::bytes.L2::cache_hint [%r0], [%d3, " + coordinates(c.start) + "], [%r1]" + offsets +
         ", 0x14f0000000000000;\nWAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1], 0; @!%p2 bra WAIT;\n";
}

// The place in shared memory of the 16 bytes at `offset` of an unswizzled tile: within lines of 128 bytes, chunk c of line r is at c xor r
// (mod 2, 4 or 8; with 32 and 64 bytes a line number counts 4 and 2 lines as one).
u32 place(u32 offset, TensorSwizzle swizzle) {
  const u32 chunk = offset / 16, line = chunk / 8, in_line = chunk % 8;
  const u32 ways = swizzle == TensorSwizzle::none ? 1 : 1u << static_cast<u32>(swizzle);
  const u32 flipped = in_line / ways * ways + (in_line % ways ^ line % ways);
  return (line * 8 + flipped) * 16 + offset % 16;
}

std::vector<u8> noise_bytes(size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<u8> v(n);
  for (u8& b : v) b = static_cast<u8>(random());
  return v;
}

// Bytes from row to row in shared memory: a swizzle keeps rows that are narrower as far apart as it is wide.
u32 row_pitch(const TiledTensor& t) {
  const u32 span = t.swizzle == TensorSwizzle::none ? 0 : 16u << static_cast<u32>(t.swizzle);
  return std::max(span, size_bytes(t.type) * t.box[0]);
}

// Calls F(place in the tile, byte offset in the tensor or -1) for each element of a tiled box.
template <class F>
void each_element(const TiledTensor& t, const std::vector<int>& start, F f) {
  const u32 size = size_bytes(t.type);
  std::array<u32, 5> n{1, 1, 1, 1, 1}, i{};
  for (u32 d = 0; d < t.rank; ++d) n[d] = d == 0 ? t.box[0] : (t.box[d] + t.element_strides[d] - 1) / t.element_strides[d];
  u32 row = 0;
  for (i[4] = 0; i[4] < n[4]; ++i[4])
    for (i[3] = 0; i[3] < n[3]; ++i[3])
      for (i[2] = 0; i[2] < n[2]; ++i[2])
        for (i[1] = 0; i[1] < n[1]; ++i[1], ++row)
          for (i[0] = 0; i[0] < n[0]; ++i[0]) {
            s64 at = 0;
            for (u32 d = 0; d < t.rank; ++d) {
              const s64 c = start[d] + static_cast<s64>(i[d]) * (d == 0 ? 1 : t.element_strides[d]);
              if (c < 0 || c >= static_cast<s64>(t.dims[d])) at = -1;
              if (at >= 0) at += c * static_cast<s64>(d == 0 ? size : t.strides[d - 1]);
            }
            f(place(row * row_pitch(t) + i[0] * size, t.swizzle), at);
          }
}
u32 box_bytes(const TiledTensor& t) {
  u32 bytes = size_bytes(t.type) * t.box[0];
  for (u32 d = 1; d < t.rank; ++d) bytes *= (t.box[d] + t.element_strides[d] - 1) / t.element_strides[d];
  return bytes;
}

u32 tile_bytes(const TiledTensor& t) {  // in shared memory, in whole lines
  return (box_bytes(t) / (size_bytes(t.type) * t.box[0]) * row_pitch(t) + 127) / 128 * 128;
}

TiledTensor make(TensorType type, std::vector<u64> dims, std::vector<u32> box, TensorSwizzle swizzle = TensorSwizzle::none) {
  TiledTensor t;
  t.type = type, t.rank = static_cast<u32>(dims.size()), t.swizzle = swizzle;
  u64 stride = size_bytes(type);
  for (size_t d = 0; d < dims.size(); ++d) {
    t.dims[d] = dims[d], t.box[d] = box[d];
    stride = d == 0 ? (stride * dims[0] + 15) / 16 * 16 : stride * dims[d];
    if (d + 1 < dims.size()) t.strides[d] = stride;
  }
  return t;
}
size_t tensor_bytes(const TiledTensor& t) {
  return t.rank == 1 ? t.dims[0] * size_bytes(t.type) : t.strides[t.rank - 2] * t.dims[t.rank - 1];
}

std::vector<Case> tiled_cases() {
  using T = TensorType;
  using S = TensorSwizzle;
  std::vector<Case> cases{
      {make(T::float32, {200}, {64}), {32}},
      {make(T::float32, {200}, {64}), {-20}},
      {make(T::uint8, {300}, {256}), {176}},
      {make(T::bfloat16, {128, 40}, {64, 32}, S::bytes_128), {64, 8}},
      {make(T::bfloat16, {100, 40}, {64, 32}, S::bytes_128), {64, 20}},  // beyond both edges
      {make(T::float16, {72, 50}, {32, 16}, S::bytes_64), {-8, -3}},
      {make(T::float16, {72, 50}, {16, 24}, S::bytes_32), {64, 30}},
      {make(T::float16, {72, 50}, {32, 16}, S::bytes_128), {8, 3}},  // rows narrower than the swizzle
      {make(T::int32, {20, 9, 7}, {8, 4, 3}, S::bytes_32), {16, -2, 5}},
      {make(T::float64, {10, 6, 5, 4}, {4, 3, 2, 3}), {8, 4, -1, 2}},
      {make(T::uint16, {16, 5, 4, 3, 3}, {8, 3, 2, 2, 2}), {8, 3, 3, -1, 2}},
      {make(T::float32, {64, 64}, {32, 64}, S::bytes_128), {100, 100}},  // nothing inside
      {make(T::uint8, {64, 20, 6}, {32, 10, 4}, S::bytes_32), {32, 4, 2}},
  };
  cases[8].tensor.element_strides = {1, 2, 3, 1, 1};
  cases[12].tensor.element_strides = {1, 3, 1, 1, 1};
  return cases;
}

TEST(TensorCopy, TilesLandWhereTheyMust) {
  int number = 0;
  for (Case& c : tiled_cases()) {
    SCOPED_TRACE(number++);
    Memory memory;
    std::vector<u8> x = noise_bytes(tensor_bytes(c.tensor), 7);
    c.tensor.address = map(memory, "x", x);
    auto tensor_map = encode(c.tensor);
    ASSERT_TRUE(tensor_map.ok()) << tensor_map.error().message;
    const u32 bytes = box_bytes(c.tensor), size = size_bytes(c.tensor.type);
    std::vector<u8> want = noise_bytes(tile_bytes(c.tensor), 9);
    const Outcome o = run(load_body(c, bytes), *tensor_map, memory, want, number % 2 == 0);
    ASSERT_TRUE(o.result.ok()) << o.result.fault->message;
    int inside = 0;
    each_element(c.tensor, c.start, [&](u32 to, s64 from) {
      for (u32 b = 0; b < size; ++b) want[to + b] = from < 0 ? u8{0} : x[static_cast<size_t>(from) + b];
      inside += from >= 0;
    });
    EXPECT_EQ(o.tile, want);
    EXPECT_EQ(inside == 0, number == 12);
  }
}

TEST(TensorCopy, StoresAndReductionsTouchOnlyTheTensor) {
  for (const bool adds : {false, true}) {
    int number = 0;
    for (Case& c : tiled_cases()) {
      SCOPED_TRACE(number++);
      if (adds && c.tensor.type != TensorType::int32 && c.tensor.type != TensorType::float64) continue;
      Memory memory;
      std::vector<u8> x(tensor_bytes(c.tensor));
      const u32 size = size_bytes(c.tensor.type);
      std::vector<u8> tile = noise_bytes(tile_bytes(c.tensor), 5);
      if (c.tensor.type == TensorType::float64) {  // sums of small integers are exact
        std::mt19937 random(3);
        for (auto* v : {&x, &tile})
          for (size_t i = 0; i < v->size(); i += 8) {
            const double d = static_cast<double>(random() % 100);
            std::memcpy(v->data() + i, &d, 8);
          }
      } else {
        x = noise_bytes(x.size(), 4);
      }
      std::vector<u8> want = x;
      each_element(c.tensor, c.start, [&](u32 from, s64 to) {
        if (to < 0) return;
        u8* p = want.data() + to;
        if (!adds) {
          std::copy_n(tile.data() + from, size, p);
        } else if (size == 4) {
          u32 a = 0, b = 0;
          std::memcpy(&a, p, 4), std::memcpy(&b, tile.data() + from, 4);
          a += b;
          std::memcpy(p, &a, 4);
        } else {
          double a = 0, b = 0;
          std::memcpy(&a, p, 8), std::memcpy(&b, tile.data() + from, 8);
          a += b;
          std::memcpy(p, &a, 8);
        }
      });
      c.tensor.address = map(memory, "x", x);
      auto tensor_map = encode(c.tensor);
      ASSERT_TRUE(tensor_map.ok()) << tensor_map.error().message;
      const std::string op = (adds ? "cp.reduce.async.bulk.tensor." : "cp.async.bulk.tensor.") + std::to_string(c.tensor.rank) +
                             "d.global.shared::cta" + (adds ? ".add" : "") + ".tile.bulk_group [%d3, " + coordinates(c.start) +
                             "], [%r0];\ncp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n";
      const Outcome o = run(op, *tensor_map, memory, tile, number % 2 == 0);
      ASSERT_TRUE(o.result.ok()) << o.result.fault->message;
      EXPECT_EQ(x, want);
    }
  }
}

TEST(TensorCopy, NanFillAndTf32Rounding) {
  Case c{make(TensorType::float32, {20, 2}, {32, 2}), {0, 0}};
  c.tensor.fill = TensorFill::nan;
  std::vector<float> x(40, 1.5f);
  x[3] = std::bit_cast<float>(0x3f801001u);                                            // just above the middle of two tf32 numbers
  x[4] = std::bit_cast<float>(0xff8b6895u), x[5] = std::bit_cast<float>(0x8038e830u);  // NaN, subnormal
  for (const TensorType type : {TensorType::float32, TensorType::float32_ftz, TensorType::tfloat32, TensorType::tfloat32_ftz}) {
    Memory memory;
    c.tensor.type = type;
    c.tensor.address = map(memory, "x", x);
    auto tensor_map = encode(c.tensor);
    ASSERT_TRUE(tensor_map.ok());
    const Outcome o = run(load_body(c, 256), *tensor_map, memory, std::vector<u8>(256));
    ASSERT_TRUE(o.result.ok()) << o.result.fault->message;
    u32 word[64];
    std::memcpy(word, o.tile.data(), 256);
    EXPECT_EQ(word[0], 0x3fc00000u);
    const bool rounds = type == TensorType::tfloat32 || type == TensorType::tfloat32_ftz;
    EXPECT_EQ(word[3], rounds ? 0x3f802000u : 0x3f801001u);
    EXPECT_EQ(word[4], rounds ? 0x7fffe000u : 0xff8b6895u);
    EXPECT_EQ(word[5], rounds ? 0x8038e000u : 0x8038e830u);
    EXPECT_EQ(word[20], 0x7ff77ff7u);
  }
}

// im2col as a convolution sees it: pixel p of the column is output position (start + p); its input is at stride * position + offset.
TEST(TensorCopy, Im2colWalksTheBoundingBox) {
  for (const u32 rank : {3u, 4u, 5u}) {
    SCOPED_TRACE(rank);
    const u32 spatial = rank - 2;
    std::array<u64, 5> dims{16, 7, 6, 5, 3};
    dims[rank - 1] = 3;
    Case c{make(TensorType::float16, {dims.begin(), dims.begin() + rank}, {1, 1, 1, 1, 1}, TensorSwizzle::bytes_32), {}, true, {}, {}};
    Memory memory;
    std::vector<u8> x = noise_bytes(tensor_bytes(c.tensor), 17);
    c.tensor.address = map(memory, "x", x);
    // A 3-wide filter with padding 1, stride 2 along dimension 1.
    c.tensor.element_strides = {1, 2, 1, 1, 1};
    c.columns.tensor = c.tensor;
    for (u32 i = 0; i < spatial; ++i) c.columns.lower[i] = -1, c.columns.upper[i] = -1;
    c.columns.channels_per_pixel = 16, c.columns.pixels_per_column = 96;
    auto tensor_map = encode(c.columns);
    ASSERT_TRUE(tensor_map.ok()) << tensor_map.error().message;
    std::array<u32, 3> outputs{};
    for (u32 i = 0; i < spatial; ++i)
      outputs[i] = (static_cast<u32>(dims[i + 1]) + c.tensor.element_strides[i + 1] - 1) / c.tensor.element_strides[i + 1];
    const std::array<u32, 3> first{1, 2, 1};  // output position to start at, in image 1
    c.start = {0};
    for (u32 i = 0; i < spatial; ++i) {
      c.start.push_back(static_cast<int>(first[i] * c.tensor.element_strides[i + 1]) - 1);
      c.offsets.push_back(i + 1);
    }
    c.start.push_back(1);
    const Outcome o = run(load_body(c, 96 * 32), *tensor_map, memory, std::vector<u8>(96 * 32));
    ASSERT_TRUE(o.result.ok()) << o.result.fault->message;
    u64 position = 1;  // linear output position: image, then dimensions outermost first
    for (u32 i = spatial; i-- > 0;) position = position * outputs[i] + first[i];
    std::vector<u8> want(96 * 32);
    for (u32 p = 0; p < 96; ++p, ++position) {
      u64 rest = position, at = 0;
      bool inside = true;
      for (u32 i = 0; i < spatial; ++i) {
        const s64 v = static_cast<s64>(rest % outputs[i]) * c.tensor.element_strides[i + 1] - 1 + c.offsets[i];
        rest /= outputs[i];
        inside = inside && v >= 0 && v < static_cast<s64>(dims[i + 1]);
        at += static_cast<u64>(v) * c.tensor.strides[i];
      }
      inside = inside && rest < 3;
      at += rest * c.tensor.strides[rank - 2];
      for (u32 b = 0; inside && b < 32; ++b) want[place(p * 32 + b, TensorSwizzle::bytes_32)] = x[at + b];
    }
    EXPECT_EQ(o.tile, want);
  }
}

TEST(TensorCopy, FieldsCanBeReplaced) {
  Case before{make(TensorType::float32, {64, 8}, {16, 4}), {0, 0}},
      after{make(TensorType::float32, {32, 6}, {32, 4}, TensorSwizzle::bytes_128), {4, 3}};
  after.tensor.strides[0] = 256;
  Memory memory;
  std::vector<u8> x = noise_bytes(8 * 256, 21), other = noise_bytes(6 * 256, 22);
  before.tensor.address = map(memory, "x", x), after.tensor.address = map(memory, "other", other);
  auto tensor_map = encode(before.tensor);
  ASSERT_TRUE(tensor_map.ok());
  std::vector<u8> scratch(256);
  const uint64_t in_global = (map(memory, "scratch", scratch) + 127) / 128 * 128;
  // Copy the map to shared memory, patch it there, publish it, and use it: as CuTe does for grouped problems.
  std::string body =
      "mov.u32 %r7, 0;\nCOPY: cvt.u64.u32 %d4, %r7; add.u64 %d5, %d3, %d4; ld.b32 %r6, [%d5]; add.u32 %r5, %r0, %r7; st.shared.b32 "
      "[%r5+4096], "
      "%r6; add.u32 %r7, %r7, 4; setp.lt.u32 %p0, %r7, 128; @%p0 bra COPY;\nadd.u32 %r8, %r0, 4096; mov.b64 %d6, " +
      std::to_string(after.tensor.address) + ";\n";
  auto replace = [&](const std::string& field, const std::string& arguments, const char* type = "b32") {
    body += "tensormap.replace.tile." + field + ".shared::cta.b1024." + type + " [%r8], " + arguments + ";\n";
  };
  replace("global_address", "%d6", "b64");
  replace("global_dim", "0, 32"), replace("global_dim", "1, 6");
  replace("global_stride", "0, 256", "b64");
  replace("box_dim", "0, 32"), replace("swizzle_mode", "3"), replace("element_stride", "1, 1"), replace("rank", "1"),
      replace("elemtype", "7");
  replace("interleave_layout", "0"), replace("fill_mode", "0");
  body += "mov.b64 %d7, " + std::to_string(in_global) +
          ";\ntensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%d7], [%r8], 128;\n"
          "fence.proxy.tensormap::generic.acquire.gpu [%d7], 128;\nmov.b64 %d3, %d7;\n";
  const Outcome o = run(body + load_body(after, 512), *tensor_map, memory, std::vector<u8>(512));
  ASSERT_TRUE(o.result.ok()) << o.result.fault->message;
  std::vector<u8> want(512);
  each_element(after.tensor, after.start, [&](u32 to, s64 from) {
    for (u32 b = 0; b < 4 && from >= 0; ++b) want[to + b] = other[static_cast<size_t>(from) + b];
  });
  EXPECT_EQ(o.tile, want);
}

TEST(TensorCopy, BadMapsAndTensorsThatEndTooEarlyAreFaults) {
  Case c{make(TensorType::float32, {64, 8}, {16, 4}), {0, 6}};
  Memory memory;
  std::vector<u8> x(7 * 256);  // one row too few
  c.tensor.address = map(memory, "x", x);
  auto tensor_map = encode(c.tensor);
  ASSERT_TRUE(tensor_map.ok());
  Outcome o = run(load_body(c, 256), *tensor_map, memory, std::vector<u8>(256));
  ASSERT_TRUE(o.result.fault.has_value());
  EXPECT_EQ(o.result.fault->kind, FaultKind::out_of_bounds);
  EXPECT_EQ(o.result.fault->buffer, "x");
  c.start = {3, 0};  // 12 bytes
  o = run(load_body(c, 256), *tensor_map, memory, std::vector<u8>(256));
  ASSERT_TRUE(o.result.fault.has_value());
  EXPECT_EQ(o.result.fault->kind, FaultKind::illegal_instruction);
  EXPECT_NE(o.result.fault->message.find("multiple of 16"), std::string::npos) << o.result.fault->message;
  o = run(load_body(c, 256), TensorMap{}, memory, std::vector<u8>(256));
  ASSERT_TRUE(o.result.fault.has_value());
  EXPECT_EQ(o.result.fault->kind, FaultKind::illegal_instruction);
  EXPECT_NE(o.result.fault->message.find("not a tensor map"), std::string::npos);
}

TEST(TensorMaps, BadArgumentsAreErrors) {
  auto refused = [](auto change) {
    TiledTensor t = make(TensorType::float32, {64, 8}, {16, 4}, TensorSwizzle::bytes_64);
    t.address = 0x1000;
    EXPECT_TRUE(encode(t).ok());
    change(t);
    return !encode(t).ok();
  };
  EXPECT_TRUE(refused([](TiledTensor& t) { t.rank = 6; }));
  EXPECT_TRUE(refused([](TiledTensor& t) { t.rank = 0; }));
  EXPECT_TRUE(refused([](TiledTensor& t) { t.address += 8; }));
  EXPECT_TRUE(refused([](TiledTensor& t) { t.dims[1] = 0; }));
  EXPECT_TRUE(refused([](TiledTensor& t) { t.strides[0] = 260; }));
  EXPECT_TRUE(refused([](TiledTensor& t) { t.box[1] = 257; }));
  EXPECT_TRUE(refused([](TiledTensor& t) { t.box[0] = 3; }));   // 12 bytes
  EXPECT_TRUE(refused([](TiledTensor& t) { t.box[0] = 32; }));  // wider than the swizzle
  EXPECT_TRUE(refused([](TiledTensor& t) { t.element_strides[1] = 9; }));
  EXPECT_TRUE(refused([](TiledTensor& t) { t.type = TensorType::int32, t.fill = TensorFill::nan; }));
  EXPECT_TRUE(refused([](TiledTensor& t) { t.interleave = TensorInterleave::bytes_16; }));  // rank 2
  Im2colTensor columns;
  columns.tensor = make(TensorType::float16, {16, 8, 8, 2}, {1, 1, 1, 1});
  columns.tensor.address = 0x1000, columns.channels_per_pixel = 16, columns.pixels_per_column = 64;
  EXPECT_TRUE(encode(columns).ok());
  columns.lower[0] = -129;  // 8 bits a corner at rank 4
  EXPECT_FALSE(encode(columns).ok());
}

TEST(TensorMaps, WordOneStaysClear) {  // CuTe clears bit 21 of it
  TiledTensor t = make(TensorType::float32, {64, 8}, {16, 4});
  t.address = 0x123456789a0;
  auto tensor_map = encode(t);
  ASSERT_TRUE(tensor_map.ok());
  u64 words[16];
  std::memcpy(words, &*tensor_map, 128);
  EXPECT_EQ(words[1], 0u);
}

}  // namespace
}  // namespace cutegen::vgpu
