#include "vgpu/mem/written.h"

#include <algorithm>

namespace cutegen::vgpu {
namespace {

// Bits [first, first + count) of a word, count up to 64 - first.
u64 bits_of(u64 first, u64 count) { return (count >= 64 ? ~0ull : (1ull << count) - 1) << first; }

}  // namespace

WrittenBytes::Page* WrittenBytes::page(u64 index) {
  if (Page* p = pages_[index].load(std::memory_order_acquire)) return p;
  const std::lock_guard lock(mutex_);
  if (Page* p = pages_[index].load(std::memory_order_acquire)) return p;
  owned_.push_back(std::make_unique<Page>());
  pages_[index].store(owned_.back().get(), std::memory_order_release);
  return owned_.back().get();
}

void WrittenBytes::set(u64 offset, u64 bytes) {
  const u64 end = std::min(offset + bytes, bytes_);
  while (offset < end) {
    const u64 in_word = offset % 64, n = std::min(64 - in_word, end - offset), bits = bits_of(in_word, n);
    std::atomic<u64>& word = page(offset / kPage)->bits[offset % kPage / 64];
    if ((~word.load(std::memory_order_relaxed) & bits) != 0) word.fetch_or(bits, std::memory_order_relaxed);
    offset += n;
  }
}

u64 WrittenBytes::first_missing(u64 offset, u64 bytes) const {
  const u64 end = std::min(offset + bytes, bytes_);
  while (offset < end) {
    const Page* p = pages_[offset / kPage].load(std::memory_order_acquire);
    if (p == nullptr) return offset;
    const u64 in_word = offset % 64, n = std::min(64 - in_word, end - offset), bits = bits_of(in_word, n);
    const u64 missing = ~p->bits[offset % kPage / 64].load(std::memory_order_relaxed) & bits;
    if (missing != 0) return offset - in_word + static_cast<u64>(std::countr_zero(missing));
    offset += n;
  }
  return end;
}

}  // namespace cutegen::vgpu
