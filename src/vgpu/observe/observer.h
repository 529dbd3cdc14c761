// Events of the machine. Counters, checks and traces are observers; instruction bodies know none of them, and without one nothing is paid.
#pragma once

#include "vgpu/isa/types.h"

namespace cutegen::vgpu {

struct Warp;
struct Inst;

enum class Space : uint8_t { generic, global, shared, shared_cluster, local, constant, param };
const char* to_string(Space space);
enum class Access : uint8_t { load, store, atomic };

struct MemoryEvent {
  const Warp& warp;
  const Inst& inst;
  Space space;
  Access access;
  const u64* addresses;  // [32], guest addresses; only those in mask count
  u32 mask;
  u32 bytes;  // a lane
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void instruction(const Warp& warp, const Inst& inst, u32 mask) = 0;  // before it executes; mask may be 0 when predicated off
  virtual void access(const MemoryEvent& event) = 0;                           // before it is checked
  virtual void branch(const Warp& warp, const Inst& inst, bool divergent) = 0;
  virtual void bulk(u64 bytes) = 0;  // an asynchronous copy
};

}  // namespace cutegen::vgpu
