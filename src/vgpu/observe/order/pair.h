// Two accesses to the same bytes, at least one of them a write, that nothing orders, or that are in different proxies with no fence
// between.
#pragma once

#include <string>

#include "vgpu/observe/check.h"
#include "vgpu/observe/order/shadow.h"

namespace cutegen::vgpu {

struct PairSide {
  AccessInfo info;
  bool writes = false;
  std::string_view opcode;
  std::string who;     // "thread (3,0,0) of CTA (0,0,0)"
  std::string source;  // "file.cu:12"
};

struct Pair {
  PairSide earlier, later;
  bool ordered = false;                                                     // by synchronisation, so that only a proxy fence is missing
  enum class Reach : uint8_t { lane, warp, cta, grid } reach = Reach::cta;  // how far apart the two are
  std::string place;                                                        // "4 bytes at shared address 0x440"
};

// A check that looks at pairs: what it claims it describes. A pair belongs to the first that claims it.
struct PairCheck {
  const CheckRecord* record;
  bool (*claims)(const Pair& pair);
  std::string (*describe)(const Pair& pair);
};

}  // namespace cutegen::vgpu
