#include "oracle/side_car.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "base/fs.h"

namespace cutegen {
namespace {

constexpr int kProtocolVersion = 1;
constexpr size_t kTailBytes = 4000;
constexpr int kTailLines = 20;
constexpr Seconds kGrace{3};  // for an orderly end, in which the process unlinks what it shares

// The side-car's codes are ours by name, but for memory, which no other part of cutegen has to tell apart.
Errc code_of(const std::string& name) {
  if (name == "out_of_memory") return Errc::unsupported;
  constexpr std::array known{Errc::invalid_input, Errc::missing_dependency, Errc::io,        Errc::timeout,     Errc::compile_failed,
                             Errc::device,        Errc::protocol,           Errc::cancelled, Errc::unsupported, Errc::internal};
  const auto* found = std::find_if(known.begin(), known.end(), [&](Errc code) { return name == to_string(code); });
  return found != known.end() ? *found : Errc::internal;
}

Error error_from_json(const Json& answer) {
  const Json error = answer.value("error", Json::object());
  return Error{code_of(json_or<std::string>(error, "code", "internal")),
               json_or<std::string>(error, "message", "the oracle gave no reason"), json_or<std::string>(error, "hint", ""),
               json_or<std::string>(error, "detail", "")};
}

// Unlinks the shared memory of a process that was killed and could not do it (shared_memory.py names the objects).
void remove_objects_of(int pid) {
  if (pid <= 0) return;
  const std::string prefix = fmt::format("cutegen-{}-", pid);
  std::error_code ec;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", ec))
    if (entry.path().filename().string().rfind(prefix, 0) == 0) std::filesystem::remove(entry.path(), ec);
}

}  // namespace

SideCar::SideCar(OracleConfig config, std::string python, const Clock& clock)
    : config_(std::move(config)), python_(std::move(python)), clock_(clock) {}

SideCar::~SideCar() {
  if (child_) stop(kGrace);
}

ExitStatus SideCar::stop(Seconds grace) {
  const ExitStatus status = child_->stop(grace);
  child_.reset();
  remove_objects_of(json_or(hello_, "pid", 0));
  return status;
}

Result<void> SideCar::start() {
  if (child_) return {};
  std::error_code ec;
  const auto size = std::filesystem::file_size(config_.log, ec);
  log_begin_ = ec ? 0 : size;
  Command command;
  command.argv = {python_,
                  "-u",
                  (config_.package_dir / "oracle_main.py").string(),
                  "--device",
                  config_.device,
                  "--memory-limit",
                  std::to_string(config_.memory_limit_bytes)};
  command.env = {{"PYTHONDONTWRITEBYTECODE", "1"}};
  // Threads that spin while they wait slow everything down on a machine with more work than cores.
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) command.env["OMP_WAIT_POLICY"] = "passive";
  CUTEGEN_TRY(Child child, Child::spawn(command, config_.log));
  child_.emplace(std::move(child));
  hello_ = Json::object();
  auto hello = ask({{"op", "hello"}, {"version", kProtocolVersion}}, config_.start_limit, "starting " + python_);
  if (!hello.ok()) {
    if (child_) stop(Seconds(0));
    return hello.error();
  }
  hello_ = *hello;
  return {};
}

Result<Json> SideCar::ask(Json request, Seconds limit, const std::string& doing) {
  if (auto sent = send_frame(child_->channel(), request); !sent.ok()) return lost(sent.error(), limit, doing);
  auto answer = receive_frame(child_->channel(), Deadline::in(clock_, limit), clock_);
  if (!answer.ok()) return lost(answer.error(), limit, doing);
  if (json_or(*answer, "restart", false)) stop(kGrace);  // it has lost the GPU; the next request starts another
  if (!json_or(*answer, "ok", false)) return error_from_json(*answer);
  return answer;
}

// The channel failed: ends the process, and says why in terms of what was asked.
Error SideCar::lost(const Error& error, Seconds limit, const std::string& doing) {
  const bool timed_out = error.code == Errc::timeout;
  const ExitStatus status = stop(timed_out ? Seconds(0) : kGrace);
  const std::string tail = log_tail();
  if (timed_out)
    return Error{Errc::timeout, fmt::format("the oracle gave no answer within {:g} s while {}", limit.count(), doing),
                 "the user's file may be slow, or stuck; a longer limit can be set", tail};
  if (error.code == Errc::protocol) return Error{Errc::protocol, fmt::format("{} (while {})", error.message, doing), "", tail};
  return Error{Errc::io, fmt::format("the oracle process ended ({}) while {}", status.describe(), doing),
               "the user's file may have ended the process, or native code in it crashed; its last words are in the log", tail};
}

std::string SideCar::log_tail() const {
  auto text = read_file(config_.log);
  if (!text.ok() || text->size() <= log_begin_) return {};
  std::string tail = text->substr(log_begin_);
  if (tail.size() > kTailBytes) tail.erase(0, tail.size() - kTailBytes);
  size_t begin = tail.size();
  for (int lines = 0; begin > 0 && lines <= kTailLines; --begin)
    if (tail[begin - 1] == '\n' && ++lines > kTailLines) break;
  return tail.substr(begin);
}

}  // namespace cutegen
