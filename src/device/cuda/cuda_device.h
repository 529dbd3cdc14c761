// A CUDA GPU as a Device: the parent's side of the executor process.
//
// The executor is started once and lives on between candidates; after a fault, a time-out or its own death the next call starts a new
// one. It never outlives this process (base/subprocess.h).
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/subprocess.h"
#include "device/device.h"

namespace cutegen {

struct CudaDeviceConfig {
  int ordinal = 0;                                      // among the GPUs that CUDA_VISIBLE_DEVICES leaves
  std::filesystem::path executor = "/proc/self/exe";    // a program that calls run_executor(3) ...
  std::vector<std::string> arguments = {"__executor"};  // ... when given these arguments
  std::filesystem::path log_path;                       // the executor's stdout and stderr; empty: a temporary file
  std::map<std::string, std::string> env;               // added to the executor's environment
  std::optional<SharedTensor::Where> outputs_in;        // unset: where the inputs of the request are
  Seconds start_limit{60};
};

// Errc::missing_dependency without driver or GPU, Errc::invalid_input for an ordinal that does not exist.
Result<std::unique_ptr<Device>> open_cuda_device(const CudaDeviceConfig& config, const Clock& clock = system_clock());

class CudaDevice : public Device {
 public:
  static Result<std::unique_ptr<CudaDevice>> open(const CudaDeviceConfig& config, const Clock& clock = system_clock());
  ~CudaDevice() override;

  DeviceInfo info() const override { return info_; }
  Result<RunResult> run(const RunRequest& request) override;
  Result<TimeResult> time(const TimeRequest& request) override;
  void trim() override { drop_executor(); }  // the next call starts a fresh one
  bool measures_time() const override { return true; }

  int executor_pid() const { return executor_pid_; }  // 0 when none is running
  int executors_started() const { return executors_started_; }

 private:
  CudaDevice(const CudaDeviceConfig& config, const Clock& clock);

  // The executor's last frame, or how the exchange ended without one.
  struct Exchange {
    Json answer;
    std::optional<Outcome> lost;
  };
  Result<void> ensure_executor();
  Result<void> greet();
  void drop_executor();
  Result<Exchange> exchange(const Json& request, Seconds limit);
  Exchange lose(const Error& error, const std::string& doing, Seconds limit);
  std::string log_tail() const;
  template <class ResultType>
  Result<ResultType> finish(Result<Exchange> exchanged, Result<ResultType> (*parse)(const Json&));

  SharedTensor::Where where_for(const RunRequest& request) const;
  void unlink_outputs();

  CudaDeviceConfig config_;
  const Clock& clock_;
  DeviceInfo info_;
  std::optional<TempDir> log_dir_;
  std::optional<Child> child_;
  int executor_pid_ = 0;
  int executors_started_ = 0;
  std::uintmax_t log_start_ = 0;  // bytes in the log when this executor started
  std::string shm_prefix_;        // of the last run's outputs
  size_t shm_count_ = 0;
};

}  // namespace cutegen
