// The observer that counts: instructions, sectors, bank conflicts.
#pragma once

#include <vector>

#include "vgpu/link/image.h"
#include "vgpu/observe/observer.h"

namespace cutegen::vgpu {

class CounterObserver : public Observer {
 public:
  explicit CounterObserver(const Image& image) : image_(image), executed_(image.code.size()), lanes_(image.code.size()) {}
  void instruction(const Warp& warp, const Inst& inst, u32 mask) override;
  void access(const MemoryEvent& event) override;
  void branch(const Warp& warp, const Inst& inst, bool divergent) override;
  void bulk(u64 bytes) override { counters_.async_copy_bytes += bytes; }
  Counters counters() const;  // with the tables by opcode, pipe and line made from the counts by pc

 private:
  void global_access(const MemoryEvent& event);
  void shared_access(const MemoryEvent& event);
  const Image& image_;
  std::vector<u64> executed_, lanes_;  // by pc
  Counters counters_;
};

}  // namespace cutegen::vgpu
