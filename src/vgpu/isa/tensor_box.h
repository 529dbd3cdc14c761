// Which elements of a tensor a copy by TMA moves, and where they lie in shared memory.
// Source: PTX ISA 5.5 (tensors, tiled and im2col modes, swizzling), 9.7.9.27.
#pragma once

#include <array>

#include "vgpu/isa/types.h"
#include "vgpu/tensor_map.h"

namespace cutegen::vgpu {

// A row: elements of dimension 0 that are neighbours in global memory and, before swizzling, in shared memory.
struct TensorRow {
  bool inside = false;     // outside: every element is beyond the tensor's edge in some other dimension
  u64 address = 0;         // of element `first`; only when inside
  u32 first = 0, end = 0;  // elements of the row within the tensor; the others are outside
};

class TensorBox {
 public:
  // `start`: coordinates as the instruction has them; `offsets`: im2col offsets, dimension 1 first.
  TensorBox(const TensorMap& map, const std::array<s32, 5>& start, const std::array<u32, 3>& offsets);

  u32 row_elements() const { return row_elements_; }
  u32 row_bytes() const { return row_elements_ * element_bytes_; }
  // Rows narrower than the swizzle lie that far apart all the same (measured on an H200); the gaps are left alone.
  u32 row_pitch() const { return row_bytes() < swizzle_span_ ? swizzle_span_ : row_bytes(); }
  u32 bytes() const { return rows_ * row_bytes(); }                             // that are copied, and that a barrier counts
  u32 shared_bytes() const { return (rows_ - 1) * row_pitch() + row_bytes(); }  // from the first to the last in shared memory
  u32 rows() const { return rows_; }
  TensorRow next();  // the next row, in the order of shared memory; call it rows() times

  // The shared address of a 16-byte chunk that would lie at `address` without swizzling.
  u64 swizzled(u64 address) const { return address ^ (((address >> 7) & swizzle_mask_) << 4); }

 private:
  TensorRow row_at(const std::array<s64, 5>& at) const;
  void advance_tiled();
  void advance_im2col();

  const TensorMap& map_;
  std::array<s64, 5> start_{}, at_{};  // im2col: without the offsets
  std::array<s64, 3> offsets_{};
  std::array<u32, 5> index_{};
  u32 row_elements_ = 0, element_bytes_ = 0, rows_ = 1;
  u32 swizzle_span_ = 0;  // bytes; 0 without swizzling
  u64 swizzle_mask_ = 0;
};

}  // namespace cutegen::vgpu
