#include "vgpu/time/profiler.h"

#include <algorithm>
#include <bit>

#include "vgpu/mem/port.h"

namespace cutegen::vgpu {
namespace {

// 32 banks of 4 bytes. A wavefront serves one word of each bank; lanes that touch the same word share it. 8-byte and 16-byte accesses go by
// half warps (as the H200 counts them: 16 lanes that read the same 16 bytes take one wavefront). `ideal`: wavefronts that the bytes alone
// need.
u32 wavefronts_of(const MemoryEvent& e, u32& ideal) {
  constexpr u32 kKept = 16;
  const u32 words_a_lane = std::max(1u, e.bytes / 4), group = words_a_lane > 1 ? kLanes / 2 : kLanes;
  u32 total = 0;
  ideal = 0;
  for (u32 first = 0; first < kLanes; first += group) {
    u64 seen[32][kKept];
    u32 in_bank[32] = {}, worst = 0, words = 0;
    for (u32 lane = first; lane < first + group; ++lane) {
      if (((e.mask >> lane) & 1) == 0) continue;
      for (u32 k = 0; k < words_a_lane; ++k) {
        const u64 word = e.addresses[lane] / 4 + k;
        const u32 bank = word % 32, n = in_bank[bank];
        bool known = false;
        for (u32 i = 0; i < std::min(n, kKept); ++i) known = known || seen[bank][i] == word;
        if (known) continue;
        if (n < kKept) seen[bank][n] = word;
        worst = std::max(worst, ++in_bank[bank]);
        ++words;
      }
    }
    total += worst;
    ideal += (words + 31) / 32;
  }
  return total;
}

}  // namespace

namespace {

// Calls `f` with every number of `w` and its partner in `o`.
template <class F>
void each_number(Work& w, const Work& o, F f) {
  for (auto m : {&Work::ctas, &Work::warps, &Work::ptx_instructions, &Work::thread_instructions, &Work::machine_instructions,
                 &Work::anchor_instructions, &Work::shared_requests, &Work::shared_wavefronts, &Work::shared_conflicts, &Work::bulk_bytes,
                 &Work::local_sectors, &Work::tensor_ops, &Work::barrier_cycles, &Work::cta_cycles})
    f(w.*m, o.*m);
  for (size_t i = 0; i < w.pipe_cycles.size(); ++i) f(w.pipe_cycles[i], o.pipe_cycles[i]);
  for (auto m : {&LevelCounts::l1_requests, &LevelCounts::l1_lines, &LevelCounts::load_sectors, &LevelCounts::load_hits,
                 &LevelCounts::store_sectors, &LevelCounts::atomic_sectors, &LevelCounts::l2_reads, &LevelCounts::l2_read_hits,
                 &LevelCounts::l2_writes, &LevelCounts::l2_partial_writes, &LevelCounts::l2_atomics, &LevelCounts::dram_reads,
                 &LevelCounts::dram_writes, &LevelCounts::foreign_writes})
    f(w.memory.*m, o.memory.*m);
}

}  // namespace

Work& Work::operator+=(const Work& o) {
  each_number(*this, o, [](double& mine, double other) { mine += other; });
  return *this;
}

Work Work::scaled(double by) const {
  Work w = *this;
  each_number(w, w, [by](double& mine, double) { mine *= by; });
  return w;
}

Profiler::Profiler(const Image& image, const GpuProfile& gpu, u32 ctas_an_sm, u64 smem_bytes, u64 head)
    : image_(image),
      gpu_(gpu),
      costs_(pc_costs(image, gpu)),
      levels_(gpu, ctas_an_sm * smem_bytes),
      executed_(image.code.size()),
      head_ctas_(head) {}

void Profiler::cta_begin(const Cta& cta) {
  CtaClock& c = ctas_[&cta];
  c = {};
  c.sm = static_cast<u32>(started_ % gpu_.sms);
  c.in_head = started_ < head_ctas_;
  ++started_;
}

void Profiler::cta_end(const Cta& cta) {
  commit();
  CtaClock& c = ctas_[&cta];
  Work& w = c.in_head ? head_ : body_;
  w.ctas += 1, w.cta_cycles += c.latest;
  std::erase_if(warps_, [&](auto& entry) {
    if (entry.second.cta != &c) return false;
    w.warps += 1;
    return true;
  });
  ctas_.erase(&cta);
  last_warp_ = nullptr;
}

Profiler::WarpClock& Profiler::clock_of(const Warp& warp) {
  if (&warp == last_warp_) return *last_clock_;
  WarpClock& w = warps_[&warp];
  if (w.cta == nullptr) {
    w.cta = &ctas_[warp.cta];
    w.ready.assign(image_.register_bytes / 4 + 1, 0);
    w.serial = warps_started_++;
  }
  last_warp_ = &warp, last_clock_ = &w;
  work_ = w.cta->in_head ? &head_ : &body_;
  return w;
}

// A warp that passed a barrier goes on when the last of the others has come.
void Profiler::catch_up(WarpClock& w) {
  const auto id = static_cast<size_t>(w.waits_at);
  const double all = w.cta->arrivals[id][w.passes[id] - 1] + gpu_.barrier_latency;
  now().barrier_cycles += std::max(0.0, all - w.now);
  w.now = std::max(w.now, all);
  w.waits_at = -1;
}

void Profiler::instruction(const Warp& warp, const Inst& inst, u32 mask) {
  commit();
  WarpClock& w = clock_of(warp);
  if (w.waits_at >= 0) catch_up(w);
  ++executed_[inst.id];
  pending_ = {&w, &inst, mask, 0, 0, &warp, false, false};
}

void Profiler::wait(WarpClock& w, const PcCost& cost, double& start) {
  const Inst& in = *pending_.inst;
  auto drain = [&](std::vector<double>& groups, double& open, bool all) {
    const size_t keep = all ? 0 : in.op[0];
    if (all) start = std::max(start, open);
    for (size_t i = 0; i + keep < groups.size(); ++i) start = std::max(start, groups[i]);
    if (groups.size() > keep) groups.erase(groups.begin(), groups.end() - static_cast<std::ptrdiff_t>(keep));
  };
  if (cost.waits == Waits::copies) drain(w.copy_groups, w.copies, in.count == 0);
  if (cost.waits == Waits::matrices) drain(w.matrix_groups, w.matrices, false);
  if (cost.waits == Waits::mbarrier && pending_.mask != 0) {
    const auto lane = static_cast<u32>(std::countr_zero(pending_.mask));
    u64 ea[kLanes];
    Port::addresses(*pending_.guest, in, 1, ea);
    if (const auto it = w.cta->mbarriers.find(ea[lane]); it != w.cta->mbarriers.end()) start = std::max(start, it->second);
  }
  if (cost.waits == Waits::barrier && pending_.mask != 0) {
    const size_t at = image_.pcs[in.id].opcode.find(".red") != std::string_view::npos ? 1 : 0;
    const u32 id = pending_.guest->lanes<u32>(in.op[at])[std::countr_zero(pending_.mask)] % 16;
    auto& arrivals = w.cta->arrivals[id];
    if (arrivals.size() <= w.passes[id]) arrivals.resize(w.passes[id] + 1, 0);
    double& latest = arrivals[w.passes[id]++];
    latest = std::max(latest, start);
    if (image_.pcs[in.id].opcode.find(".arrive") == std::string_view::npos) w.waits_at = static_cast<s32>(id);
  }
}

// cp.async.bulk between global and shared memory: [destination], [source], size{, [mbarrier]}.
void Profiler::bulk_copy(WarpClock& w, const Warp& guest, const Inst& in, u32 mask, double start) {
  const std::string_view op = image_.pcs[in.id].opcode;
  if (op.starts_with("cp.async.bulk.tensor")) return;
  for (u32 m = mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    u64 to[kLanes], from[kLanes];
    Port::addresses(guest, in, 0, to);
    Port::addresses(guest, in, 2, from);
    const u32 size = guest.lanes<u32>(in.op[4])[lane];
    now().bulk_bytes += size;
    double level = gpu_.shared_latency;
    if (op.starts_with("cp.async.bulk.global"))
      levels_.bulk_store(to[lane], size, now().memory);
    else if (op.find(".global.mbarrier") != std::string_view::npos)
      level = levels_.bulk_load(from[lane], size, now().memory) == Level::dram ? gpu_.dram_latency : gpu_.l2_latency;
    if (in.count < 7) continue;
    u64 bar[kLanes];
    Port::addresses(guest, in, 5, bar);
    double& there = w.cta->mbarriers[bar[lane]];
    there = std::max(there, start + gpu_.bulk_latency + level + size / gpu_.sm_l2_bytes);
  }
}

// Issues at `start`; returns when the result is there.
double Profiler::execute(WarpClock& w, const PcCost& cost, const Inst& in, double start) {
  Work& work = now();
  const double busy = std::max<double>(cost.pipe, pending_.port);
  work.pipe_cycles[static_cast<size_t>(in.pipe)] += cost.pipe;
  if (in.pipe == Pipe::tensor) {
    work.tensor_ops += 2.0 * in.param;
    start = std::max(start, w.tensor_free);
    w.tensor_free = start + busy;
  }
  if (cost.is_bulk) bulk_copy(w, *pending_.guest, in, pending_.mask, start);
  const double done = start + (pending_.latency > 0 ? pending_.latency : cost.latency);
  if (cost.starts_copy) w.copies = std::max(w.copies, done);
  if (cost.is_wgmma) w.matrices = std::max(w.matrices, start + busy + cost.latency);
  if (pending_.writes) w.last_store = start;
  if (cost.arrives) {
    u64 ea[kLanes];
    Port::addresses(*pending_.guest, in, 1, ea);
    double& there = w.cta->mbarriers[ea[std::countr_zero(pending_.mask)]];
    there = std::max(there, start);
  }
  if (cost.is_wgmma || cost.starts_copy || pending_.writes) return start;
  for (const Ref r : cost.destinations) w.ready[r / 4] = done;
  return done;
}

void Profiler::commit() {
  if (pending_.warp == nullptr) return;
  WarpClock& w = *pending_.warp;
  const Inst& in = *pending_.inst;
  const PcCost& cost = costs_[in.id];
  Work& work = now();
  if (in.kind != Kind::join) {
    work.ptx_instructions += 1, work.thread_instructions += std::popcount(pending_.mask);
    work.machine_instructions += cost.instructions;
    if (cost.anchor) work.anchor_instructions += cost.instructions;
  }
  w.now = std::max(w.now, w.done[w.at]);
  double start = w.now, done = w.now;
  for (const Ref r : cost.sources) start = std::max(start, w.ready[r / 4]);
  if (pending_.reads && !cost.read_only) start = std::max(start, w.last_store);
  if (cost.waits != Waits::nothing) wait(w, cost, start);
  if (cost.waits != Waits::nothing || in.pipe == Pipe::control) start = w.now = std::max(start, w.last_issue);
  if (pending_.mask != 0) {
    done = execute(w, cost, in, start);
    w.last_issue = std::max(w.last_issue, start);
    w.now += std::max<double>(cost.issue, pending_.port);
  } else {
    w.now += cost.instructions;
  }
  w.done[w.at] = done;
  w.at = (w.at + 1) % kWindow;
  if (cost.commits_copies) w.copy_groups.push_back(w.copies), w.copies = 0;
  if (cost.commits_matrices) w.matrix_groups.push_back(w.matrices), w.matrices = 0;
  w.cta->latest = std::max({w.cta->latest, w.now, done});
  pending_.warp = nullptr;
}

void Profiler::shared_access(const MemoryEvent& e) {
  u32 ideal = 0;
  const u32 wavefronts = wavefronts_of(e, ideal);
  Work& w = now();
  w.shared_requests += 1, w.shared_wavefronts += wavefronts, w.shared_conflicts += wavefronts - ideal;
  pending_.port = std::max<double>(pending_.port, wavefronts);
  pending_.latency = std::max(pending_.latency, gpu_.shared_latency + wavefronts - 1);
}

void Profiler::global_access(const MemoryEvent& e) {
  const Lines lines = lines_of(e.addresses, e.mask, e.bytes);
  LevelCounts& c = now().memory;
  double latency = gpu_.l1_latency;
  if (e.access == Access::load) {
    const Level level = levels_.load(pending_.warp->cta->sm, lines, costs_[e.inst.id].bypasses_l1, c);
    if (level != Level::l1) latency = level == Level::l2 ? gpu_.l2_latency : gpu_.dram_latency;
    latency += lines.count - 1;
  } else if (e.access == Access::store) {
    levels_.store(pending_.warp->cta->sm, lines, c);
  } else {
    levels_.atomic(lines, c);
    latency = gpu_.atomic_latency;
  }
  pending_.port = std::max<double>(pending_.port, lines.count);
  pending_.latency = std::max(pending_.latency, latency);
}

// Local memory is interleaved by lane: the words of a warp's 32 lanes at one offset make a line. It goes through the same caches.
void Profiler::local_access(const MemoryEvent& e) {
  constexpr u64 kLocalBase = u64{1} << 60;
  const u64 warp = pending_.warp->serial * ((image_.info.local_bytes + 15) / 16 * 16) * kLanes;
  u64 at[kLanes] = {};
  for (u32 m = e.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const u64 offset = e.addresses[lane] & ((u64{1} << kWindowBits) - 1);
    at[lane] = kLocalBase + warp + offset / 4 * kLineBytes + static_cast<u64>(lane) * 4;
  }
  const Lines lines = lines_of(at, e.mask, std::min(e.bytes, 4u));
  LevelCounts apart;  // requests and sectors of local memory are not the global ones
  double latency = gpu_.l1_latency;
  if (e.access == Access::store)
    levels_.store(pending_.warp->cta->sm, lines, apart);
  else if (levels_.load(pending_.warp->cta->sm, lines, false, apart) != Level::l1)
    latency = gpu_.l2_latency;
  LevelCounts& c = now().memory;
  for (auto m : {&LevelCounts::l2_reads, &LevelCounts::l2_read_hits, &LevelCounts::l2_writes, &LevelCounts::l2_partial_writes,
                 &LevelCounts::dram_reads, &LevelCounts::dram_writes, &LevelCounts::foreign_writes})
    c.*m += apart.*m * std::max(1u, e.bytes / 4);
  now().local_sectors += apart.load_sectors + apart.store_sectors;
  pending_.port = std::max<double>(pending_.port, lines.count);
  pending_.latency = std::max(pending_.latency, latency);
}

void Profiler::access(const MemoryEvent& e) {
  if (pending_.warp == nullptr || e.mask == 0) return;
  if (costs_[e.inst.id].is_bulk || costs_[e.inst.id].is_constant) return;
  pending_.reads = pending_.reads || e.access != Access::store;
  pending_.writes = pending_.writes || e.access == Access::store;
  switch (e.space) {
    case Space::global: return global_access(e);
    case Space::shared:
    case Space::shared_cluster: return shared_access(e);
    case Space::local: return local_access(e);
    case Space::generic: {
      const u64 window = e.addresses[std::countr_zero(e.mask)] >> kWindowBits << kWindowBits;
      return window == kSharedWindow ? shared_access(e) : window == kLocalWindow ? local_access(e) : global_access(e);
    }
    case Space::constant:
    case Space::param: return;
  }
}

}  // namespace cutegen::vgpu
