// Matrix instructions of the differential suite: moves, mma.sync (dense and sparse), wgmma. The list is written out, not taken from the
// registry: the numerics of the types that an implementation does not have yet are wanted as well.
#pragma once

#include "vgpu/differential/kernel.h"

namespace cutegen::differential {

inline Case matrix_move_case(const vgpu::Form& f) {
  Kernel k(f.name);
  const bool trans = f.name.find(".trans") != std::string::npos, generic = f.name.find(".generic") != std::string::npos;
  if (f.name.starts_with("movmatrix")) {
    const std::string a = k.source(Value::U32, "int"), d = k.fresh(Value::U32);
    k.line(f.name + " " + d + ", " + a);
    k.result(d, Value::U32);
    k.with_rows(512);
    return k.take();
  }
  // A warp has 32 rows of 16 bytes in shared memory; lane l names row 31 - l.
  k.line(".shared .align 16 .b8 rows[2048]; .reg .b64 %base, %mine, %row_at; .reg .b32 %x");
  k.line("mov.u64 %base, rows");
  k.line("mul.wide.u32 %mine, %me, 16");
  k.line("add.u64 %mine, %mine, %base");
  k.line("xor.b32 %x, %me, 31");
  k.line("mul.wide.u32 %row_at, %x, 16");
  k.line("add.u64 %row_at, %row_at, %base");
  const std::string lo = k.source(Value::U64, "int"), hi = k.source(Value::U64, "int");
  k.line("st.shared.u64 [%mine], " + lo);
  k.line("st.shared.u64 [%mine+8], " + hi);
  k.line("bar.sync 0");
  const bool load = f.name.starts_with("ld");
  const vgpu::OperandSpec& o = f.operands[load ? 0 : 1];
  std::vector<std::string> regs;
  for (int n = 0; n < o.count; ++n) regs.push_back(load ? k.fresh(Value::U32) : k.source(Value::U32, "int"));
  if (generic) k.line("cvta.shared.u64 %row_at, %row_at");
  const std::string opcode = std::string(load ? "ldmatrix" : "stmatrix") + ".sync.aligned.m8n8.x" + std::to_string(o.count) +
                             (trans ? ".trans" : "") + (generic ? "" : ".shared") + ".b16";
  k.line(load ? opcode + " " + braces(regs) + ", [%row_at]" : opcode + " [%row_at], " + braces(regs));
  k.line("bar.sync 0");
  if (load) {
    for (const std::string& r : regs) k.result(r, Value::U32);
  } else {
    for (int i = 0; i < 2; ++i) {
      const std::string v = k.fresh(Value::U64);
      k.line("ld.shared.u64 " + v + ", [%mine+" + std::to_string(8 * i) + "]");
      k.result(v, Value::U64);
    }
  }
  k.with_rows(512);
  return k.take();
}

// Registers a lane of D and C, A, B; the types are in the name.
struct MmaShape {
  const char* name;  // without .sync.aligned
  int d, a, b;
  const char *d_type, *a_type, *b_type;
  const char* metadata = "";  // sparse: the kind of the selector
};
inline const std::vector<MmaShape>& mma_shapes() {
  static const std::vector<MmaShape> shapes = {
      {"mma.m16n8k8.row.col.f32.f16.f16.f32", 4, 2, 1, "f32", "f16", "f16"},
      {"mma.m16n8k16.row.col.f32.f16.f16.f32", 4, 4, 2, "f32", "f16", "f16"},
      {"mma.m16n8k8.row.col.f16.f16.f16.f16", 2, 2, 1, "f16", "f16", "f16"},
      {"mma.m16n8k16.row.col.f16.f16.f16.f16", 2, 4, 2, "f16", "f16", "f16"},
      {"mma.m16n8k8.row.col.f32.bf16.bf16.f32", 4, 2, 1, "f32", "bf16", "bf16"},
      {"mma.m16n8k16.row.col.f32.bf16.bf16.f32", 4, 4, 2, "f32", "bf16", "bf16"},
      {"mma.m16n8k4.row.col.f32.tf32.tf32.f32", 4, 2, 1, "f32", "tf32", "tf32"},
      {"mma.m16n8k8.row.col.f32.tf32.tf32.f32", 4, 4, 2, "f32", "tf32", "tf32"},
      {"mma.m16n8k16.row.col.f32.e4m3.e4m3.f32", 4, 2, 1, "f32", "e4m3", "e4m3"},
      {"mma.m16n8k32.row.col.f32.e4m3.e4m3.f32", 4, 4, 2, "f32", "e4m3", "e4m3"},
      {"mma.m16n8k32.row.col.f32.e5m2.e5m2.f32", 4, 4, 2, "f32", "e5m2", "e5m2"},
      {"mma.m16n8k32.row.col.f32.e4m3.e5m2.f32", 4, 4, 2, "f32", "e4m3", "e5m2"},
      {"mma.m16n8k32.row.col.f32.e5m2.e4m3.f32", 4, 4, 2, "f32", "e5m2", "e4m3"},
      {"mma.m16n8k32.row.col.f16.e4m3.e4m3.f16", 2, 4, 2, "f16", "e4m3", "e4m3"},
      {"mma.m16n8k32.row.col.f16.e5m2.e5m2.f16", 2, 4, 2, "f16", "e5m2", "e5m2"},
      {"mma.m8n8k4.row.col.f64.f64.f64.f64", 2, 1, 1, "f64", "f64", "f64"},
      {"mma.m16n8k4.row.col.f64.f64.f64.f64", 4, 2, 1, "f64", "f64", "f64"},
      {"mma.m16n8k8.row.col.f64.f64.f64.f64", 4, 4, 2, "f64", "f64", "f64"},
      {"mma.m16n8k16.row.col.f64.f64.f64.f64", 4, 8, 4, "f64", "f64", "f64"},
      {"mma.m8n8k16.row.col.s32.s8.s8.s32", 2, 1, 1, "s32", "s8", "s8"},
      {"mma.m8n8k16.row.col.s32.u8.u8.s32", 2, 1, 1, "s32", "u8", "u8"},
      {"mma.m16n8k16.row.col.s32.s8.s8.s32", 4, 2, 1, "s32", "s8", "s8"},
      {"mma.m16n8k16.row.col.s32.u8.u8.s32", 4, 2, 1, "s32", "u8", "u8"},
      {"mma.m16n8k16.row.col.s32.s8.u8.s32", 4, 2, 1, "s32", "s8", "u8"},
      {"mma.m16n8k16.row.col.s32.u8.s8.s32", 4, 2, 1, "s32", "u8", "s8"},
      {"mma.m16n8k32.row.col.s32.s8.s8.s32", 4, 4, 2, "s32", "s8", "s8"},
      {"mma.m16n8k32.row.col.s32.u8.u8.s32", 4, 4, 2, "s32", "u8", "u8"},
      {"mma.m16n8k32.row.col.s32.s8.u8.s32", 4, 4, 2, "s32", "s8", "u8"},
      {"mma.m16n8k32.row.col.s32.u8.s8.s32", 4, 4, 2, "s32", "u8", "s8"},
      {"mma.m16n8k32.row.col.satfinite.s32.s8.s8.s32", 4, 4, 2, "s32", "s8", "s8"},
      {"mma.m16n8k32.row.col.satfinite.s32.u8.u8.s32", 4, 4, 2, "s32", "u8", "u8"},
      {"mma.m8n8k32.row.col.s32.s4.s4.s32", 2, 1, 1, "s32", "s4", "s4"},
      {"mma.m16n8k32.row.col.s32.s4.s4.s32", 4, 2, 1, "s32", "s4", "s4"},
      {"mma.m16n8k64.row.col.s32.s4.s4.s32", 4, 4, 2, "s32", "s4", "s4"},
      {"mma.m16n8k64.row.col.s32.u4.u4.s32", 4, 4, 2, "s32", "u4", "u4"},
      {"mma.m8n8k128.row.col.s32.b1.b1.s32.xor.popc", 2, 1, 1, "s32", "b1", "b1"},
      {"mma.m16n8k128.row.col.s32.b1.b1.s32.xor.popc", 4, 2, 1, "s32", "b1", "b1"},
      {"mma.m16n8k256.row.col.s32.b1.b1.s32.and.popc", 4, 4, 2, "s32", "b1", "b1"},
      {"mma.m16n8k256.row.col.s32.b1.b1.s32.xor.popc", 4, 4, 2, "s32", "b1", "b1"},
      {"mma.sp::ordered_metadata.m16n8k16.row.col.f32.f16.f16.f32", 4, 2, 2, "f32", "f16", "f16", "selector"},
      {"mma.sp::ordered_metadata.m16n8k32.row.col.f32.f16.f16.f32", 4, 4, 4, "f32", "f16", "f16", "selector"},
      {"mma.sp::ordered_metadata.m16n8k32.row.col.f16.f16.f16.f16", 2, 4, 4, "f16", "f16", "f16", "selector"},
      {"mma.sp::ordered_metadata.m16n8k16.row.col.f32.bf16.bf16.f32", 4, 2, 2, "f32", "bf16", "bf16", "selector"},
      {"mma.sp::ordered_metadata.m16n8k32.row.col.f32.bf16.bf16.f32", 4, 4, 4, "f32", "bf16", "bf16", "selector"},
      {"mma.sp::ordered_metadata.m16n8k8.row.col.f32.tf32.tf32.f32", 4, 2, 2, "f32", "tf32", "tf32", "selector1"},
      {"mma.sp::ordered_metadata.m16n8k16.row.col.f32.tf32.tf32.f32", 4, 4, 4, "f32", "tf32", "tf32", "selector1"},
      {"mma.sp::ordered_metadata.m16n8k64.row.col.f32.e4m3.e4m3.f32", 4, 4, 4, "f32", "e4m3", "e4m3", "selector"},
      {"mma.sp::ordered_metadata.m16n8k64.row.col.s32.s8.s8.s32", 4, 4, 4, "s32", "s8", "s8", "selector"},
  };
  return shapes;
}
inline std::vector<std::string> sources(Kernel& k, int count, Value v, const std::string& kind) {
  std::vector<std::string> regs;
  for (int i = 0; i < count; ++i) regs.push_back(k.source(v, kind));
  return regs;
}
inline std::vector<std::string> registers(Kernel& k, int count, Value v) {
  std::vector<std::string> regs;
  for (int i = 0; i < count; ++i) regs.push_back(k.fresh(v));
  return regs;
}
inline std::string with_sync(std::string name) {  // mma[.sp::...].sync.aligned.m16...
  return name.insert(name.find(".m", 3), ".sync.aligned");
}
inline Case mma_case(const MmaShape& m) {
  Kernel k(m.name);
  const Value wide = std::string(m.d_type) == "f64" ? Value::F64 : Value::U32;
  const std::vector<std::string> a = sources(k, m.a, wide, std::string("m.") + m.a_type),
                                 b = sources(k, m.b, wide, std::string("n.") + m.b_type),
                                 c = sources(k, m.d, wide, std::string("c.") + m.d_type), d = registers(k, m.d, wide);
  std::string text = with_sync(m.name) + " " + join({braces(d), braces(a), braces(b), braces(c)});
  if (*m.metadata != 0) text += ", " + k.source(Value::U32, m.metadata) + ", 0x0";
  k.line(text);
  for (const std::string& r : d) k.result(r, wide);
  k.with_rows(16384);
  return k.take();
}

struct WgmmaType {
  const char *types, *d_type, *a_type, *b_type;
  bool transposes, scales, registered;  // literals; whether every N is wanted
};
inline const std::vector<WgmmaType>& wgmma_types() {
  static const std::vector<WgmmaType> types = {
      {"f32.f16.f16", "f32", "f16", "f16", true, true, true},          {"f16.f16.f16", "f16", "f16", "f16", true, true, true},
      {"f32.bf16.bf16", "f32", "bf16", "bf16", true, true, true},      {"f32.tf32.tf32", "f32", "tf32", "tf32", false, true, true},
      {"f32.e4m3.e4m3", "f32", "e4m3", "e4m3", false, true, true},     {"f32.e5m2.e5m2", "f32", "e5m2", "e5m2", false, true, true},
      {"f32.e4m3.e5m2", "f32", "e4m3", "e5m2", false, true, false},    {"f32.e5m2.e4m3", "f32", "e5m2", "e4m3", false, true, false},
      {"f16.e4m3.e4m3", "f16", "e4m3", "e4m3", false, true, false},    {"f16.e5m2.e5m2", "f16", "e5m2", "e5m2", false, true, false},
      {"f16.e4m3.e5m2", "f16", "e4m3", "e5m2", false, true, false},    {"f16.e5m2.e4m3", "f16", "e5m2", "e4m3", false, true, false},
      {"s32.s8.s8", "s32", "s8", "s8", false, false, false},           {"s32.u8.u8", "s32", "u8", "u8", false, false, false},
      {"s32.s8.u8", "s32", "s8", "u8", false, false, false},           {"s32.u8.s8", "s32", "u8", "s8", false, false, false},
      {"s32.s8.s8.satfinite", "s32", "s8", "s8", false, false, false},
  };
  return types;
}
// Literals after the accumulators' scale: scale-a, scale-b, trans-a, trans-b.
struct WgmmaVariant {
  const char* suffix = "";
  int scale_a = 1, scale_b = 1, trans_a = 0, trans_b = 0, swizzle = 0;
  bool add = true;
};

// The operands of a warpgroup lie in shared memory as they come: cores of 8 rows of 16 bytes, no swizzle unless the variant has one.
inline Case wgmma_case(const WgmmaType& t, int n, bool from_registers, const WgmmaVariant& v = {}) {
  const bool half = std::string(t.d_type) == "f16";
  const int element_bits = std::string(t.a_type) == "tf32"                         ? 32
                           : std::string(t.a_type).find("16") != std::string::npos ? 16
                                                                                   : 8,
            d_count = n / (half ? 4 : 2);
  std::string shape = "m64n" + std::to_string(n) + "k" + std::to_string(256 / element_bits) + ".", types = t.types;
  Kernel k("wgmma.mma_async." + shape + types + (from_registers ? ".rs" : "") + v.suffix);
  const bool swizzled = v.swizzle != 0 || v.trans_a != 0 || v.trans_b != 0;
  const int a_words = from_registers ? 0 : swizzled ? 16 : 4, b_words = swizzled ? 16 : (n + 15) / 16;  // 512 bytes each
  k.line(
      ".shared .align 1024 .b8 tile_a[8192]; .shared .align 1024 .b8 tile_b[8192]; .reg .b64 %mine, %base, %da, %db; .reg .b32 %x; .reg "
      ".pred %scale_d");
  k.line("mul.wide.u32 %mine, %me, 4");
  auto fill = [&](const char* tile, int words, const std::string& kind) {
    k.line(std::string("mov.u64 %base, ") + tile);
    k.line("add.u64 %base, %base, %mine");
    for (int i = 0; i < words; ++i) {
      const std::string r = k.source(Value::U32, kind);
      k.line("st.shared.u32 [%base+" + std::to_string(512 * i) + "], " + r);
    }
  };
  fill("tile_a", a_words, std::string("m.") + t.a_type);
  fill("tile_b", b_words, std::string("n.") + t.b_type);
  // Without a swizzle: the second 16 bytes of k are 128 bytes on, the next 8 rows 256. With one: the next 8 rows (or the next columns of k)
  // 8 swizzle widths on, the next columns of an MN-major tile 2048 bytes on.
  const int width = v.swizzle == 0 ? 16 : 16 << v.swizzle;
  const int leading = swizzled && v.swizzle != 0 ? 2048 : 128, stride = swizzled && v.swizzle != 0 ? 8 * width : 256,
            layout = v.swizzle == 0 ? 0 : 4 - v.swizzle;
  const unsigned long long fixed = static_cast<unsigned long long>(leading >> 4) << 16 |
                                   static_cast<unsigned long long>(stride >> 4) << 32 | static_cast<unsigned long long>(layout) << 62;
  auto descriptor = [&](const char* r, const char* tile) {
    k.line(std::string("mov.u64 %base, ") + tile);
    k.line("cvt.u32.u64 %x, %base");
    k.line("shr.u32 %x, %x, 4");
    k.line("and.b32 %x, %x, 0x3fff");
    k.line(std::string("cvt.u64.u32 ") + r + ", %x");
    k.line(std::string("or.b64 ") + r + ", " + r + ", " + std::to_string(fixed));
  };
  descriptor("%da", "tile_a");
  descriptor("%db", "tile_b");
  std::vector<std::string> a;
  if (from_registers) a = sources(k, 4, Value::U32, std::string("m.") + t.a_type);
  const std::vector<std::string> d = sources(k, d_count, Value::U32, std::string("c.") + t.d_type);
  k.line("fence.proxy.async");
  k.line("bar.sync 0");
  k.line(std::string("setp.") + (v.add ? "ge" : "lt") + ".u32 %scale_d, %me, 0");
  k.line("wgmma.fence.sync.aligned");
  std::string text =
      "wgmma.mma_async.sync.aligned." + shape + types + " " + join({braces(d), from_registers ? braces(a) : "%da", "%db", "%scale_d"});
  if (t.scales) text += ", " + std::to_string(v.scale_a) + ", " + std::to_string(v.scale_b);
  if (t.transposes) text += (from_registers ? "" : ", " + std::to_string(v.trans_a)) + ", " + std::to_string(v.trans_b);
  k.line(text);
  k.line("wgmma.commit_group.sync.aligned");
  k.line("wgmma.wait_group.sync.aligned 0");
  for (const std::string& r : d) k.result(r, Value::U32);
  Case& c = k.with_rows(n == 8 ? 8192 : n == 16 ? 2048 : n == 64 || n == 256 || *v.suffix != 0 ? 1024 : 128);
  c.tile = 128;
  return k.take();
}

inline void matrix_cases(std::vector<Case>& all) {
  for (const MmaShape& m : mma_shapes()) all.push_back(mma_case(m));
  for (const WgmmaType& t : wgmma_types())
    for (int n = 8; n <= 256; n += 8) {
      if (!t.registered && n != 8 && n != 64) continue;
      const bool integer = !t.scales;
      if (integer && n == 56) continue;
      for (bool rs : {false, true}) all.push_back(wgmma_case(t, n, rs));
    }
  for (const WgmmaType& t : wgmma_types()) {
    if (t.scales && t.registered) {
      all.push_back(wgmma_case(t, 8, false, {.suffix = "/minus_a", .scale_a = -1}));
      all.push_back(wgmma_case(t, 8, true, {.suffix = "/minus_b", .scale_b = -1}));
    }
    all.push_back(wgmma_case(t, 8, false, {.suffix = "/from_zero", .add = false}));
  }
  const char* suffixes[] = {"/plain", "/swizzle32", "/swizzle64", "/swizzle128"};
  const char* transposed[][4] = {{"/a_plain", "/a_swizzle32", "/a_swizzle64", "/a_swizzle128"},
                                 {"/b_plain", "/b_swizzle32", "/b_swizzle64", "/b_swizzle128"}};
  for (int swizzle = 0; swizzle < 4; ++swizzle)
    for (size_t type : {size_t{0}, size_t{2}, size_t{3}, size_t{4}}) {
      const WgmmaType& t = wgmma_types()[type];
      if (swizzle != 0) all.push_back(wgmma_case(t, 32, false, {.suffix = suffixes[swizzle], .swizzle = swizzle}));
      if (!t.transposes) continue;
      all.push_back(wgmma_case(t, 32, false, {.suffix = transposed[0][swizzle], .trans_a = 1, .swizzle = swizzle}));
      all.push_back(wgmma_case(t, 32, false, {.suffix = transposed[1][swizzle], .trans_b = 1, .swizzle = swizzle}));
    }
}

}  // namespace cutegen::differential
