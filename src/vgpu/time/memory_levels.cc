#include "vgpu/time/memory_levels.h"

#include <algorithm>
#include <bit>

namespace cutegen::vgpu {
namespace {

constexpr u32 kL1Ways = 8, kL2Ways = 16;
constexpr u64 kSmallestL1 = 16 << 10;
constexpr u64 kSectorsOfLine = kLineBytes / kSectorBytes;

double sectors(u8 mask) { return std::popcount(mask); }

}  // namespace

Lines lines_of(const u64* addresses, u32 mask, u32 bytes) {
  Lines l;
  u8 written[64][kSectorsOfLine];  // bytes of each sector, up to repeats: enough to tell full sectors of coalesced stores
  auto add = [&](u64 sector, u32 size) {
    const u64 line = sector / kSectorsOfLine;
    u32 i = l.count;
    while (i > 0 && l.entry[i - 1].line != line) --i;
    if (i == 0) {
      if (l.count == 64) return;
      i = ++l.count;
      l.entry[i - 1] = {line, 0, 0};
      std::fill_n(written[i - 1], kSectorsOfLine, u8{0});
    }
    const u64 s = sector % kSectorsOfLine;
    l.entry[i - 1].sectors |= static_cast<u8>(1u << s);
    u8& n = written[i - 1][s];
    n = static_cast<u8>(std::min<u32>(kSectorBytes, n + size));
    if (n == kSectorBytes) l.entry[i - 1].full |= static_cast<u8>(1u << s);
  };
  for (u32 m = mask; m != 0; m &= m - 1) {
    const u64 a = addresses[std::countr_zero(m)];
    const u64 first = a / kSectorBytes, last = (a + bytes - 1) / kSectorBytes;
    for (u64 s = first; s <= last; ++s)
      add(s, first == last ? bytes : static_cast<u32>(std::min(a + bytes, (s + 1) * kSectorBytes) - std::max(a, s * kSectorBytes)));
  }
  return l;
}

MemoryLevels::MemoryLevels(const GpuProfile& gpu, u64 smem_bytes)
    : l2_(gpu.l2_bytes, kL2Ways), foreign_left_(static_cast<double>(gpu.l2_bytes / kSectorBytes)) {
  const u64 l1 = gpu.l1_bytes > smem_bytes + kSmallestL1 ? gpu.l1_bytes - smem_bytes : kSmallestL1;
  l1_.assign(gpu.sms, SectoredCache(l1, kL1Ways));
}

// A line that replaces another sends what was written of that to DRAM; one that takes an empty place replaces foreign lines, while there
// are any.
void MemoryLevels::made_room(const SectoredCache::Touched& t, LevelCounts& c) {
  c.dram_writes += t.written_back;
  if (!t.allocated || t.replaced || foreign_left_ <= 0) return;
  c.foreign_writes += kSectorsOfLine, foreign_left_ -= kSectorsOfLine;
}

// DRAM delivers 64 bytes at a time: a missing sector brings its neighbour.
Level MemoryLevels::load_l2(u64 line, u8 mask, LevelCounts& c) {
  const u8 present = l2_.peek(line, 0xf), missing = mask & static_cast<u8>(~present);
  const u8 fetched = static_cast<u8>((missing | ((missing & 0x5) << 1) | ((missing & 0xa) >> 1)) & ~present);
  made_room(l2_.touch(line, mask | fetched, false), c);
  const double missed = sectors(missing);
  c.l2_reads += sectors(mask), c.l2_read_hits += sectors(mask) - missed;
  c.dram_reads += sectors(fetched);
  return missed > 0 ? Level::dram : Level::l2;
}

void MemoryLevels::write_l2(u64 line, u8 mask, u8 full, LevelCounts& c) {
  made_room(l2_.touch(line, mask, true), c);
  c.l2_writes += sectors(mask), c.l2_partial_writes += sectors(mask & static_cast<u8>(~full));
}

Level MemoryLevels::load(u32 sm, const Lines& lines, bool bypass, LevelCounts& c) {
  Level furthest = Level::l1;
  ++c.l1_requests, c.l1_lines += lines.count;
  for (u32 i = 0; i < lines.count; ++i) {
    const auto& e = lines.entry[i];
    c.load_sectors += sectors(e.sectors);
    const u8 hit = bypass ? u8{0} : l1_[sm].touch(e.line, e.sectors, false).hit;
    c.load_hits += sectors(hit);
    const u8 missed = e.sectors & static_cast<u8>(~hit);
    if (missed != 0) furthest = std::max(furthest, load_l2(e.line, missed, c));
  }
  return furthest;
}

void MemoryLevels::store(u32, const Lines& lines, LevelCounts& c) {
  ++c.l1_requests, c.l1_lines += lines.count;
  for (u32 i = 0; i < lines.count; ++i) {
    c.store_sectors += sectors(lines.entry[i].sectors);
    write_l2(lines.entry[i].line, lines.entry[i].sectors, lines.entry[i].full, c);
  }
}

void MemoryLevels::atomic(const Lines& lines, LevelCounts& c) {
  ++c.l1_requests, c.l1_lines += lines.count;
  for (u32 i = 0; i < lines.count; ++i) {
    const u8 mask = lines.entry[i].sectors;
    const SectoredCache::Touched t = l2_.touch(lines.entry[i].line, mask, true);
    made_room(t, c);
    c.atomic_sectors += sectors(mask), c.l2_atomics += sectors(mask);
    c.dram_reads += sectors(mask) - sectors(t.hit);
  }
}

Level MemoryLevels::bulk_load(u64 address, u64 bytes, LevelCounts& c) {
  Level furthest = Level::l2;
  for (u64 s = address / kSectorBytes; s * kSectorBytes < address + bytes;) {
    u8 mask = 0;
    const u64 line = s / kSectorsOfLine;
    for (; s / kSectorsOfLine == line && s * kSectorBytes < address + bytes; ++s) mask |= static_cast<u8>(1u << (s % kSectorsOfLine));
    furthest = std::max(furthest, load_l2(line, mask, c));
  }
  return furthest;
}

void MemoryLevels::bulk_store(u64 address, u64 bytes, LevelCounts& c) {
  for (u64 s = address / kSectorBytes; s * kSectorBytes < address + bytes; ++s)
    write_l2(s / kSectorsOfLine, static_cast<u8>(1u << (s % kSectorsOfLine)), 0xf, c);
}

}  // namespace cutegen::vgpu
