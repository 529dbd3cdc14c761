// How a body tells the observer of one asynchronous operation. Without an observer nothing happens.
#pragma once

#include "vgpu/mem/port.h"

namespace cutegen::vgpu {

class Announcement {
 public:
  // By one thread. `async_proxy`: false for cp.async, which works in the generic proxy.
  Announcement(Warp& w, const Inst& in, u32 lane, bool async_proxy = true) : w_(w), lane_(lane), observer_(w.port->observer) {
    if (observer_ == nullptr) return;
    id_ = ++w.port->operations;
    observer_->async_begin({id_, w, in, lane, async_proxy});
  }
  // Contiguous bytes at a global or (any CTA's) shared address.
  void range(Access access, Space space, u64 address, u64 bytes) {
    if (observer_ == nullptr || bytes == 0) return;
    const bool shared = space == Space::shared || space == Space::shared_cluster;
    const SyncObject home = shared ? Port::object_at(w_, SyncObject::Kind::address, address) : SyncObject{};
    observer_->async_range(id_, {access, shared ? Space::shared : Space::global, home.cta, shared ? home.id : address, bytes});
  }
  void completes_on_barrier(u64 address) {
    if (observer_ != nullptr) observer_->async_end(id_, Port::object_at(w_, SyncObject::Kind::mbarrier, address));
  }
  void completes_with_group() {
    if (observer_ != nullptr) w_.port->issued.push_back({id_, lane_});
  }
  void copied(u64 bytes) {
    if (observer_ != nullptr) observer_->bulk(bytes);
  }

 private:
  Warp& w_;
  u32 lane_;
  Observer* observer_;
  u64 id_ = 0;
};

}  // namespace cutegen::vgpu
