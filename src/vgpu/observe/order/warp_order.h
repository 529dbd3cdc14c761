// What the lanes of one warp know: lanes that know the same are kept together, so that a warp in step has one clock.
#pragma once

#include <vector>

#include "vgpu/observe/order/clock.h"

namespace cutegen::vgpu {

// A fence that was executed but not yet followed by a store or atomic that would publish it.
struct FenceMark {
  ClockRef known, fenced;
  u32 time = 0;  // of the own warp; 0: no fence yet
  bool cta_only = false;
};

struct LaneGroup {
  u32 lanes = 0;
  ClockRef known, fenced;
  FenceMark mark;
  ClockRef pending, pending_fenced;  // read by a relaxed access; known after the next fence
};

class WarpOrder {
 public:
  WarpOrder(u32 actor, u32 lanes) : actor_(actor), groups_{{lanes, {}, {}, {}, {}, {}}} {}
  u32 actor() const { return actor_; }
  u32 now() const { return now_; }
  const LaneGroup& group(u32 lane) const;

  // Adds what `lanes` did and know to `to`, and moves time on.
  void publish(u32 lanes, Joint& to);
  // The same, but as of each lane's last fence. Lanes without a fence add nothing. Returns whether any added.
  bool publish_marks(u32 lanes, Joint& to, bool& cta_only) const;
  void learn(u32 lanes, const ClockRef& known, const ClockRef& fenced);
  void learn_later(u32 lanes, const ClockRef& known, const ClockRef& fenced);  // after the next fence
  void fence(u32 lanes, bool cta_only);
  void proxy_fence(u32 lanes);

 private:
  template <class F>
  void each_group(u32 lanes, F f);  // splits groups that are partly in `lanes`
  void merge();
  u32 actor_, now_ = 1;
  std::vector<LaneGroup> groups_;
};

}  // namespace cutegen::vgpu
