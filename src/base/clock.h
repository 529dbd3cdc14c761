// Time as an interface, so that budgets and deadlines can be tested without waiting.
#pragma once

#include <chrono>
#include <string>

namespace cutegen {

using Nanoseconds = std::chrono::nanoseconds;
using Seconds = std::chrono::duration<double>;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Nanoseconds now() const = 0;          // monotonic
  virtual std::string utc_iso8601() const = 0;  // wall clock, "2026-11-30T21:14:05Z"
};

// The machine's own clocks. Lives for the whole process.
const Clock& system_clock();

// A point on a Clock after which work must stop.
class Deadline {
 public:
  static Deadline never() { return {}; }
  static Deadline in(const Clock& clock, Seconds seconds) {
    return Deadline{clock.now() + std::chrono::duration_cast<Nanoseconds>(seconds)};
  }
  Deadline() = default;
  bool passed(const Clock& clock) const { return clock.now() >= at_; }
  Seconds left(const Clock& clock) const { return at_ == Nanoseconds::max() ? Seconds(1e9) : Seconds(at_ - clock.now()); }

 private:
  explicit Deadline(Nanoseconds at) : at_(at) {}
  Nanoseconds at_ = Nanoseconds::max();
};

}  // namespace cutegen
