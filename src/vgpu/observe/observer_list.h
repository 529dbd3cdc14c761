// Several observers as one.
#pragma once

#include <vector>

#include "vgpu/observe/observer.h"

namespace cutegen::vgpu {

class ObserverList : public Observer {
 public:
  ObserverList() { every_instruction = false, asynchronous = false; }
  void add(Observer* o) {
    observers_.push_back(o);
    if (o->every_instruction) watchers_.push_back(o);
    every_instruction = !watchers_.empty();
    runs = runs || o->runs;
    asynchronous = asynchronous || o->asynchronous;
  }
  // What a machine is to call: nullptr for none, the only one, or all of them through this list, which must then outlive the machine.
  Observer* as_one() { return observers_.empty() ? nullptr : observers_.size() == 1 ? observers_[0] : this; }

  void instruction(const Warp& warp, const Inst& inst, u32 mask) override {
    for (Observer* o : watchers_) o->instruction(warp, inst, mask);
  }
  void executed(const Warp& warp, const Inst* first, u32 count, u32 mask) override {
    for (Observer* o : observers_)
      if (o->runs) o->executed(warp, first, count, mask);
  }
  void predicated(const Warp& warp, const Inst& inst, u32 off) override {
    for (Observer* o : observers_)
      if (o->runs) o->predicated(warp, inst, off);
  }
  void access(const MemoryEvent& e) override {
    for (Observer* o : observers_) o->access(e);
  }
  void row(const RowEvent& r) override {
    for (Observer* o : observers_) o->row(r);
  }
  void branch(const Warp& warp, const Inst& inst, bool divergent) override {
    for (Observer* o : observers_) o->branch(warp, inst, divergent);
  }
  void bulk(u64 bytes) override {
    for (Observer* o : observers_) o->bulk(bytes);
  }
  void cta_begin(const Cta& cta) override {
    for (Observer* o : observers_) o->cta_begin(cta);
  }
  void cta_end(const Cta& cta) override {
    for (Observer* o : observers_) o->cta_end(cta);
  }
  void release(const Warp& warp, u32 mask, const SyncObject& object) override {
    for (Observer* o : observers_) o->release(warp, mask, object);
  }
  void acquire(const Warp& warp, u32 mask, const SyncObject& object) override {
    for (Observer* o : observers_) o->acquire(warp, mask, object);
  }
  void async_begin(const AsyncEvent& e) override {
    for (Observer* o : observers_) o->async_begin(e);
  }
  void async_range(u64 id, const AsyncRange& range) override {
    for (Observer* o : observers_) o->async_range(id, range);
  }
  void async_end(u64 id, const SyncObject& object) override {
    for (Observer* o : observers_) o->async_end(id, object);
  }

 private:
  std::vector<Observer*> observers_, watchers_;
};

}  // namespace cutegen::vgpu
