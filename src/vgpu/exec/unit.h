// One cluster of CTAs (usually a cluster of one) running on one host thread: its warps, memory, barriers and scheduler.
#pragma once

#include <array>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "vgpu/exec/async.h"
#include "vgpu/link/image.h"
#include "vgpu/mem/port.h"

namespace cutegen::vgpu {

// Lanes of a warp that share a pc. A warp starts as one fragment; a divergent branch splits one, reaching the join merges them.
struct Fragment {
  enum class Wait : uint8_t { none, barrier, cluster, members, warpgroup };
  u32 pc = 0;
  u32 mask = 0;
  s32 join = -1;  // innermost place where it must meet others
  Wait wait = Wait::none;
  u32 barrier = 0;        // waiting for this named barrier
  u32 members = 0;        // waiting for these lanes to reach the same instruction; of a warpgroup: the lanes that execute it
  u64 cluster_phase = 0;  // waiting for this phase of the cluster's barrier to end
};

// A place where fragments meet: the immediate post-dominator of a divergent branch, or the return of a call.
struct Join {
  s32 pc = -1;
  u32 expected = 0, arrived = 0;
  s32 parent = -1;
  bool is_return = false, used = false;
};

struct WarpState : Warp {
  std::vector<Fragment> fragments;  // the last ready one runs
  std::vector<Join> joins;
  bool spinning = false;              // it only waits for others: the last test of an mbarrier failed, or it polls memory without a change
  u32 since_poll = 0;                 // instructions since then
  u32 polls = 0;                      // of memory
  std::array<u64, 4> fingerprints{};  // of its registers at the last ones
  u64 cluster_arrivals = 0;           // phase of its last barrier.cluster.arrive
  bool in_wgmma_group = false;        // has executed a wgmma since its last wgmma.commit_group
  bool wgmma_in_flight = false;       // and since it waited for all of them
  std::unique_ptr<AsyncGroups> groups;  // made when somebody looks at them
  bool done() const { return fragments.empty(); }
};

struct NamedBarrier {
  u32 arrived = 0;   // threads, a whole warp counting 32
  u32 expected = 0;  // 0: all warps that still live
  u32 popc = 0;      // of bar.red
  bool all = true, any = false;
};

struct CtaState : Cta {
  Dim3 id;
  std::vector<WarpState> warps;
  std::array<NamedBarrier, 16> barriers;
  std::unique_ptr<char[]> memory;  // shared, then local
  u32 live_warps() const;
};

struct Cluster {
  u64 phase = 0;    // completed phases of barrier.cluster
  u32 arrived = 0;  // threads
};

// What all units of a launch share.
struct Grid {
  const Image* image = nullptr;
  const char* constants = nullptr;  // 64-byte aligned copy of Image::constants
  Dim3 grid, block, cluster;
  u32 dynamic_smem = 0, shared_end = 0;
  u64 workspace = 0;  // device address of the cooperative grid's barrier
  u64 max_instructions = 0;
  bool cooperative = false;
  bool late_async = false;
  std::optional<u64> random_schedule;
};

enum class Progress { running, done, blocked };

class Unit : public Cluster {
 public:
  Unit(const Grid& grid, u64 index);  // the index-th cluster of the grid
  // Runs every runnable warp for one slice. `blocked` when for many steps no warp did anything but wait. Throws GuestFault; then
  // faulting_warp() says whose.
  Progress step(Port& port);
  bool polls_memory() const;                      // whether a blocked unit may be waiting for another one
  [[noreturn]] void report_deadlock(Port& port);  // throws GuestFault
  const WarpState* faulting_warp() const { return current_; }
  const CtaState* faulting_cta() const { return current_cta_; }
  u64 index() const { return index_; }
  const std::vector<CtaState>& ctas() const { return ctas_; }
  std::string output;

 private:
  friend class Interpreter;
  friend class AsyncOperations;
  void set_up_cta(CtaState& cta);
  void set_up_warp(CtaState& cta, u32 index);
  void set_special(WarpState& w, const CtaState& cta, const SpecialSlot& s);
  u32 slice();
  std::vector<WarpState*> order();
  void end_cluster_phase(Port& port);

  const Grid& grid_;
  u64 index_;
  std::vector<CtaState> ctas_;
  std::vector<Cta*> by_rank_;
  std::unique_ptr<char[]> registers_;
  WarpState* current_ = nullptr;
  CtaState* current_cta_ = nullptr;
  u32 idle_passes_ = 0;
  std::mt19937_64 random_;
  AsyncOperations async_{*this};
};

}  // namespace cutegen::vgpu
