#include "vgpu/observe/order/warp_order.h"

namespace cutegen::vgpu {
namespace {

void add(Joint& to, const ClockRef& known, const ClockRef& fenced) {
  if (known != nullptr) to.known.join(*known);
  if (fenced != nullptr) to.fenced.join(*fenced);
}

bool same(const LaneGroup& a, const LaneGroup& b) {
  return a.known == b.known && a.fenced == b.fenced && a.pending == b.pending && a.pending_fenced == b.pending_fenced &&
         a.mark.known == b.mark.known && a.mark.fenced == b.mark.fenced && a.mark.time == b.mark.time && a.mark.cta_only == b.mark.cta_only;
}

}  // namespace

const LaneGroup& WarpOrder::group(u32 lane) const {
  for (const LaneGroup& g : groups_)
    if ((g.lanes >> lane) & 1) return g;
  return groups_.front();
}

template <class F>
void WarpOrder::each_group(u32 lanes, F f) {
  for (size_t i = 0, n = groups_.size(); i < n; ++i) {
    const u32 inside = groups_[i].lanes & lanes;
    if (inside == 0) continue;
    if (inside != groups_[i].lanes) {
      LaneGroup rest = groups_[i];
      rest.lanes &= ~inside;
      groups_[i].lanes = inside;
      groups_.push_back(std::move(rest));
    }
    f(groups_[i]);
  }
  merge();
}

void WarpOrder::merge() {
  for (size_t i = 0; i < groups_.size(); ++i)
    for (size_t k = i + 1; k < groups_.size();)
      if (same(groups_[i], groups_[k])) {
        groups_[i].lanes |= groups_[k].lanes;
        groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(k));
      } else {
        ++k;
      }
}

void WarpOrder::publish(u32 lanes, Joint& to) {
  for (const LaneGroup& g : groups_)
    if ((g.lanes & lanes) != 0) add(to, g.known, g.fenced);
  to.known.raise(actor_, lanes, now_++);
}

bool WarpOrder::publish_marks(u32 lanes, Joint& to, bool& cta_only) const {
  bool any = false;
  cta_only = false;
  for (const LaneGroup& g : groups_) {
    const u32 inside = g.lanes & lanes;
    if (inside == 0 || g.mark.time == 0) continue;
    add(to, g.mark.known, g.mark.fenced);
    to.known.raise(actor_, inside, g.mark.time);
    cta_only = g.mark.cta_only;
    any = true;
  }
  return any;
}

void WarpOrder::learn(u32 lanes, const ClockRef& known, const ClockRef& fenced) {
  each_group(lanes, [&](LaneGroup& g) {
    g.known = joined(g.known, known);
    g.fenced = joined(g.fenced, fenced);
  });
}

void WarpOrder::learn_later(u32 lanes, const ClockRef& known, const ClockRef& fenced) {
  each_group(lanes, [&](LaneGroup& g) {
    g.pending = joined(g.pending, known);
    g.pending_fenced = joined(g.pending_fenced, fenced);
  });
}

void WarpOrder::fence(u32 lanes, bool cta_only) {
  each_group(lanes, [&](LaneGroup& g) {
    g.known = joined(g.known, g.pending);
    g.fenced = joined(g.fenced, g.pending_fenced);
    g.pending = g.pending_fenced = nullptr;
    g.mark = {g.known, g.fenced, now_, cta_only};
  });
  ++now_;
}

void WarpOrder::proxy_fence(u32 lanes) {
  each_group(lanes, [&](LaneGroup& g) {
    auto fenced = g.fenced == nullptr ? std::make_shared<Clock>() : std::make_shared<Clock>(*g.fenced);
    if (g.known != nullptr) fenced->join(*g.known);
    fenced->raise(actor_, g.lanes, now_);
    g.fenced = std::move(fenced);
  });
  ++now_;
}

}  // namespace cutegen::vgpu
