// The records of mma.sync, by file; matrix.cc puts them together.
#pragma once

#include "vgpu/isa/builder.h"
#include "vgpu/isa/tensor_core.h"

namespace cutegen::vgpu {

void add_dense_mma(Section& s);    // floating point
void add_integer_mma(Section& s);  // s8, u8, s4, u4, b1; and f64
void add_sparse_mma(Section& s);

// A body in one variant a host instruction set: T<Core>::run with the Core of that set.
template <template <class> class T>
constexpr Bodies bodies_by_core() {
  return {&Compiled<T<TensorCorePortable>>::portable, &Compiled<T<TensorCoreAvx2>>::avx2, &Compiled<T<TensorCoreAvx512>>::avx512};
}

}  // namespace cutegen::vgpu
