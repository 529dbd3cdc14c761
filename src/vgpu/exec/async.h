// Asynchronous operations of one cluster that are under way, and when they take effect: when they are issued (the default), as late as they
// may (LaunchOptions::late_async), or at random times. An operation that is put off keeps its source registers, so that its body can run
// later as it would have at once.
#pragma once

#include <array>
#include <list>
#include <optional>
#include <random>
#include <vector>

#include "vgpu/isa/warp.h"
#include "vgpu/observe/observer.h"

namespace cutegen::vgpu {

class Unit;
struct WarpState;

// The groups of a warp's lanes, for each Completion but barrier: how many have been committed and waited for. wgmma uses lane 0 alone.
struct AsyncGroups {
  struct Lanes {
    std::array<u32, kLanes> committed{}, waited{};
  };
  std::array<Lanes, 3> of;
};

class AsyncOperations {
 public:
  explicit AsyncOperations(Unit& unit) : unit_(unit) {}
  void configure(bool late, std::optional<u64> seed);

  void run(WarpState& w, Port& port, const Inst& in, u32 mask);      // an instruction of Kind::async
  void polled(WarpState& w, Port& port, const Inst& in, u32 mask) {  // before an mbarrier is tested
    if (!pending_.empty()) complete_barriers(w, port, in, mask);
  }
  void let_some_complete(Port& port);  // between slices, in a random schedule
  bool complete_one(Port& port);       // when nobody can go on; false when nothing is under way
  void complete_all(Port& port);       // when all warps have ended

 private:
  struct Pending {
    WarpState* warp = nullptr;
    const Inst* inst = nullptr;
    u32 mask = 0;                      // lanes that are still to take effect
    std::array<u32, kLanes> number{};  // of the group; 0: not committed
    std::vector<char> sources;         // contents of the source registers when it was issued
    std::vector<SyncObject> barriers;  // with cta == nullptr: of any CTA
  };
  struct Open {  // took effect, but its group has not been committed: its end is still to be announced
    const WarpState* warp;
    Completion completion;
    u32 lane;
    u64 id;
  };
  enum class When : u8 { at_issue, late, random };

  void issue(WarpState& w, Port& port, const Inst& in, u32 mask);
  void arrive(WarpState& w, Port& port, const Inst& in, u32 mask);
  void commit(WarpState& w, Port& port, Completion c, u32 mask);
  void wait(WarpState& w, Port& port, Completion c, u32 mask, u32 may_remain);
  void put_off(WarpState& w, const Inst& in, u32 mask);
  void complete_barriers(WarpState& w, Port& port, const Inst& in, u32 mask);
  void take_effect(Pending& p, u32 lanes, Port& port);
  void complete_copies_before(const Pending& arrival, u32 lanes, Port& port);
  void announce_ends(const Pending& p, Port& port);
  void drop_finished();
  AsyncGroups::Lanes& groups(WarpState& w, Completion c) const;
  const std::vector<OperandSpec>& operands_of(const Inst& in) const;
  template <class F>
  void each_source(const WarpState& w, const Inst& in, F f) const;

  Unit& unit_;
  When when_ = When::at_issue;
  std::mt19937_64 random_;
  std::list<Pending> pending_;  // in order of issue
  std::vector<Open> open_;
};

// Announces the shared memory that a wgmma reads, row by row.
void announce_wgmma(Warp& w, const Inst& in, const Form& form);

}  // namespace cutegen::vgpu
