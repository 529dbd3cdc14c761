// Which bytes of a buffer have been written: one bit a byte, in pages that appear when they are first written to. At most an eighth of the
// buffer's size. Several host threads may use one object.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "vgpu/isa/types.h"

namespace cutegen::vgpu {

class WrittenBytes {
 public:
  explicit WrittenBytes(u64 bytes) : bytes_(bytes), pages_((bytes + kPage - 1) / kPage) {}
  void set(u64 offset, u64 bytes);
  // The first byte of [offset, offset + bytes) that was not written; offset + bytes when all were.
  u64 first_missing(u64 offset, u64 bytes) const;

 private:
  static constexpr u64 kPage = 1 << 15;  // bytes
  struct Page {
    std::atomic<u64> bits[kPage / 64] = {};
  };
  Page* page(u64 index);
  u64 bytes_;
  std::vector<std::atomic<Page*>> pages_;
  std::mutex mutex_;  // of owned_
  std::vector<std::unique_ptr<Page>> owned_;
};

}  // namespace cutegen::vgpu
