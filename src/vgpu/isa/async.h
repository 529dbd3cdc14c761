// What the bodies of asynchronous copies share.
#pragma once

#include <string>
#include <vector>

#include "vgpu/isa/builder.h"
#include "vgpu/isa/mbarrier.h"
#include "vgpu/mem/announce.h"

namespace cutegen::vgpu {

// Address operand (two references from `operand` on) of one lane.
inline u64 lane_address(const Warp& w, const Inst& in, int operand, u32 lane) {
  const Ref base = in.op[operand];
  const auto offset = static_cast<u64>(static_cast<s64>(static_cast<s32>(in.op[operand + 1])));
  if ((base & kNotRef) != 0) return static_cast<u32>(w.lanes<u32>(base)[lane] + static_cast<u32>(offset));
  return w.lanes<u64>(base)[lane] + offset;
}

// F(lane) for each lane in `mask`.
template <class F>
VGPU_INLINE void each_lane(u32 mask, F f) {
  for (u32 m = mask; m != 0; m &= m - 1) f(static_cast<u32>(std::countr_zero(m)));
}

// The same offset in another CTA's shared memory.
inline u64 in_cta(u64 shared_address, u32 rank) { return (shared_address & ((1u << kRankShift) - 1)) | u64{rank + 1} << kRankShift; }

// Marks a record as an operation that completes on the mbarrier of an operand, or with the thread's bulk group.
inline Form& completes_on(Form& f, int barrier_operand) {
  f.kind = Kind::async, f.completion = Completion::barrier, f.barrier_operand = static_cast<int8_t>(barrier_operand);
  return f;
}
inline Form& completes_with(Form& f, Completion group) {
  f.kind = Kind::async, f.completion = group;
  return f;
}

// An element-by-element reduction: dst = op(dst, src) over `bytes` bytes, each element atomically.
struct Reduction {
  std::string op, type;  // "add", "f16"
  u32 element_bytes;
  void (*apply)(char* dst, const char* src, u64 bytes);
};
const std::vector<Reduction>& reductions();
const Reduction* find_reduction(const std::string& op, const std::string& type);  // nullptr when absent

}  // namespace cutegen::vgpu
