// Ctrl-C: the first one asks the run to stop and gives it a moment, the second one ends the process at once. Neither loses more than the
// candidate in flight (docs/store.md), and no child process outlives this one (base/subprocess.h).
#pragma once

#include <functional>
#include <mutex>
#include <thread>

namespace cutegen::cli {

// At most one at a time in a process.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool requested() const;
  // Called, on another thread, before the process ends because the step in flight outlasted the moment.
  void set_last_words(std::function<void()> last_words);

 private:
  void watch();
  std::mutex mutex_;
  std::function<void()> last_words_;
  int done_pipe_[2] = {-1, -1};
  std::thread watcher_;
};

}  // namespace cutegen::cli
