// The observer behind counters and predicted time: memory levels, and a clock for each warp.
//
// Each warp has a clock of its own, as if it were alone on its scheduler: an instruction issues when its operands are there, and its result
// comes after its latency, which for memory depends on the level that had the data. ptxas unrolls loops and moves loads up, so an
// instruction that waits does not hold back those behind it, up to a window; loads stay behind stores, and everything stays behind branches
// and barriers. Barriers, waits for asynchronous copies and mbarriers join clocks. So a CTA's time holds its dependences and its
// instruction-level parallelism, and what other warps take away is added later (predict.h).
#pragma once

#include <array>
#include <functional>
#include <unordered_map>
#include <vector>

#include "vgpu/time/costs.h"
#include "vgpu/time/memory_levels.h"

namespace cutegen::vgpu {

// Sums over the CTAs that ran. Cycles of pipes are a scheduler's.
struct Work {
  double ctas = 0, warps = 0;
  double ptx_instructions = 0, thread_instructions = 0;
  double machine_instructions = 0, anchor_instructions = 0;  // anchors: see PcCost
  std::array<double, 9> pipe_cycles{};                       // by Pipe
  double shared_requests = 0, shared_wavefronts = 0, shared_conflicts = 0;
  double bulk_bytes = 0, local_sectors = 0;
  double tensor_ops = 0;      // two a multiply-accumulate
  double barrier_cycles = 0;  // that warps waited at barriers, summed
  double cta_cycles = 0;      // summed; cta_cycles / ctas is the mean CTA's time alone
  LevelCounts memory;
  Work& operator+=(const Work& o);
  Work scaled(double by) const;
};

class Profiler : public Observer {
 public:
  // `ctas_an_sm`: resident at once; they share the L1 with `smem_bytes` of shared memory each. `head`: CTAs counted apart, see head().
  Profiler(const Image& image, const GpuProfile& gpu, u32 ctas_an_sm, u64 smem_bytes, u64 head);

  void instruction(const Warp& warp, const Inst& inst, u32 mask) override;
  void access(const MemoryEvent& event) override;
  void branch(const Warp&, const Inst&, bool) override {}
  void bulk(u64) override {}
  void cta_begin(const Cta& cta) override;
  void cta_end(const Cta& cta) override;

  // The first CTAs, which find the caches cold, and all others.
  const Work& head() const { return head_; }
  const Work& body() const { return body_; }
  const std::vector<u64>& executed() const { return executed_; }  // warp instructions by pc

 private:
  static constexpr u32 kWindow = 48;  // PTX instructions over which ptxas is taken to reorder
  struct CtaClock;
  struct WarpClock {
    double now = 0;
    CtaClock* cta = nullptr;
    std::vector<double> ready;  // by register, in units of 4 bytes of the warp's file
    double copies = 0;          // when the copies of the open group are there
    double matrices = 0;
    std::vector<double> copy_groups, matrix_groups;
    std::array<u32, 16> passes{};  // of each named barrier
    s32 waits_at = -1;             // the barrier that it must catch up with
    u64 serial = 0;                // of the warps of this launch
    double tensor_free = 0;
    double last_issue = 0;               // the latest of all
    double last_store = 0;               // when the last store to memory issued: loads do not overtake it
    std::array<double, kWindow> done{};  // of the last instructions
    u32 at = 0;
  };
  struct CtaClock {
    u32 sm = 0;
    bool in_head = true;
    double latest = 0;
    std::array<std::vector<double>, 16> arrivals;  // latest arrival by barrier and pass
    std::unordered_map<u64, double> mbarriers;     // by shared address
  };
  struct Pending {  // the instruction whose accesses come next
    WarpClock* warp = nullptr;
    const Inst* inst = nullptr;
    u32 mask = 0;
    double latency = 0;  // of its memory access
    double port = 0;     // cycles that its accesses keep the load-store unit
    const Warp* guest = nullptr;
    bool reads = false, writes = false;  // memory
  };
  Work& now() { return *work_; }
  const Work& now() const { return *work_; }
  WarpClock& clock_of(const Warp& warp);
  void catch_up(WarpClock& w);
  void commit();
  double execute(WarpClock& w, const PcCost& cost, const Inst& in, double start);
  void wait(WarpClock& w, const PcCost& cost, double& start);
  void bulk_copy(WarpClock& w, const Warp& guest, const Inst& in, u32 mask, double start);
  void shared_access(const MemoryEvent& e);
  void global_access(const MemoryEvent& e);
  void local_access(const MemoryEvent& e);

  const Image& image_;
  const GpuProfile& gpu_;
  std::vector<PcCost> costs_;
  MemoryLevels levels_;
  std::unordered_map<const Warp*, WarpClock> warps_;
  std::unordered_map<const Cta*, CtaClock> ctas_;
  const Warp* last_warp_ = nullptr;
  WarpClock* last_clock_ = nullptr;
  Pending pending_;
  std::vector<u64> executed_;
  u64 started_ = 0, warps_started_ = 0, head_ctas_;
  Work head_, body_;
  Work* work_ = &head_;
};

}  // namespace cutegen::vgpu
