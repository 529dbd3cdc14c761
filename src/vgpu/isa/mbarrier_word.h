// The 64-bit mbarrier object in shared memory. Its layout is ours, as the hardware's is opaque: bits 0-19 arrivals still pending, 20-39 the
// count that a phase starts with, 40-61 bytes of transactions outstanding (two's complement), 63 the parity of the current phase.
#pragma once

#include "vgpu/isa/types.h"

namespace cutegen::vgpu {

class Mbarrier {
 public:
  explicit Mbarrier(u64 word) : word_(word) {}
  static Mbarrier with_count(u32 count) { return Mbarrier((u64{count} & kCountMask) | (u64{count} & kCountMask) << 20); }
  u64 word() const { return word_; }
  u32 pending() const { return static_cast<u32>(word_ & kCountMask); }
  u32 initial() const { return static_cast<u32>((word_ >> 20) & kCountMask); }
  s32 transactions() const { return static_cast<s32>(static_cast<s64>(word_ << 2) >> 42); }
  u32 parity() const { return static_cast<u32>(word_ >> 63); }

  // False when more arrive than the phase expects.
  bool arrive(u32 count) {
    if (count > pending()) return false;
    word_ -= count;
    complete();
    return true;
  }
  void expect_arrival() { word_ += 1; }
  void expect(s32 bytes) {
    set_transactions(transactions() + bytes);
    complete();
  }

 private:
  static constexpr u64 kCountMask = 0xfffff;
  void set_transactions(s32 bytes) {
    word_ = (word_ & ~(0x3fffffull << 40)) | (static_cast<u64>(static_cast<u32>(bytes) & 0x3fffffu) << 40);
  }
  void complete() {
    if (pending() == 0 && transactions() == 0) word_ = (word_ ^ (1ull << 63)) | initial();
  }
  u64 word_;
};

}  // namespace cutegen::vgpu
