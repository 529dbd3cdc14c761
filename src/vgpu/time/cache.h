// A set-associative cache of 128-byte lines that are filled sector by sector (32 bytes), with least-recently-used replacement. Sets are
// chosen by a hash of the line's address, as hardware does to spread strides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cutegen::vgpu {

inline constexpr uint64_t kLineBytes = 128, kSectorBytes = 32;

class SectoredCache {
 public:
  SectoredCache(uint64_t bytes, uint32_t ways);

  struct Touched {
    uint8_t hit = 0;           // sectors of those asked for that were there
    uint8_t written_back = 0;  // dirty sectors of the line that had to leave, counted
    bool allocated = false;    // the line was not there
    bool replaced = false;     // and another left for it
  };
  // Sectors `mask` (bit i: bytes 32 i ...) of the line at address 128 * `line`. They are there afterwards; `dirty` marks them as written.
  Touched touch(uint64_t line, uint8_t mask, bool dirty);
  // The sectors of `mask` that are there; nothing changes.
  uint8_t peek(uint64_t line, uint8_t mask) const;
  void clear();

 private:
  struct Line {
    uint64_t tag = ~0ull;
    uint32_t used = 0;
    uint8_t valid = 0, dirty = 0;
  };
  size_t set_of(uint64_t line) const;
  uint32_t ways_;
  size_t sets_;
  uint32_t now_ = 0;
  std::vector<Line> lines_;
};

}  // namespace cutegen::vgpu
