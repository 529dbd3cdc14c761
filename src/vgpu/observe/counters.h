// The observer that counts: instructions, sectors, bank conflicts.
#pragma once

#include <vector>

#include "vgpu/link/image.h"
#include "vgpu/observe/observer.h"

namespace cutegen::vgpu {

class CounterObserver : public Observer {
 public:
  explicit CounterObserver(const Image& image)
      : image_(image), executed_(image.code.size() + 1), lanes_(image.code.size() + 1), off_(image.code.size()) {
    every_instruction = false, asynchronous = false, runs = true;
  }
  void instruction(const Warp&, const Inst&, u32) override {}
  void executed(const Warp& warp, const Inst* first, u32 count, u32 mask) override;
  void predicated(const Warp& warp, const Inst& inst, u32 off) override;
  void access(const MemoryEvent& event) override;
  void row(const RowEvent& event) override;
  void branch(const Warp& warp, const Inst& inst, bool divergent) override;
  void bulk(u64 bytes) override { counters_.async_copy_bytes += bytes; }
  Counters counters() const;  // with the tables by opcode, pipe and line made from the counts by pc

 private:
  void global_access(const MemoryEvent& event);
  void count_global(Access access, u64 sectors, u64 bytes);
  void shared_access(const MemoryEvent& event);
  const Image& image_;
  std::vector<u64> executed_, lanes_;  // by pc, as the difference (modulo 2^64) to the pc before: a run changes two entries
  std::vector<u64> off_;               // by pc: lanes of its runs that a guard switched off
  Counters counters_;
};

}  // namespace cutegen::vgpu
