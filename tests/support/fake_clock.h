// A clock that moves only when a test says so.
#pragma once

#include "base/clock.h"

namespace cutegen::test {

class FakeClock : public Clock {
 public:
  Nanoseconds now() const override { return now_; }
  std::string utc_iso8601() const override { return "2026-11-30T00:00:00Z"; }
  void advance(Seconds seconds) { now_ += std::chrono::duration_cast<Nanoseconds>(seconds); }

 private:
  Nanoseconds now_{0};
};

}  // namespace cutegen::test
