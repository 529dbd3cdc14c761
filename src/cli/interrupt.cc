#include "cli/interrupt.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <utility>

#include "cli/console.h"

namespace cutegen::cli {
namespace {

constexpr int kGraceMilliseconds = 3000;  // a step that takes longer (a build, a compile baseline) is dropped

std::atomic<int> signals{0};
int signal_pipe[2] = {-1, -1};

extern "C" void on_signal(int) {
  if (signals.fetch_add(1) > 0) ::_exit(static_cast<int>(ExitCode::interrupted));
  const char byte = 1;
  [[maybe_unused]] const ssize_t n = ::write(signal_pipe[1], &byte, 1);
}

bool readable(int fd, int milliseconds) {
  pollfd p{fd, POLLIN, 0};
  return ::poll(&p, 1, milliseconds) > 0;
}

}  // namespace

Interrupt::Interrupt() {
  if (::pipe2(signal_pipe, O_CLOEXEC) != 0 || ::pipe2(done_pipe_, O_CLOEXEC) != 0) return;  // then signals just end the process
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    action.sa_handler = on_signal;
    ::sigaction(signal, &action, nullptr);
  }
  watcher_ = std::thread([this] { watch(); });
}

Interrupt::~Interrupt() {
  if (!watcher_.joinable()) return;
  const char byte = 1;
  [[maybe_unused]] const ssize_t n = ::write(done_pipe_[1], &byte, 1);
  watcher_.join();
}

bool Interrupt::requested() const { return signals.load() > 0; }

void Interrupt::set_last_words(std::function<void()> last_words) {
  const std::lock_guard<std::mutex> lock(mutex_);
  last_words_ = std::move(last_words);
}

void Interrupt::watch() {
  pollfd fds[2] = {{signal_pipe[0], POLLIN, 0}, {done_pipe_[0], POLLIN, 0}};
  while (::poll(fds, 2, -1) < 0) continue;
  if (fds[1].revents != 0) return;
  note("stopping after the step in flight (Ctrl-C again: at once)");
  if (readable(done_pipe_[0], kGraceMilliseconds)) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (last_words_) last_words_();
  ::_exit(static_cast<int>(ExitCode::interrupted));
}

}  // namespace cutegen::cli
