// The shared memory that one warp's part of a wgmma reads. Source: PTX ISA 9.7.15.5 (matrix descriptors, strides, layouts).
#include <algorithm>
#include <charconv>
#include <string_view>

#include "vgpu/exec/async.h"
#include "vgpu/mem/announce.h"

namespace cutegen::vgpu {
namespace {

struct Shape {  // of "wgmma.mma_async[.sp].m64nNkK.d.a.b"
  u32 n = 0, element_bits = 16;
  bool sparse = false;
};
Shape shape_of(const Form& form) {
  Shape s;
  const std::string_view name = form.name;
  if (const size_t at = name.find(".m64n"); at != std::string_view::npos)
    std::from_chars(name.data() + at + 5, name.data() + name.size(), s.n);
  s.sparse = name.find(".sp.") != std::string_view::npos;
  auto has = [&](const char* type) { return name.find(type) != std::string_view::npos; };
  if (has("tf32"))
    s.element_bits = 32;
  else if (has(".e4m3") || has(".e5m2") || has(".s8") || has(".u8"))
    s.element_bits = 8;
  else if (has(".b1"))
    s.element_bits = 1;
  return s;
}

struct Tile {
  Announcement& to;
  u32 start, leading, stride, swizzle;  // bytes; swizzle: 0 none, 1, 2, 3 for 32, 64, 128 bytes
  Tile(Announcement& a, u64 d)
      : to(a),
        start(static_cast<u32>(d & 0x3fff) << 4),
        leading((static_cast<u32>(d >> 16) & 0x3fff) << 4),
        stride((static_cast<u32>(d >> 32) & 0x3fff) << 4),
        swizzle((4 - static_cast<u32>(d >> 62)) & 3) {}

  void chunk(u32 address) { to.range(Access::load, Space::shared, address ^ (((address >> 7) & ((1u << swizzle) - 1)) << 4), 16); }
  // Rows of `chunks` 16-byte chunks along K; cores are 8 rows.
  void k_major(u32 first, u32 rows, u32 chunks) {
    for (u32 mn = first; mn < first + rows; ++mn)
      for (u32 c = 0; c < chunks; ++c) chunk(start + (mn % 8) * (16u << swizzle) + mn / 8 * stride + c * (swizzle == 0 ? leading : 16));
  }
  // Columns of K with 8 consecutive elements of M or N in a chunk.
  void mn_major(u32 first, u32 rows, u32 k_count) {
    const u32 width = 1u << swizzle;
    for (u32 k = 0; k < k_count; ++k)
      for (u32 c = first / 8; c < (first + rows) / 8; ++c)
        chunk(swizzle == 0 ? start + c * stride + k % 8 * 16 + k / 8 * leading
                           : start + c % width * 16 + c / width * leading + k % 8 * width * 16 + k / 8 * stride);
  }
};

}  // namespace

void announce_wgmma(Warp& w, const Inst& in, const Form& form) {
  const Shape shape = shape_of(form);
  const bool a_in_registers = form.operands.size() > 1 && form.operands[1].role == Role::vec_src;
  Announcement operation(w, in, 0);
  std::vector<const Ref*> matrices;  // descriptors, in order
  u32 literals[8] = {}, literal_count = 0;
  const Ref* op = in.op;
  for (const OperandSpec& o : form.operands) {
    if (o.role == Role::src && o.type == Value::U64) matrices.push_back(op);
    if (o.role == Role::imm && literal_count < 8) literals[literal_count++] = *op;
    op += o.role == Role::vec_dst || o.role == Role::vec_src ? o.count : 1;
  }
  const bool transposes = shape.element_bits == 16 && literal_count >= 3;  // scale-a, scale-b{, trans-a}, trans-b
  const bool trans_a = transposes && !a_in_registers && literals[2] != 0;
  const bool trans_b = transposes && literals[a_in_registers ? 2 : 3] != 0;
  const u32 k = shape.element_bits == 16 ? (shape.sparse ? 32 : 16) : 0, chunks_a = 2, chunks_b = shape.sparse ? 4 : 2;
  auto tile = [&](const Ref* ref, u32 first, u32 rows, u32 chunks, bool transposed, u32 k_count) {
    Tile t(operation, w.lanes<u64>(*ref)[0]);
    if (transposed)
      t.mn_major(first, rows, k_count);
    else
      t.k_major(first, rows, chunks);
  };
  size_t next = 0;
  if (!a_in_registers && next < matrices.size())
    tile(matrices[next++], 16 * (w.index % 4), 16, chunks_a, trans_a, shape.sparse ? k / 2 : k);
  if (next < matrices.size()) tile(matrices[next], 0, shape.n, chunks_b, trans_b, k);
  operation.completes_with_group();
}

}  // namespace cutegen::vgpu
