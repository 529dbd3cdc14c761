#include "base/clock.h"

#include <ctime>

namespace cutegen {
namespace {

class SystemClock final : public Clock {
 public:
  Nanoseconds now() const override { return std::chrono::steady_clock::now().time_since_epoch(); }
  std::string utc_iso8601() const override {
    const std::time_t seconds = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
  }
};

}  // namespace

const Clock& system_clock() {
  static const SystemClock clock;
  return clock;
}

}  // namespace cutegen
