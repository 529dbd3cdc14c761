#include "vgpu/observe/order/shadow.h"

namespace cutegen::vgpu {

u32 Shadow::intern(const AccessInfo& info) {
  u32& recent = recent_[(info.actor * 40503u + info.pc * 97u) % recent_.size()];
  if (recent != 0) {
    const AccessInfo& r = infos_[recent - 1];
    if (r.actor == info.actor && r.pc == info.pc && r.time == info.time) return recent - 1;
  }
  infos_.push_back(info);
  recent = static_cast<u32>(infos_.size());
  return recent - 1;
}

u32 Shadow::new_list() {
  if (free_.empty()) {
    lists_.emplace_back();
    return kList | static_cast<u32>(lists_.size() - 1);
  }
  const u32 list = free_.back();
  free_.pop_back();
  return list;
}

void Shadow::free_list(u32 read) {
  list(read).readers.clear();
  free_.push_back(read);
}

std::array<Cell, 4>& Shadow::split(u64 index, Cell& cell) {
  std::array<Cell, 4>& parts = split_[index];
  if (cell.write == kSplit) return parts;
  for (Cell& part : parts) {
    part = cell;
    if ((cell.read & kList) == 0) continue;
    part.read = new_list();
    list(part.read).readers = list(cell.read).readers;
  }
  if ((cell.read & kList) != 0) free_list(cell.read);
  cell = {kSplit, 0};
  return parts;
}

void Shadow::forget() {
  pages_.clear(), split_.clear(), infos_.clear(), lists_.clear(), free_.clear();
  recent_.fill(0);
  last_ = nullptr;
}

}  // namespace cutegen::vgpu
