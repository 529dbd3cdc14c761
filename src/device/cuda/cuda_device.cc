#include "device/cuda/cuda_device.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "base/log.h"
#include "device/cuda/wire.h"
#include "device/shm.h"

namespace cutegen {
namespace {

using namespace cuda;

constexpr const char* kShmStem = "cutegen-dev-";
constexpr Seconds kStaleAfter{600};
constexpr int kDeathWaitMs = 20'000;
constexpr std::streamoff kTailBytes = 2000;

// Waits until a process that was told to die is gone: its GPU work goes on until then.
void wait_until_gone(int pid) {
  const Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.valid()) return;
  pollfd gone = {pidfd.get(), POLLIN, 0};
  ::poll(&gone, 1, kDeathWaitMs);
}

// A parent killed by kill -9 leaves its last outputs in /dev/shm; the next one removes them.
void sweep_stale_outputs() {
  std::error_code ec;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", ec)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kShmStem)) continue;
    const int pid = std::atoi(name.c_str() + std::char_traits<char>::length(kShmStem));
    const auto age = std::filesystem::file_time_type::clock::now() - entry.last_write_time(ec);
    // The age guards the outputs of another PID namespace that shares /dev/shm.
    if (!ec && pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH && age > kStaleAfter) Shm::unlink("/" + name);
  }
}

}  // namespace

Result<std::unique_ptr<Device>> open_cuda_device(const CudaDeviceConfig& config, const Clock& clock) {
  CUTEGEN_TRY(auto device, CudaDevice::open(config, clock));
  return std::unique_ptr<Device>(std::move(device));
}

CudaDevice::CudaDevice(const CudaDeviceConfig& config, const Clock& clock) : config_(config), clock_(clock) {}

CudaDevice::~CudaDevice() {
  unlink_outputs();
  drop_executor();
}

Result<std::unique_ptr<CudaDevice>> CudaDevice::open(const CudaDeviceConfig& config, const Clock& clock) {
  std::unique_ptr<CudaDevice> device(new CudaDevice(config, clock));
  if (config.log_path.empty()) {
    CUTEGEN_TRY(device->log_dir_, TempDir::make("cutegen-executor"));
    device->config_.log_path = device->log_dir_->path() / "executor.log";
  }
  // A launch that blocks would hide how launches overlap.
  device->config_.env.try_emplace("CUDA_LAUNCH_BLOCKING", "0");
  sweep_stale_outputs();
  CUTEGEN_CHECK(device->ensure_executor());
  return device;
}

Result<void> CudaDevice::ensure_executor() {
  if (child_ && child_->alive()) return {};
  drop_executor();
  std::error_code ec;
  const auto size = std::filesystem::file_size(config_.log_path, ec);
  log_start_ = ec ? 0 : size;
  std::vector<std::string> argv = {config_.executor.string()};
  argv.insert(argv.end(), config_.arguments.begin(), config_.arguments.end());
  CUTEGEN_TRY(child_, Child::spawn(Command{argv, config_.env, {}, {}}, config_.log_path));
  ++executors_started_;
  auto greeted = greet();
  if (!greeted.ok()) drop_executor();
  return greeted;
}

Result<void> CudaDevice::greet() {
  Result<Json> answer = Error{};
  if (auto sent = send_frame(child_->channel(), {{"op", "hello"}, {"ordinal", config_.ordinal}}); !sent.ok()) {
    answer = sent.error();
  } else {
    answer = receive_frame(child_->channel(), Deadline::in(clock_, config_.start_limit), clock_);
  }
  if (!answer.ok())
    return Error{Errc::device, "the executor process does not start: " + answer.error().message, "its log: " + config_.log_path.string(),
                 log_tail()};
  if (answer->contains("error")) return error_from_wire((*answer)["error"]);
  CUTEGEN_TRY(executor_pid_, json_get<int>(*answer, "pid"));
  CUTEGEN_TRY(const Json info, json_get<Json>(*answer, "info"));
  CUTEGEN_TRY(info_, device_info_from_wire(info));
  return {};
}

void CudaDevice::drop_executor() {
  if (child_) child_->stop(Seconds(0));
  child_.reset();
  if (executor_pid_ > 0) wait_until_gone(executor_pid_);
  executor_pid_ = 0;
}

std::string CudaDevice::log_tail() const {
  std::ifstream log(config_.log_path, std::ios::binary | std::ios::ate);
  if (!log) return {};
  const std::streamoff end = log.tellg();
  const std::streamoff begin = std::max(static_cast<std::streamoff>(log_start_), end - kTailBytes);
  if (end <= begin) return {};
  std::string tail(static_cast<size_t>(end - begin), '\0');
  log.seekg(begin);
  log.read(tail.data(), end - begin);
  return tail;
}

// The executor did not answer: past the deadline, dead, or talking nonsense. Each is laid to the candidate that it was running.
CudaDevice::Exchange CudaDevice::lose(const Error& error, const std::string& doing, Seconds limit) {
  Outcome outcome{OutcomeKind::executor_lost, {}};
  if (error.code == Errc::timeout) {
    outcome = {OutcomeKind::timeout, fmt::format("not finished after {:g} s, while {}", limit.count(), doing)};
    drop_executor();
  } else if (error.code == Errc::protocol) {
    outcome.detail = fmt::format("the executor answered nonsense while {}: {}", doing, error.message);
    drop_executor();
  } else {
    const ExitStatus status = child_->stop(Seconds(1));
    drop_executor();
    outcome.detail = fmt::format("the executor process ended ({}) while {}", status.describe(), doing);
    if (const std::string tail = log_tail(); !tail.empty()) outcome.detail += "; its log ends:\n" + tail;
  }
  spdlog::warn("executor lost: {}", outcome.detail);
  return {Json(), std::move(outcome)};
}

Result<CudaDevice::Exchange> CudaDevice::exchange(const Json& request, Seconds limit) {
  CUTEGEN_CHECK(ensure_executor());
  const Deadline deadline = Deadline::in(clock_, limit);
  std::string doing = "reading the request";
  if (auto sent = send_frame(child_->channel(), request); !sent.ok()) return lose(sent.error(), doing, limit);
  for (;;) {
    auto answer = receive_frame(child_->channel(), deadline, clock_);
    if (!answer.ok()) return lose(answer.error(), doing, limit);
    if (!answer->contains("progress")) return Exchange{std::move(answer).value(), std::nullopt};
    doing = json_or(*answer, "progress", doing);
  }
}

template <class ResultType>
Result<ResultType> CudaDevice::finish(Result<Exchange> exchanged, Result<ResultType> (*parse)(const Json&)) {
  if (!exchanged.ok()) return std::move(exchanged).error();
  if (exchanged->lost) {
    ResultType result;
    result.outcome = *std::move(exchanged->lost);
    return result;
  }
  const Json& answer = exchanged->answer;
  if (json_or(answer, "fatal", false)) drop_executor();
  if (answer.contains("error")) return error_from_wire(answer["error"]);
  auto parsed = parse(answer);
  if (parsed.ok()) return parsed;
  ResultType result;  // an answer that cannot be read is the executor's failure, like one that never came
  result.outcome = {OutcomeKind::executor_lost, "the executor answered nonsense: " + parsed.error().message};
  drop_executor();
  return result;
}

SharedTensor::Where CudaDevice::where_for(const RunRequest& request) const {
  if (config_.outputs_in) return *config_.outputs_in;
  for (const auto* list : {&request.inputs, &request.params})
    for (const SharedTensor& t : *list)
      if (t.where == SharedTensor::Where::shm) return SharedTensor::Where::shm;
  return SharedTensor::Where::cuda_ipc;
}

void CudaDevice::unlink_outputs() {
  for (size_t i = 0; i < shm_count_; ++i) Shm::unlink(shm_prefix_ + "-" + std::to_string(i));
  shm_count_ = 0;
}

Result<RunResult> CudaDevice::run(const RunRequest& request) {
  unlink_outputs();
  static std::atomic<unsigned> serial{0};  // several devices of one process must not share names
  shm_prefix_ = fmt::format("/{}{}-{}", kShmStem, ::getpid(), serial++);
  shm_count_ = request.outputs.size();
  Json message = to_wire(request);
  message["export"] = to_wire(ExportTo{where_for(request), shm_prefix_});
  return finish(exchange(message, request.time_limit), &run_result_from_wire);
}

Result<TimeResult> CudaDevice::time(const TimeRequest& request) {
  unlink_outputs();
  return finish(exchange(to_wire(request), request.time_limit), &time_result_from_wire);
}

}  // namespace cutegen
