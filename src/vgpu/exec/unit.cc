#include "vgpu/exec/unit.h"

#include <fmt/format.h>

#include <algorithm>

#include "vgpu/exec/interpreter.h"
#include "vgpu/link/linker.h"

namespace cutegen::vgpu {
namespace {

constexpr u32 kSlice = 1 << 13;   // instructions before another warp gets its turn
constexpr u32 kIdlePasses = 256;  // passes in which every warp only polled: nothing will come any more
constexpr u32 kPoison = 0xa5;     // of shared and local memory

Dim3 place(u64 index, Dim3 dims) {
  return {static_cast<u32>(index % dims.x), static_cast<u32>(index / dims.x % dims.y), static_cast<u32>(index / dims.x / dims.y)};
}
u32 component(const Dim3& d, char axis) { return axis == 'x' ? d.x : axis == 'y' ? d.y : axis == 'z' ? d.z : 0; }
u32 rank_of(Dim3 at, Dim3 dims) { return (at.z * dims.y + at.y) * dims.x + at.x; }

}  // namespace

Unit::Unit(const Grid& grid, u64 index) : grid_(grid), index_(index) {
  async_.configure(grid.late_async, grid.random_schedule);
  random_.seed(grid.random_schedule.value_or(0) * 0x9e3779b97f4a7c15ull + index);
  const Dim3 clusters{grid.grid.x / grid.cluster.x, grid.grid.y / grid.cluster.y, grid.grid.z / grid.cluster.z};
  const Dim3 origin = place(index, clusters);
  const u64 size = grid.cluster.count();
  ctas_.resize(size);
  const u64 warps = (grid.block.count() + kLanes - 1) / kLanes;
  registers_ = std::make_unique<char[]>(size * warps * grid.image->register_bytes + 64);
  for (u64 rank = 0; rank < size; ++rank) {
    const Dim3 in_cluster = place(rank, grid.cluster);
    CtaState& cta = ctas_[rank];
    cta.rank = static_cast<u32>(rank);
    cta.id = {origin.x * grid.cluster.x + in_cluster.x, origin.y * grid.cluster.y + in_cluster.y, origin.z * grid.cluster.z + in_cluster.z};
    set_up_cta(cta);
    by_rank_.push_back(&cta);
  }
  for (CtaState& cta : ctas_) cta.peers = &by_rank_;
}

void Unit::set_up_cta(CtaState& cta) {
  const u64 threads = grid_.block.count(), warps = (threads + kLanes - 1) / kLanes;
  const u64 shared = (u64{grid_.shared_end} + 1023) / 1024 * 1024, local = warps * kLanes * grid_.image->info.local_bytes;
  cta.memory = std::make_unique<char[]>(shared + local + 1024);
  char* aligned = cta.memory.get() + (1024 - reinterpret_cast<uintptr_t>(cta.memory.get()) % 1024) % 1024;
  std::memset(aligned, kPoison, shared + local);
  cta.shared = aligned;
  cta.shared_end = grid_.shared_end;
  cta.local = aligned + shared;
  cta.local_bytes = grid_.image->info.local_bytes;
  cta.cluster = this;
  cta.warps.resize(warps);
  for (u32 i = 0; i < warps; ++i) set_up_warp(cta, i);
}

void Unit::set_up_warp(CtaState& cta, u32 index) {
  WarpState& w = cta.warps[index];
  const u64 warps = cta.warps.size(), threads = grid_.block.count();
  char* registers = registers_.get() + (64 - reinterpret_cast<uintptr_t>(registers_.get()) % 64) % 64;
  w.base[0] = registers + (u64{cta.rank} * warps + index) * grid_.image->register_bytes;
  w.base[1] = const_cast<char*>(grid_.constants);  // bodies never write through a constant reference
  w.cta = &cta;
  w.index = index;
  const u64 lanes = std::min<u64>(kLanes, threads - u64{index} * kLanes);
  w.valid = lanes == kLanes ? ~0u : (1u << lanes) - 1;
  std::memset(w.base[0] + kAllLanes, 0xff, 4);
  for (const SpecialSlot& s : grid_.image->specials) set_special(w, cta, s);
  Fragment f;
  f.mask = w.valid;
  w.fragments.push_back(f);
}

void Unit::set_special(WarpState& w, const CtaState& cta, const SpecialSlot& s) {
  const bool wide = s.name.ends_with("#64");
  const std::string name = wide ? s.name.substr(0, s.name.size() - 3) : s.name;
  const std::string_view stem = std::string_view(name).substr(0, name.find('.'));
  const char axis = stem.size() < name.size() ? name.back() : '\0';
  const Dim3& c = grid_.cluster;
  const Dim3 cluster_id{cta.id.x / c.x, cta.id.y / c.y, cta.id.z / c.z}, in_cluster{cta.id.x % c.x, cta.id.y % c.y, cta.id.z % c.z};
  const Dim3 clusters{grid_.grid.x / c.x, grid_.grid.y / c.y, grid_.grid.z / c.z};
  for (u32 lane = 0; lane < kLanes; ++lane) {
    u32 v = 0;
    if (stem == "%tid")
      v = component(place(u64{w.index} * kLanes + lane, grid_.block), axis);
    else if (stem == "%ntid")
      v = component(grid_.block, axis);
    else if (stem == "%ctaid")
      v = component(cta.id, axis);
    else if (stem == "%nctaid")
      v = component(grid_.grid, axis);
    else if (stem == "%clusterid")
      v = component(cluster_id, axis);
    else if (stem == "%nclusterid")
      v = component(clusters, axis);
    else if (stem == "%cluster_ctaid")
      v = component(in_cluster, axis);
    else if (stem == "%cluster_nctaid")
      v = component(c, axis);
    else if (stem == "%cluster_ctarank")
      v = rank_of(in_cluster, c);
    else if (stem == "%cluster_nctarank")
      v = static_cast<u32>(c.count());
    else if (stem == "%is_explicit_cluster")
      v = c.count() > 1;
    else if (stem == "%laneid")
      v = lane;
    else if (stem == "%warpid")
      v = w.index;
    else if (stem == "%nwarpid")
      v = static_cast<u32>(cta.warps.size());
    else if (stem == "%smid")
      v = static_cast<u32>(index_ % 132);
    else if (stem == "%nsmid")
      v = 132;
    else if (stem == "%lanemask_eq")
      v = 1u << lane;
    else if (stem == "%lanemask_lt")
      v = (1u << lane) - 1;
    else if (stem == "%lanemask_le")
      v = (2u << lane) - 1;
    else if (stem == "%lanemask_gt")
      v = ~((2u << lane) - 1);
    else if (stem == "%lanemask_ge")
      v = ~((1u << lane) - 1);
    else if (stem == "%dynamic_smem_size")
      v = grid_.dynamic_smem;
    else if (stem == "%total_smem_size" || stem == "%aggr_smem_size")
      v = grid_.shared_end - kSharedStart;
    else if (stem == "%envreg1")
      v = static_cast<u32>(grid_.workspace >> 32);
    else if (stem == "%envreg2")
      v = static_cast<u32>(grid_.workspace);
    if (wide)
      w.lanes<u64>(s.slot)[lane] = v;
    else
      w.lanes<u32>(s.slot)[lane] = v;
  }
}

u32 Unit::slice() {
  if (!grid_.random_schedule) return kSlice;
  const u64 r = random_();
  return 1 + static_cast<u32>(r >> 8) % (r % 4 == 0 ? 512u : 24u);
}

std::vector<WarpState*> Unit::order() {
  std::vector<WarpState*> warps;
  for (CtaState& cta : ctas_)
    for (WarpState& w : cta.warps)
      if (!w.done()) warps.push_back(&w);
  if (grid_.random_schedule)
    for (size_t i = warps.size(); i > 1; --i) std::swap(warps[i - 1], warps[random_() % i]);
  return warps;
}

void Unit::end_cluster_phase(Port& port) {
  arrived = 0;
  ++phase;
  for (CtaState& cta : ctas_)
    for (WarpState& w : cta.warps)
      for (Fragment& f : w.fragments) {
        if (f.wait != Fragment::Wait::cluster || phase < f.cluster_phase) continue;
        f.wait = Fragment::Wait::none;
        if (port.observer != nullptr) port.observer->acquire(w, f.mask, {SyncObject::Kind::cluster_barrier, &ctas_[0], f.cluster_phase});
      }
}

Progress Unit::step(Port& port) {
  const std::vector<WarpState*> warps = order();
  if (warps.empty()) {
    async_.complete_all(port);
    return Progress::done;
  }
  port.output = &output;
  bool ran = false, progress = false;
  for (WarpState* w : warps) {
    current_ = w, current_cta_ = static_cast<CtaState*>(w->cta);
    if (!Interpreter(*this, *current_cta_, *w, port).run(slice())) continue;
    ran = true;
    progress = progress || !w->spinning || w->done();
  }
  async_.let_some_complete(port);
  u32 live = 0;
  for (const CtaState& cta : ctas_)
    for (const WarpState& w : cta.warps) live += static_cast<u32>(std::popcount(w.live()));
  if (arrived != 0 && arrived >= live) end_cluster_phase(port), progress = true;
  idle_passes_ = progress ? 0 : idle_passes_ + 1;
  if (idle_passes_ <= (ran ? kIdlePasses : 2)) return Progress::running;
  if (!async_.complete_one(port)) return Progress::blocked;
  idle_passes_ = 0;
  return Progress::running;
}

bool Unit::polls_memory() const {
  for (const CtaState& cta : ctas_)
    for (const WarpState& w : cta.warps)
      if (!w.done() && w.spinning && w.polls > 0) return true;
  return false;
}

void Unit::report_deadlock(Port& port) {
  std::string what = "deadlock:";
  u32 shown = 0;
  for (CtaState& cta : ctas_) {
    for (WarpState& w : cta.warps) {
      for (const Fragment& f : w.fragments) {
        if (shown == 0)
          current_ = &w, current_cta_ = &cta,
          w.pc = f.wait == Fragment::Wait::barrier || f.wait == Fragment::Wait::cluster ? f.pc - 1 : f.pc;
        if (++shown > 4) continue;
        const NamedBarrier& b = cta.barriers[f.barrier];
        if (f.wait == Fragment::Wait::barrier)
          what += fmt::format(" warp {} waits at barrier {} ({} of {} threads have arrived);", w.index, f.barrier, b.arrived,
                              b.expected != 0 ? b.expected : cta.live_warps() * kLanes);
        else if (f.wait == Fragment::Wait::cluster)
          what += fmt::format(" warp {} waits at the cluster barrier;", w.index);
        else if (f.wait == Fragment::Wait::warpgroup)
          what += fmt::format(" warp {} waits for its warpgroup to come to a wgmma or its wait;", w.index);
        else if (f.wait == Fragment::Wait::members)
          what += fmt::format(" lanes {:#010x} of warp {} wait for lanes that never come to the same instruction;", f.members, w.index);
        else
          what +=
              fmt::format(" warp {} polls {};", w.index, w.polls > 0 ? "memory that nobody changes" : "an mbarrier that nobody completes");
      }
    }
  }
  if (shown > 4) what += fmt::format(" and {} more;", shown - 4);
  what.pop_back();
  port.fault(FaultKind::deadlock, what, static_cast<u32>(std::countr_zero(current_->fragments.front().mask)));
}

}  // namespace cutegen::vgpu
