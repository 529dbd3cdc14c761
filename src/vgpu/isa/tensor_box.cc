#include "vgpu/isa/tensor_box.h"

#include <algorithm>

namespace cutegen::vgpu {
namespace {

// Elements that a box of `box` elements has when only every `stride`-th is copied.
u32 taken(u32 box, u32 stride) { return (box + stride - 1) / stride; }

}  // namespace

TensorBox::TensorBox(const TensorMap& map, const std::array<s32, 5>& start, const std::array<u32, 3>& offsets)
    : map_(map), element_bytes_(size_bytes(map.type)), swizzle_mask_((1u << static_cast<u32>(map.swizzle)) - 1) {
  if (swizzle_mask_ != 0) swizzle_span_ = 16u << static_cast<u32>(map.swizzle);
  for (size_t i = 0; i < 5; ++i) start_[i] = start[i];
  at_ = start_;
  row_elements_ = map.box[0];  // the first element stride does not count in layouts without interleave
  if (map.im2col != 0) {
    rows_ = map.box[1];
    for (size_t i = 0; i + 2 < map.rank; ++i) offsets_[i] = offsets[i];
  } else {
    for (size_t i = 1; i < map.rank; ++i) rows_ *= taken(map.box[i], map.element_strides[i]);
  }
}

TensorRow TensorBox::row_at(const std::array<s64, 5>& at) const {
  TensorRow row;
  u64 address = map_.address;
  for (u32 i = 1; i < map_.rank; ++i) {
    if (at[i] < 0 || at[i] >= static_cast<s64>(map_.dim(i))) return row;
    address += static_cast<u64>(at[i]) * map_.stride(i);
  }
  const s64 first = std::max<s64>(0, -at[0]), end = std::min<s64>(row_elements_, static_cast<s64>(map_.dim(0)) - at[0]);
  if (first >= end) return row;
  row.inside = true;
  row.first = static_cast<u32>(first), row.end = static_cast<u32>(end);
  row.address = address + static_cast<u64>(at[0] + first) * element_bytes_;
  return row;
}

void TensorBox::advance_tiled() {
  for (u32 i = 1; i < map_.rank; ++i) {
    at_[i] += map_.element_strides[i];
    if (++index_[i] < taken(map_.box[i], map_.element_strides[i])) return;
    index_[i] = 0, at_[i] = start_[i];
  }
}

// Pixels go through the bounding box, dimension 1 fastest, then on to the next image.
void TensorBox::advance_im2col() {
  const u32 batch = map_.rank - 1u;
  for (u32 i = 1; i < batch; ++i) {
    at_[i] += map_.element_strides[i];
    if (at_[i] < static_cast<s64>(map_.dim(i)) + map_.upper[i - 1]) return;
    at_[i] = map_.lower[i - 1];
  }
  ++at_[batch];
}

TensorRow TensorBox::next() {
  std::array<s64, 5> at = at_;
  if (map_.im2col != 0) {
    for (size_t i = 0; i + 2 < map_.rank; ++i) at[i + 1] += offsets_[i];
    advance_im2col();
  } else {
    advance_tiled();
  }
  return row_at(at);
}

}  // namespace cutegen::vgpu
