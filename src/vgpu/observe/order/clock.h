// Vector clocks over warps with their lanes: what has happened before a point of one lane's execution.
//
// An actor is a warp, or the stream of asynchronous operations of one kind that a warp has started. All lanes of an actor share one
// counter, which moves on at every release; an access is stamped (actor, lane, time). A clock says for every actor and lane up to which
// time everything is known to have happened.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "vgpu/isa/types.h"

namespace cutegen::vgpu {

class Clock {
 public:
  u32 time(u32 actor, u32 lane) const {
    const Component* c = find(actor);
    return c == nullptr ? 0 : c->time[lane];
  }
  void raise(u32 actor, u32 lanes, u32 time);  // at least `time` for these lanes
  void join(const Clock& other);
  bool covers(const Clock& other) const;
  bool empty() const { return components_.empty(); }
  void clear() { components_.clear(); }

 private:
  struct Component {
    u32 actor = 0;
    alignas(64) std::array<u32, kLanes> time = {};
  };
  const Component* find(u32 actor) const {
    size_t lo = 0, hi = components_.size();
    while (lo < hi) {
      const size_t mid = (lo + hi) / 2;
      if (components_[mid].actor < actor)
        lo = mid + 1;
      else
        hi = mid;
    }
    return lo < components_.size() && components_[lo].actor == actor ? &components_[lo] : nullptr;
  }
  std::vector<Component> components_;  // by actor
};

using ClockRef = std::shared_ptr<const Clock>;  // nullptr: the empty clock

ClockRef joined(const ClockRef& a, const ClockRef& b);

// What releases to one object add up to. `known`: what has happened; `fenced`: the part of it that a proxy fence has made visible to the
// asynchronous proxy.
struct Joint {
  Clock known, fenced;
  void join(const Joint& o) { known.join(o.known), fenced.join(o.fenced); }
  void clear() { known.clear(), fenced.clear(); }
};

}  // namespace cutegen::vgpu
