#include "vgpu/time/cache.h"

#include <algorithm>
#include <bit>

namespace cutegen::vgpu {

SectoredCache::SectoredCache(uint64_t bytes, uint32_t ways)
    : ways_(ways), sets_(std::max<uint64_t>(1, bytes / kLineBytes / ways)), lines_(sets_ * ways) {}

size_t SectoredCache::set_of(uint64_t line) const {
  const uint64_t h = ((line ^ (line >> 17)) * 0x9e3779b97f4a7c15ull) >> 32;
  return static_cast<size_t>((h * sets_) >> 32);
}

SectoredCache::Touched SectoredCache::touch(uint64_t line, uint8_t mask, bool dirty) {
  Line* const set = lines_.data() + set_of(line) * ways_;
  Line* victim = set;
  Touched t;
  for (Line* l = set; l != set + ways_; ++l) {
    if (l->tag == line) {
      t.hit = l->valid & mask;
      l->valid |= mask;
      if (dirty) l->dirty |= mask;
      l->used = ++now_;
      return t;
    }
    if (l->used < victim->used) victim = l;
  }
  t.allocated = true;
  t.replaced = victim->valid != 0;
  t.written_back = static_cast<uint8_t>(std::popcount(victim->dirty));
  *victim = {line, ++now_, mask, dirty ? mask : uint8_t{0}};
  return t;
}

uint8_t SectoredCache::peek(uint64_t line, uint8_t mask) const {
  const Line* const set = lines_.data() + set_of(line) * ways_;
  for (const Line* l = set; l != set + ways_; ++l)
    if (l->tag == line) return l->valid & mask;
  return 0;
}

void SectoredCache::clear() {
  std::fill(lines_.begin(), lines_.end(), Line{});
  now_ = 0;
}

}  // namespace cutegen::vgpu
