// The binary layout of `cutegen_plan`, version 1. The host's decoder is src/candidate/plan_format.cc; both state it in the same words.
//
// Everything is little-endian and unpadded:
//   header        u64 magic "CUTEPLAN" | u32 version | u32 bytes in all | u32 launches | u32 tensor maps | u64 workspace bytes |
//                 u32 flags (1: workspace zeroed) | u32 0                                                          = 40 bytes
//   each launch   char[128] kernel, NUL-terminated | u32[3] grid | u32[3] block | u32[3] cluster | u32 dynamic smem bytes |
//                 u32 flags (1: cooperative, 2: PDL) | u32 arguments                                               = 176 bytes
//   its arguments u32 kind (ArgKind) | u32 index | u64 byte offset | u64 value | u32 parameter bytes | u32 0        = 32 bytes each
//   each map      u32 dtype (DType) | u32 buffer (ArgKind) | u32 index | u32 rank | u64 byte offset | u64[5] shape | u64[4] stride bytes |
//                 u32[5] box | u32[5] element strides | u32 interleave | u32 swizzle | u32 L2 promotion | u32 out-of-bounds fill = 152 bytes
// Maps follow the last launch's arguments. Entries of a map behind its rank are 0.
#pragma once

#include "plan.cuh"

namespace cutegen::detail {

inline constexpr char kMagic[9] = "CUTEPLAN";
inline constexpr uint32_t kVersion = 1;

template <int N>
struct alignas(8) Bytes {  // every record is a multiple of 8 bytes: no padding
  unsigned char value[N] = {};
};

template <class Plan>
constexpr int encoded_size(Plan const& plan) {
  int size = 40 + 176 * Plan::num_launches + 152 * (plan.num_maps < kMaxTensorMaps ? plan.num_maps : kMaxTensorMaps);
  for (int l = 0; l < Plan::num_launches; ++l) size += 32 * (plan.launches[l].num_args < 0 ? 0 : plan.launches[l].num_args);
  return size;
}

template <int N>
class Writer {
 public:
  constexpr void u32(uint64_t v) { number(v, 4); }
  constexpr void u64(uint64_t v) { number(v, 8); }
  constexpr void dim3(Dim3 const& d) {
    u32(d.x);
    u32(d.y);
    u32(d.z);
  }
  constexpr void text(char const* s, int count) {
    for (int i = 0; i < count && s[i] != 0; ++i) bytes.value[at + i] = static_cast<unsigned char>(s[i]);
    at += count;
  }
  Bytes<N> bytes;

 private:
  constexpr void number(uint64_t v, int count) {
    for (int i = 0; v != 0 && i < count; ++i, v >>= 8) bytes.value[at + i] = static_cast<unsigned char>(v & 255);
    at += count;
  }
  int at = 0;
};

template <int N>
constexpr void write_launch(Writer<N>& out, LaunchRecord const& l) {
  out.text(l.kernel, kMaxKernelName + 1);
  out.dim3(l.grid);
  out.dim3(l.block);
  out.dim3(l.cluster);
  out.u32(l.smem);
  out.u32((l.cooperative ? 1 : 0) | (l.pdl ? 2 : 0));
  out.u32(l.num_args < 0 ? 0 : l.num_args);
  for (int a = 0; a < l.num_args; ++a) {
    const Arg& arg = l.args[a];
    out.u32(static_cast<uint32_t>(arg.kind));
    out.u32(arg.index);
    out.u64(arg.offset);
    out.u64(arg.value);
    out.u32(arg.size);
    out.u32(0);
  }
}

template <int N>
constexpr void write_map(Writer<N>& out, tensor_map const& m) {
  out.u32(static_cast<uint32_t>(m.type_));
  out.u32(static_cast<uint32_t>(m.buffer_.kind));
  out.u32(m.buffer_.index);
  out.u32(m.shape_.count);
  out.u64(m.buffer_.offset);
  for (int d = 0; d < 5; ++d) out.u64(m.shape_.value[d]);
  for (int d = 0; d < 4; ++d) out.u64(m.strides_.value[d]);
  for (int d = 0; d < 5; ++d) out.u32(m.box_.value[d]);
  for (int d = 0; d < 5; ++d) out.u32(d >= m.shape_.count ? 0 : m.steps_.count == 0 ? 1 : m.steps_.value[d]);
  out.u32(m.interleave_);
  out.u32(static_cast<uint32_t>(m.swizzle_));
  out.u32(m.l2_);
  out.u32(m.oob_);
}

template <int N, class Plan>
constexpr Bytes<N> encode(Plan const& plan) {
  Writer<N> out;
  out.text(kMagic, 8);
  out.u32(kVersion);
  out.u32(N);
  out.u32(Plan::num_launches);
  out.u32(plan.num_maps < kMaxTensorMaps ? plan.num_maps : kMaxTensorMaps);
  out.u64(plan.workspace_bytes);
  out.u32(plan.workspace_zeroed ? 1 : 0);
  out.u32(0);
  for (int l = 0; l < Plan::num_launches; ++l) write_launch(out, plan.launches[l]);
  for (int m = 0; m < plan.num_maps && m < kMaxTensorMaps; ++m) write_map(out, plan.maps[m]);
  return out.bytes;
}

}  // namespace cutegen::detail
