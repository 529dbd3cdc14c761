// Wires the concrete parts together: Python oracle, nvcc, a device, a proposer.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "base/fs.h"
#include "cli/run_config.h"
#include "device/device.h"
#include "device/lease.h"
#include "oracle/oracle.h"
#include "propose/proposer.h"
#include "toolchain/toolchain.h"

namespace cutegen::cli {

// How long a run keeps other processes of cutegen from the GPU.
enum class HoldGpu { whole_run, while_judging };

struct Session {
  std::unique_ptr<Lease> lease;                          // of the GPU; absent without one, and with while_judging
  std::function<Result<std::unique_ptr<Lease>>()> hold;  // while_judging: SearchConfig::hold
  std::unique_ptr<Device> device;
  std::unique_ptr<Oracle> oracle;
  std::unique_ptr<Toolchain> toolchain;
  std::unique_ptr<Proposer> proposer;
  bool build_only = false;   // nothing can be executed: `device` refuses everything
  std::string no_device;     // why
  Json device_json() const;  // docs/store.md, meta "device"
  Json tools_json() const;
};

// `log_dir` gets oracle.log and executor.log. Cheap mistakes (no such file, unknown proposer) are found before anything is started.
Result<Session> open_session(const RunConfig& config, const std::filesystem::path& log_dir, HoldGpu hold = HoldGpu::whole_run);
// Only the oracle, for what needs no device.
Result<std::unique_ptr<Oracle>> open_oracle(const std::filesystem::path& task, const std::string& device,
                                            const std::filesystem::path& log_dir);
// Errc::invalid_input with a sentence unless `path` is a regular file that can be read.
Result<void> check_file(const std::filesystem::path& path, const std::string& what);

}  // namespace cutegen::cli
