#include "vgpu/observe/order/clock.h"

#include <algorithm>

namespace cutegen::vgpu {

void Clock::raise(u32 actor, u32 lanes, u32 time) {
  auto at = std::lower_bound(components_.begin(), components_.end(), actor, [](const Component& c, u32 a) { return c.actor < a; });
  if (at == components_.end() || at->actor != actor) {
    at = components_.insert(at, Component{});
    at->actor = actor;
  }
  for (u32 l = 0; l < kLanes; ++l)
    if ((lanes >> l) & 1) at->time[l] = std::max(at->time[l], time);
}

void Clock::join(const Clock& other) {
  if (other.components_.empty()) return;
  if (components_.empty()) {
    components_ = other.components_;
    return;
  }
  auto mine = components_.begin();
  size_t missing = 0;
  for (const Component& o : other.components_) {
    while (mine != components_.end() && mine->actor < o.actor) ++mine;
    if (mine == components_.end() || mine->actor != o.actor)
      ++missing;
    else
      for (u32 l = 0; l < kLanes; ++l) mine->time[l] = std::max(mine->time[l], o.time[l]);
  }
  if (missing == 0) return;
  std::vector<Component> merged;
  merged.reserve(components_.size() + missing);
  size_t i = 0;
  for (const Component& o : other.components_) {
    while (i < components_.size() && components_[i].actor < o.actor) merged.push_back(components_[i++]);
    if (i == components_.size() || components_[i].actor != o.actor) merged.push_back(o);
  }
  merged.insert(merged.end(), components_.begin() + static_cast<std::ptrdiff_t>(i), components_.end());
  components_ = std::move(merged);
}

bool Clock::covers(const Clock& other) const {
  size_t i = 0;
  for (const Component& o : other.components_) {
    while (i < components_.size() && components_[i].actor < o.actor) ++i;
    if (i == components_.size() || components_[i].actor != o.actor) return false;
    bool below = true;
    for (u32 l = 0; l < kLanes; ++l) below = below && o.time[l] <= components_[i].time[l];
    if (!below) return false;
  }
  return true;
}

ClockRef joined(const ClockRef& a, const ClockRef& b) {
  if (b == nullptr || a == b) return a;
  if (a == nullptr || b->covers(*a)) return b;
  if (a->covers(*b)) return a;
  auto both = std::make_shared<Clock>(*a);
  both->join(*b);
  return both;
}

}  // namespace cutegen::vgpu
