// Runs one warp for a slice of instructions.
#pragma once

#include "vgpu/exec/unit.h"

namespace cutegen::vgpu {

class Interpreter {
 public:
  Interpreter(Unit& unit, CtaState& cta, WarpState& warp, Port& port)
      : unit_(unit), cta_(cta), warp_(warp), port_(port), code_(unit.grid_.image->code.data()) {}

  // Until every fragment waits or has ended, a wait failed, or `slice` instructions have run. False when nothing could run.
  bool run(u32 slice);

 private:
  enum class Next { go_on, switch_fragment, end_slice };
  enum class Watch { nothing, runs, everything };
  template <Watch W>
  Next run_fragment(size_t index, u32& slice);
  Next control(size_t index, const Inst& in, u32 mask);
  void branch(Fragment& f, const Inst& in, u32 taken);
  Next join(size_t index);
  Next end_lanes(size_t index, u32 lanes);
  Next return_lanes(size_t index, u32 lanes);
  bool meets_warpgroup(const Inst& in);
  Next wait_for_warpgroup(size_t index, u32 mask);
  void release_warpgroup();
  Next collective(size_t index, const Inst& in, u32 mask);
  void run_collective(const Inst& in, u32 mask);
  void run_other_groups(const Inst& in, u32 lanes, u32 here);
  Next barrier(size_t index, const Inst& in, u32 mask);
  Next cluster_barrier(size_t index, const Inst& in, u32 mask);
  void ordered(const Inst& in, u32 mask);
  s32 new_join(s32 pc, u32 expected, s32 parent, bool is_return);
  void leave_joins(s32 from, s32 until, u32 lanes);
  void release_if_complete(s32 join);
  void check_barriers();
  void complete_barrier(u32 id);
  bool sees_no_change();
  int ready_fragment() const;

  Unit& unit_;
  CtaState& cta_;
  WarpState& warp_;
  Port& port_;
  const Inst* code_;
};

}  // namespace cutegen::vgpu
