// The levels of memory behind the SMs: an L1 each, one L2, DRAM. Counts what crosses each border.
//
// Global loads look into the L1 unless told otherwise; stores go through to the L2 and leave no line in the L1; atomics work in the L2. The
// L2 keeps what is written until it must make room. It starts without anything of ours. When a kernel is timed, it is full of lines that
// somebody else wrote to make it cold, which must leave first (foreign_writes); under Nsight Compute, which invalidates it, it is empty.
#pragma once

#include <vector>

#include "vgpu/observe/observer.h"
#include "vgpu/time/cache.h"
#include "vgpu/time/profile.h"

namespace cutegen::vgpu {

enum class Level : uint8_t { l1, l2, dram };

struct LevelCounts {                     // sectors unless they say otherwise
  double l1_requests = 0, l1_lines = 0;  // of global loads, stores and atomics; lines: tag look-ups
  double load_sectors = 0, load_hits = 0, store_sectors = 0, atomic_sectors = 0;
  double l2_reads = 0, l2_read_hits = 0, l2_writes = 0, l2_partial_writes = 0, l2_atomics = 0;  // partial: not all bytes of the sector
  double dram_reads = 0, dram_writes = 0;
  double foreign_writes = 0;  // written by others before, sent to DRAM to make room
};

// Sectors of one warp's access, line by line.
struct Lines {
  struct Entry {
    u64 line;
    u8 sectors;
    u8 full;  // sectors of which a store writes every byte
  };
  Entry entry[64];
  u32 count = 0;
};
Lines lines_of(const u64* addresses, u32 mask, u32 bytes);

class MemoryLevels {
 public:
  // `smem_bytes`: of all CTAs on an SM together; the L1 has what is left.
  MemoryLevels(const GpuProfile& gpu, u64 smem_bytes);

  // The furthest level that the access reached. `sm`: whose L1.
  Level load(u32 sm, const Lines& lines, bool bypass_l1, LevelCounts& c);
  void store(u32 sm, const Lines& lines, LevelCounts& c);
  void atomic(const Lines& lines, LevelCounts& c);
  Level bulk_load(u64 address, u64 bytes, LevelCounts& c);
  void bulk_store(u64 address, u64 bytes, LevelCounts& c);

 private:
  Level load_l2(u64 line, u8 sectors, LevelCounts& c);
  void write_l2(u64 line, u8 sectors, u8 full, LevelCounts& c);
  void made_room(const SectoredCache::Touched& t, LevelCounts& c);
  std::vector<SectoredCache> l1_;
  SectoredCache l2_;
  double foreign_left_;  // sectors
};

}  // namespace cutegen::vgpu
