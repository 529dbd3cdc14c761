#include "base/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

extern char** environ;

namespace cutegen {
namespace {

constexpr int kChannelFd = 3;
constexpr int kExecFailed = 127;

// Everything that the guard and the child need, prepared before fork(): between fork and exec only
// async-signal-safe calls are allowed in a threaded process.
struct Prepared {
  std::string program;
  std::vector<char*> argv;
  std::vector<std::string> env_storage;
  std::vector<char*> envp;
  std::string cwd;
};

Result<Prepared> prepare(const Command& command) {
  if (command.argv.empty()) return Error{Errc::internal, "empty command", "", ""};
  Prepared p;
  p.program = command.argv[0];
  if (p.program.find('/') == std::string::npos) {
    p.program = find_program(p.program).string();
    if (p.program.empty())
      return Error{Errc::missing_dependency, "program '" + command.argv[0] + "' is not on PATH", "run scripts/setup, or install it", ""};
  }
  for (const std::string& arg : command.argv) p.argv.push_back(const_cast<char*>(arg.c_str()));
  p.argv.push_back(nullptr);
  std::map<std::string, std::string> env;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t eq = text.find('=');
    if (eq != std::string_view::npos) env[std::string(text.substr(0, eq))] = std::string(text.substr(eq + 1));
  }
  for (const auto& [key, value] : command.env) env[key] = value;
  env["CUTEGEN_CHANNEL_FD"] = std::to_string(kChannelFd);
  for (const auto& [key, value] : env) p.env_storage.push_back(key + "=" + value);
  for (std::string& entry : p.env_storage) p.envp.push_back(entry.data());
  p.envp.push_back(nullptr);
  p.cwd = command.cwd.string();
  return p;
}

void set_default_signals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int s : {SIGINT, SIGTERM, SIGPIPE, SIGHUP, SIGCHLD}) ::signal(s, SIG_DFL);
}

// Closes every descriptor but these two: the rest are the parent's, and holding them would keep its pipes open.
void close_all_but(int a, int b) {
  const auto close_from_to = [](int first, int last) {
    if (first <= last) ::syscall(SYS_close_range, static_cast<unsigned>(first), static_cast<unsigned>(last), 0U);
  };
  const int low = a < b ? a : b;
  const int high = a < b ? b : a;
  close_from_to(0, low - 1);
  close_from_to(low + 1, high - 1);
  ::syscall(SYS_close_range, static_cast<unsigned>(high + 1), ~0U, 0U);
}

// Ends the child's whole group, and the child is reaped here: no zombie is left to a slow PID 1.
void sweep(int child_pid) {
  ::kill(-child_pid, SIGKILL);
  while (::waitpid(child_pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// The guard: stands outside the child's group, waits for the child or for the parent's death, then kills what is left of the group.
[[noreturn]] void guard(int child_pid, int lifeline) {
  for (const int s : {SIGINT, SIGTERM, SIGHUP}) ::signal(s, SIG_IGN);
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, child_pid, 0));
  close_all_but(pidfd >= 0 ? pidfd : lifeline, lifeline);
  pollfd fds[2] = {{lifeline, POLLIN, 0}, {pidfd, POLLIN, 0}};
  siginfo_t ended{};
  for (;;) {
    const int n = ::poll(fds, pidfd >= 0 ? 2 : 1, pidfd >= 0 ? -1 : 50);
    if (n < 0 && errno != EINTR) break;
    if (n > 0 && fds[0].revents != 0) break;
    // Looked at, not reaped yet: while the child is unreaped its number stays its own, and the group can be killed by it.
    if (::waitid(P_PID, static_cast<id_t>(child_pid), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid != child_pid) continue;
    const bool by_signal = ended.si_code != CLD_EXITED;
    const char word[2] = {static_cast<char>(by_signal), static_cast<char>(ended.si_status)};
    sweep(child_pid);
    [[maybe_unused]] const ssize_t sent = ::send(lifeline, word, 2, MSG_NOSIGNAL);
    ::_exit(0);
  }
  sweep(child_pid);
  ::_exit(0);
}

struct Started {
  Fd lifeline;
  int guard_pid = -1;
};

// Forks guard and child; `wire` runs in the child and must only use async-signal-safe calls.
template <class Wire>
Result<Started> start(const Command& command, const Wire& wire) {
  CUTEGEN_TRY(const Prepared prepared, prepare(command));
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return Error{Errc::io, std::string("socketpair: ") + std::strerror(errno), "", ""};
  Started started;
  started.lifeline = Fd(pair[0]);
  Fd guard_end(pair[1]);
  const int guard_pid = ::fork();
  if (guard_pid < 0) return Error{Errc::io, std::string("fork: ") + std::strerror(errno), "", ""};
  if (guard_pid == 0) {
    ::setpgid(0, 0);
    ::close(pair[0]);
    const int child_pid = ::fork();
    if (child_pid < 0) ::_exit(kExecFailed);
    if (child_pid == 0) {
      ::setpgid(0, 0);
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // should the guard itself be killed
      set_default_signals();
      if (!prepared.cwd.empty() && ::chdir(prepared.cwd.c_str()) != 0) ::_exit(126);
      wire();
      ::execve(prepared.program.c_str(), prepared.argv.data(), prepared.envp.data());
      ::_exit(kExecFailed);
    }
    ::setpgid(child_pid, child_pid);  // also from here: whoever comes first
    guard(child_pid, pair[1]);
  }
  started.guard_pid = guard_pid;
  return started;
}

void redirect_null(int fd, int flags) {
  const int null = ::open("/dev/null", flags);
  if (null >= 0 && null != fd) ::dup2(null, fd);
}

// Reads the guard's last word about the child; the guard has been told or has ended by itself.
ExitStatus collect(int lifeline, int guard_pid) {
  ExitStatus status;
  unsigned char word[2] = {1, SIGKILL};
  ssize_t n = 0;
  do n = ::recv(lifeline, word, 2, 0);
  while (n < 0 && errno == EINTR);
  if (n == 2 && word[0] == 0) {
    status.code = word[1];
  } else {
    status.signal = n == 2 ? word[1] : SIGKILL;
  }
  while (::waitpid(guard_pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return status;
}

int poll_timeout_ms(Deadline deadline, const Clock& clock) {
  const double left = deadline.left(clock).count();
  if (left <= 0) return 0;
  return left > 3600 ? 3600 * 1000 : static_cast<int>(left * 1000) + 1;
}

struct Pipe {
  Fd read_end, write_end;
  static Result<Pipe> make() {
    int fds[2];
    if (::pipe2(fds, O_CLOEXEC) != 0) return Error{Errc::io, std::string("pipe: ") + std::strerror(errno), "", ""};
    Pipe pipe;
    pipe.read_end = Fd(fds[0]);
    pipe.write_end = Fd(fds[1]);
    return pipe;
  }
};

// The child's standard input: an unlinked memory file, so that feeding it can neither block nor raise SIGPIPE.
Result<Fd> stdin_file(const std::string& text) {
  Fd fd(::memfd_create("stdin", MFD_CLOEXEC));
  if (!fd.valid()) return Error{Errc::io, std::string("memfd_create: ") + std::strerror(errno), "", ""};
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(fd.get(), text.data() + done, text.size() - done);
    if (n < 0 && errno != EINTR) return Error{Errc::io, std::string("memfd write: ") + std::strerror(errno), "", ""};
    if (n > 0) done += static_cast<size_t>(n);
  }
  ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

// Drains one readable descriptor into `text`; false at its end.
bool drain(int fd, std::string& text) {
  char buffer[1 << 16];
  const ssize_t n = ::read(fd, buffer, sizeof buffer);
  if (n > 0) text.append(buffer, static_cast<size_t>(n));
  return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

}  // namespace

std::string ExitStatus::describe() const {
  if (timed_out) return "timed out";
  if (signal != 0)
    return std::string("killed by ") +
           (::sigabbrev_np(signal) != nullptr ? "SIG" + std::string(::sigabbrev_np(signal)) : "signal " + std::to_string(signal));
  return "exit code " + std::to_string(code);
}

Result<Finished> run(const Command& command, Deadline deadline, const Clock& clock) {
  CUTEGEN_TRY(Pipe out, Pipe::make());
  CUTEGEN_TRY(Pipe err, Pipe::make());
  CUTEGEN_TRY(const Fd input, stdin_file(command.stdin_text));
  const Nanoseconds begin = clock.now();
  CUTEGEN_TRY(Started started, start(command, [&] {
                ::dup2(input.get(), 0);
                ::dup2(out.write_end.get(), 1);
                ::dup2(err.write_end.get(), 2);
              }));
  out.write_end.reset();
  err.write_end.reset();
  Finished finished;
  bool out_open = true;
  bool err_open = true;
  bool told = false;  // the guard has said how the child ended (or is gone)
  while (out_open || err_open || !told) {
    pollfd fds[3] = {{out_open ? out.read_end.get() : -1, POLLIN, 0},
                     {err_open ? err.read_end.get() : -1, POLLIN, 0},
                     {told ? -1 : started.lifeline.get(), POLLIN, 0}};
    const int n = ::poll(fds, 3, poll_timeout_ms(deadline, clock));
    if (n == 0 && deadline.passed(clock)) {
      finished.status.timed_out = true;
      ::shutdown(started.lifeline.get(), SHUT_WR);
      break;
    }
    if (n <= 0) continue;
    if (fds[0].revents != 0) out_open = drain(out.read_end.get(), finished.out);
    if (fds[1].revents != 0) err_open = drain(err.read_end.get(), finished.err);
    if (fds[2].revents != 0) told = true;
  }
  const bool timed_out = finished.status.timed_out;
  finished.status = collect(started.lifeline.get(), started.guard_pid);
  finished.status.timed_out = timed_out;
  finished.seconds = Seconds(clock.now() - begin).count();
  if (finished.status.code == kExecFailed && finished.out.empty() && finished.err.empty())
    return Error{Errc::missing_dependency, "cannot execute '" + command.argv[0] + "'", "", ""};
  return finished;
}

Result<Child> Child::spawn(const Command& command, const std::filesystem::path& log_path) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return Error{Errc::io, std::string("socketpair: ") + std::strerror(errno), "", ""};
  Child child;
  child.channel_ = Fd(pair[0]);
  Fd theirs(pair[1]);
  std::error_code ec;
  if (log_path.has_parent_path()) std::filesystem::create_directories(log_path.parent_path(), ec);
  Fd log(::open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!log.valid()) return Error{Errc::io, "cannot open log " + log_path.string() + ": " + std::strerror(errno), "", ""};
  CUTEGEN_TRY(Started started, start(command, [&] {
                redirect_null(0, O_RDONLY);
                ::dup2(log.get(), 1);
                ::dup2(log.get(), 2);
                if (theirs.get() == kChannelFd) {
                  ::fcntl(kChannelFd, F_SETFD, 0);
                } else {
                  ::dup2(theirs.get(), kChannelFd);
                }
              }));
  child.lifeline_ = std::move(started.lifeline);
  child.pid_ = started.guard_pid;
  return child;
}

Child& Child::operator=(Child&& other) noexcept {
  if (this != &other) {
    stop(Seconds(0));
    channel_ = std::move(other.channel_);
    lifeline_ = std::move(other.lifeline_);
    pid_ = std::exchange(other.pid_, -1);
    status_ = other.status_;
  }
  return *this;
}

Child::~Child() { stop(Seconds(0)); }

bool Child::alive() {
  if (!lifeline_.valid()) return false;
  pollfd word = {lifeline_.get(), POLLIN, 0};
  return ::poll(&word, 1, 0) == 0;
}

ExitStatus Child::stop(Seconds grace) {
  if (!lifeline_.valid()) return status_;
  channel_.reset();
  if (grace.count() > 0) {
    pollfd word = {lifeline_.get(), POLLIN, 0};
    ::poll(&word, 1, static_cast<int>(grace.count() * 1000));
  }
  ::shutdown(lifeline_.get(), SHUT_WR);
  status_ = collect(lifeline_.get(), pid_);
  lifeline_.reset();
  return status_;
}

Result<void> send_frame(int fd, const Json& message) {
  const std::string body = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (body.size() > kMaxFrameBytes)
    return Error{Errc::protocol, "message of " + std::to_string(body.size()) + " bytes is too long for a frame", "", ""};
  const auto n = static_cast<uint32_t>(body.size());
  std::string bytes{static_cast<char>(n), static_cast<char>(n >> 8), static_cast<char>(n >> 16), static_cast<char>(n >> 24)};
  bytes += body;
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t sent = ::send(fd, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return Error{Errc::io, std::string("the peer closed its channel: ") + std::strerror(errno), "", ""};
    done += static_cast<size_t>(sent);
  }
  return {};
}

namespace {

Result<void> receive_exactly(int fd, char* into, size_t count, Deadline deadline, const Clock& clock) {
  size_t done = 0;
  while (done < count) {
    pollfd readable = {fd, POLLIN, 0};
    const int n = ::poll(&readable, 1, poll_timeout_ms(deadline, clock));
    if (n == 0 && deadline.passed(clock)) return Error{Errc::timeout, "no answer before the deadline", "", ""};
    if (n <= 0) continue;
    const ssize_t got = ::recv(fd, into + done, count - done, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Error{Errc::io, "the peer closed its channel", "", ""};
    done += static_cast<size_t>(got);
  }
  return {};
}

}  // namespace

Result<Json> receive_frame(int fd, Deadline deadline, const Clock& clock) {
  unsigned char header[4];
  CUTEGEN_CHECK(receive_exactly(fd, reinterpret_cast<char*>(header), sizeof header, deadline, clock));
  const uint32_t n = header[0] | header[1] << 8 | header[2] << 16 | static_cast<uint32_t>(header[3]) << 24;
  if (n > kMaxFrameBytes) return Error{Errc::protocol, "frame of " + std::to_string(n) + " bytes is over the limit", "", ""};
  std::string body(n, '\0');
  CUTEGEN_CHECK(receive_exactly(fd, body.data(), n, deadline, clock));
  auto message = parse_json(body, "a message from a child process");
  if (!message.ok()) return Error{Errc::protocol, message.error().message, "", message.error().detail};
  return message;
}

std::filesystem::path find_program(std::string_view name) {
  if (name.find('/') != std::string_view::npos)
    return ::access(std::string(name).c_str(), X_OK) == 0 ? std::filesystem::path(name) : std::filesystem::path{};
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    const size_t colon = rest.find(':');
    std::filesystem::path candidate = std::filesystem::path(rest.substr(0, colon)) / name;
    if (::access(candidate.c_str(), X_OK) == 0 && !std::filesystem::is_directory(candidate)) return candidate;
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  return {};
}

}  // namespace cutegen
