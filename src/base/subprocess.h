// Child processes that never outlive their parent, and the framed JSON channel to the long-lived ones.
//
// Every child leads a process group of its own, watched by a small guard process. The guard kills the whole group when
// the parent dies (even by kill -9), so that compilers, Python and executors and their own children cannot be orphaned.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/result.h"

namespace cutegen {

struct Command {
  std::vector<std::string> argv;           // argv[0] is looked up on PATH when it has no slash
  std::map<std::string, std::string> env;  // added to (or replacing in) the parent's environment
  std::filesystem::path cwd;               // empty: the parent's
  std::string stdin_text;                  // given to run(); spawn() ignores it
};

struct ExitStatus {
  int code = 0;            // exit code, when signal is 0
  int signal = 0;          // the signal that ended it, or 0
  bool timed_out = false;  // it was killed at the deadline
  bool success() const { return code == 0 && signal == 0 && !timed_out; }
  std::string describe() const;  // "exit code 1", "killed by SIGSEGV", "timed out"
};

struct Finished {
  ExitStatus status;
  std::string out;  // stdout, whole
  std::string err;  // stderr, whole
  double seconds = 0;
};

// Runs to the end, or kills the group at the deadline. An error only when it cannot be started at all.
Result<Finished> run(const Command& command, Deadline deadline, const Clock& clock = system_clock());

// A running child with a bidirectional channel on its file descriptor 3 (also named in $CUTEGEN_CHANNEL_FD).
// Its stdout and stderr go to `log_path` (appended), never mixed into the channel: a user's file may print.
class Child {
 public:
  static Result<Child> spawn(const Command& command, const std::filesystem::path& log_path);
  Child(Child&&) noexcept = default;
  Child& operator=(Child&& other) noexcept;
  ~Child();  // kills the group and reaps

  int channel() const { return channel_.get(); }
  int pid() const { return pid_; }
  bool alive();
  // Waits up to `seconds` for an orderly end after closing the channel, then kills the group. Idempotent.
  ExitStatus stop(Seconds grace = Seconds(2));

 private:
  Child() = default;
  Fd channel_;
  Fd lifeline_;   // closing it tells the guard to kill the group
  int pid_ = -1;  // the guard, which is the child's parent
  ExitStatus status_;
};

// Messages over a stream socket: a little-endian u32 length, then that many bytes of UTF-8 JSON.
inline constexpr uint32_t kMaxFrameBytes = 256u << 20;
Result<void> send_frame(int fd, const Json& message);
// Errc::timeout at the deadline, Errc::io when the peer closed the channel, Errc::protocol on a malformed frame.
Result<Json> receive_frame(int fd, Deadline deadline, const Clock& clock = system_clock());

// First match on PATH, or empty.
std::filesystem::path find_program(std::string_view name);

}  // namespace cutegen
