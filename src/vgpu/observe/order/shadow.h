// The last accesses to every word of a memory: one ordinary write, and the reads and synchronising accesses since that are not ordered
// among themselves. Eight bytes for four bytes of memory that was touched; words that are accessed by halves or bytes are told apart byte
// by byte.
#pragma once

#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

#include "vgpu/isa/types.h"

namespace cutegen::vgpu {

// One instruction of one actor at one time; its lanes share it.
struct AccessInfo {
  u32 actor = 0, time = 0, pc = 0;
  bool strong = false;  // atomic or otherwise synchronising: does not race with its like
  bool asynchronous = false;
  bool async_proxy = false;
  bool writes = false;
};

// An AccessInfo of a table with a lane; 0: none.
using AccessRef = u32;
inline constexpr u32 kLaneBits = 5;
inline AccessRef access_ref(u32 info, u32 lane) { return (info + 1) << kLaneBits | lane; }
inline u32 info_of(AccessRef r) { return (r >> kLaneBits) - 1; }
inline u32 lane_of(AccessRef r) { return r & (kLanes - 1); }

struct Cell {
  AccessRef write = 0;
  u32 read = 0;  // an AccessRef, or kList and the number of a list of readers
};
inline constexpr u32 kList = 1u << 31;

struct Readers {
  struct Reader {
    u32 info = 0, lanes = 0;
  };
  std::vector<Reader> readers;
};

class Shadow {
 public:
  static constexpr u32 kMaxInfos = 1u << 25;
  // The same number for the same instruction at the same time, most of the time.
  u32 intern(const AccessInfo& info);
  const AccessInfo& info(u32 index) const { return infos_[index]; }
  // Calls f(cell) for the cells of [address, address + bytes).
  template <class F>
  void each(u64 address, u64 bytes, F f) {
    while (bytes > 0) {
      const u64 in_word = address % 4, n = std::min<u64>(4 - in_word, bytes);
      Cell& cell = word(address / 4);
      if (n == 4 && cell.write != kSplit) {
        f(cell);
      } else {
        std::array<Cell, 4>& parts = split(address / 4, cell);
        for (u64 i = in_word; i < in_word + n; ++i) f(parts[i]);
      }
      address += n, bytes -= n;
    }
  }
  Readers& list(u32 read) { return lists_[read & ~kList]; }
  u32 new_list();
  void free_list(u32 read);
  bool full() const { return infos_.size() >= kMaxInfos; }
  void forget();  // everything

 private:
  static constexpr AccessRef kSplit = ~0u;
  static constexpr u64 kPageWords = 4096;
  using Page = std::array<Cell, kPageWords>;
  Cell& word(u64 index) {
    const u64 page = index / kPageWords;
    if (page != last_page_ || last_ == nullptr) {
      std::unique_ptr<Page>& p = pages_[page];
      if (p == nullptr) p = std::make_unique<Page>();
      last_page_ = page, last_ = p.get();
    }
    return (*last_)[index % kPageWords];
  }
  std::array<Cell, 4>& split(u64 index, Cell& cell);

  std::unordered_map<u64, std::unique_ptr<Page>> pages_;
  std::unordered_map<u64, std::array<Cell, 4>> split_;
  u64 last_page_ = 0;
  Page* last_ = nullptr;
  std::vector<AccessInfo> infos_;
  std::vector<Readers> lists_;
  std::vector<u32> free_;
  std::array<u32, 1024> recent_ = {};  // by hash of actor and pc: a number of an info, plus one
};

}  // namespace cutegen::vgpu
