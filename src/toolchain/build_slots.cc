#include "toolchain/build_slots.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <thread>

#include "base/fs.h"
#include "toolchain/file_lock.h"

namespace cutegen {
namespace {

// The number that a one-line file begins with; -1 for "max" or no file.
int64_t number_in(const std::filesystem::path& path) {
  const auto text = read_file(path);
  int64_t v = -1;
  if (text.ok()) std::from_chars(text->data(), text->data() + text->size(), v);
  return v;
}

}  // namespace

int64_t parse_mem_available(std::string_view meminfo) {
  constexpr std::string_view key = "MemAvailable:";
  const size_t at = meminfo.find(key);
  if (at == std::string_view::npos) return -1;
  const size_t begin = meminfo.find_first_not_of(" \t", at + key.size());
  int64_t kilobytes = -1;
  if (begin == std::string_view::npos) return -1;
  std::from_chars(meminfo.data() + begin, meminfo.data() + meminfo.size(), kilobytes);
  return kilobytes < 0 ? -1 : kilobytes * 1024;
}

int64_t available_memory_bytes() {
  const auto meminfo = read_file("/proc/meminfo");
  const int64_t free = meminfo.ok() ? parse_mem_available(*meminfo) : -1;
  const int64_t limit = number_in("/sys/fs/cgroup/memory.max");
  const int64_t used = number_in("/sys/fs/cgroup/memory.current");
  if (limit >= 0 && used >= 0) return free < 0 ? limit - used : std::min(free, std::max<int64_t>(limit - used, 0));
  return free < 0 ? kBuildMemoryBytes : free;
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

BuildSlots BuildSlots::of_machine(std::filesystem::path folder) {
  return BuildSlots(std::move(folder),
                    [] { return static_cast<int>(std::min<int64_t>(usable_cores(), available_memory_bytes() / kBuildMemoryBytes)); });
}

Result<Fd> BuildSlots::acquire(Deadline deadline, const Clock& clock) const {
  for (auto pause = std::chrono::milliseconds(10);; pause = std::min(pause * 2, std::chrono::milliseconds(200))) {
    // Builders in lower slots already use memory, so the limit seen here is on the careful side.
    const int limit = std::max(1, limit_());
    for (int slot = 0; slot < limit; ++slot) {
      CUTEGEN_TRY(std::optional<Fd> fd, try_lock_file(folder_ / std::to_string(slot)));
      if (fd) return std::move(*fd);
    }
    if (deadline.passed(clock)) return Error{Errc::timeout, "the deadline passed while waiting for a free build slot", "", ""};
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace cutegen
