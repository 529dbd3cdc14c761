#include "vgpu/observe/counters.h"

#include <algorithm>
#include <bit>

#include "vgpu/isa/warp.h"
#include "vgpu/mem/port.h"

namespace cutegen::vgpu {
namespace {

constexpr u64 kSector = 32;  // bytes

u64 lane_count(u32 mask) { return mask == ~0u ? kLanes : static_cast<u64>(std::popcount(mask)); }

// Distinct sectors that the lanes in `mask` touch. Addresses mostly rise with the lane, so the last one seen is the likely repeat.
u64 count_sectors(const MemoryEvent& e) {
  u64 seen[2 * kLanes];
  size_t n = 0;
  for (u32 m = e.mask; m != 0; m &= m - 1) {
    const u64 a = e.addresses[std::countr_zero(m)];
    for (u64 s = a / kSector; s <= (a + e.bytes - 1) / kSector && n < 2 * kLanes; ++s) {
      if (n > 0 && seen[n - 1] == s) continue;
      seen[n++] = s;
    }
  }
  std::sort(seen, seen + n);
  return static_cast<u64>(std::unique(seen, seen + n) - seen);
}

}  // namespace

void CounterObserver::executed(const Warp&, const Inst* first, u32 count, u32 mask) {
  const u64 lanes = lane_count(mask);
  const size_t begin = first->id, end = begin + count;
  executed_[begin] += 1, executed_[end] -= 1;
  lanes_[begin] += lanes, lanes_[end] -= lanes;
}

void CounterObserver::predicated(const Warp&, const Inst& inst, u32 off) { off_[inst.id] += lane_count(off); }

void CounterObserver::branch(const Warp&, const Inst&, bool divergent) {
  ++counters_.branches;
  counters_.divergent_branches += divergent;
}

void CounterObserver::count_global(Access access, u64 sectors, u64 bytes) {
  if (access == Access::atomic)
    ++counters_.atomic_requests;
  else if (access == Access::load)
    ++counters_.global_load_requests, counters_.global_load_sectors += sectors, counters_.global_load_bytes += bytes;
  else
    ++counters_.global_store_requests, counters_.global_store_sectors += sectors, counters_.global_store_bytes += bytes;
}

void CounterObserver::global_access(const MemoryEvent& e) { count_global(e.access, count_sectors(e), u64{e.bytes} * lane_count(e.mask)); }

void CounterObserver::row(const RowEvent& r) {
  if (r.space == Space::shared) return Observer::row(r);
  const u64 bytes = u64{kLanes} * r.bytes;
  count_global(r.access, (r.address + bytes - 1) / kSector - r.address / kSector + 1, bytes);
}

// 32 banks of 4 bytes. 8-byte accesses go by half warps, 16-byte ones by quarters; lanes that touch the same word do not conflict.
void CounterObserver::shared_access(const MemoryEvent& e) {
  if (e.access == Access::load)
    ++counters_.shared_load_requests;
  else if (e.access == Access::store)
    ++counters_.shared_store_requests;
  const u32 words_a_lane = std::max(1u, e.bytes / 4), group = kLanes / words_a_lane;
  for (u32 first = 0; first < kLanes; first += group) {
    u64 words[kLanes];
    size_t n = 0;
    for (u32 lane = first; lane < first + group; ++lane) {
      if (((e.mask >> lane) & 1) == 0) continue;
      for (u32 k = 0; k < words_a_lane; ++k) words[n++] = e.addresses[lane] / 4 + k;
    }
    if (n == 0) continue;
    std::sort(words, words + n);
    n = static_cast<size_t>(std::unique(words, words + n) - words);
    u32 in_bank[32] = {}, worst = 0;
    for (size_t i = 0; i < n; ++i) worst = std::max(worst, ++in_bank[words[i] % 32]);
    counters_.shared_wavefronts += worst;
    counters_.shared_bank_conflicts += worst - 1;
  }
}

void CounterObserver::access(const MemoryEvent& e) {
  switch (e.space) {
    case Space::global: return global_access(e);
    case Space::shared:
    case Space::shared_cluster: return shared_access(e);
    case Space::local: ++counters_.local_requests; return;
    case Space::generic: {
      const u64 window = e.addresses[std::countr_zero(e.mask)] >> kWindowBits << kWindowBits;
      if (window == kSharedWindow) return shared_access(e);
      if (window == kLocalWindow)
        ++counters_.local_requests;
      else
        global_access(e);
      return;
    }
    case Space::constant:
    case Space::param: return;
  }
}

Counters CounterObserver::counters() const {
  Counters c = counters_;
  u64 executed = 0, lanes = 0;
  for (size_t pc = 0; pc < image_.code.size(); ++pc) {
    const PcInfo& info = image_.pcs[pc];
    const Inst& inst = image_.code[pc];
    executed += executed_[pc], lanes += lanes_[pc];
    if (executed == 0 || inst.kind == Kind::join) continue;
    c.warp_instructions += executed;
    c.thread_instructions += lanes - off_[pc];
    c.by_opcode[std::string(info.opcode)] += executed;
    c.by_pipe[to_string(inst.pipe)] += executed;
    if (inst.kind == Kind::barrier) c.barriers += executed;
    if (inst.pipe == Pipe::tensor) c.tensor_macs += executed * inst.param;
    if (info.loc < 0) continue;
    const ptx::Loc& loc = image_.module->locs[static_cast<size_t>(info.loc)];
    c.by_line[{image_.module->file_path(loc.file), loc.line}] += executed;
  }
  return c;
}

void Counters::add(const Counters& o) {
  for (auto member :
       {&Counters::warp_instructions, &Counters::thread_instructions, &Counters::branches, &Counters::divergent_branches,
        &Counters::global_load_requests, &Counters::global_load_sectors, &Counters::global_store_requests, &Counters::global_store_sectors,
        &Counters::global_load_bytes, &Counters::global_store_bytes, &Counters::shared_load_requests, &Counters::shared_store_requests,
        &Counters::shared_wavefronts, &Counters::shared_bank_conflicts, &Counters::local_requests, &Counters::atomic_requests,
        &Counters::barriers, &Counters::tensor_macs, &Counters::async_copy_bytes})
    this->*member += o.*member;
  for (const auto& [k, n] : o.by_opcode) by_opcode[k] += n;
  for (const auto& [k, n] : o.by_pipe) by_pipe[k] += n;
  for (const auto& [k, n] : o.by_line) by_line[k] += n;
}

}  // namespace cutegen::vgpu
