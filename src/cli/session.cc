#include "cli/session.h"

#include <unistd.h>

#include "cli/console.h"
#include "device/cuda/cuda_device.h"
#include "device/virtual/virtual_device.h"
#include "oracle/python_oracle.h"
#include "propose/playbook/playbook.h"
#include "toolchain/nvcc.h"

namespace cutegen::cli {
namespace fs = std::filesystem;
namespace {

constexpr double kLeaseNoteSeconds = 0.5, kLeaseSeconds = 3600;

// Stands where a device would be, so that only the code which must know does.
class NoDevice final : public Device {
 public:
  DeviceInfo info() const override { return {}; }
  Result<RunResult> run(const RunRequest&) override { return refuse(); }
  Result<TimeResult> time(const TimeRequest&) override { return refuse(); }
  bool measures_time() const override { return false; }

 private:
  static Error refuse() { return Error{Errc::internal, "a candidate was to be executed without a device", "", ""}; }
};

Result<std::unique_ptr<Lease>> wait_for_lease(const std::string& gpu) {
  return acquire_gpu_lease(gpu, Deadline::in(system_clock(), Seconds(kLeaseSeconds)));
}

Result<void> lease_gpu(Session& session) {
  const DeviceInfo info = session.device->info();
  const std::string gpu = info.uuid.empty() ? "0" : info.uuid;
  auto lease = acquire_gpu_lease(gpu, Deadline::in(system_clock(), Seconds(kLeaseNoteSeconds)));
  if (!lease.ok() && lease.error().code == Errc::timeout) {
    note("waiting for the GPU: " + lease.error().message);
    lease = wait_for_lease(gpu);
  }
  CUTEGEN_TRY(session.lease, std::move(lease));
  session.hold = [gpu] { return wait_for_lease(gpu); };
  return {};
}

void go_without_device(Session& session, std::string why) {
  session.device = std::make_unique<NoDevice>();
  session.build_only = true;
  session.no_device = std::move(why);
}

Result<void> open_cuda(const fs::path& log_dir, Session& session) {
  CudaDeviceConfig config;
  if (!log_dir.empty()) config.log_path = log_dir / "executor.log";
  CUTEGEN_TRY(session.device, open_cuda_device(config));
  return lease_gpu(session);
}

Result<void> open_virtual(Session& session) {
  CUTEGEN_TRY(session.device, open_virtual_device());
  return {};
}

// auto: a GPU, else the virtual one, else none.
Result<void> open_device(const std::string& kind, const fs::path& log_dir, Session& session) {
  if (kind == "none") {
    go_without_device(session, "--device none");
    return {};
  }
  if (kind == "virtual") return open_virtual(session);
  auto opened = open_cuda(log_dir, session);
  if (kind != "auto" || opened.ok() || opened.error().code != Errc::missing_dependency) return opened;
  note("no GPU: " + opened.error().message + "; candidates run on the virtual GPU, times are predicted");
  if (auto opened_virtual = open_virtual(session); !opened_virtual.ok()) go_without_device(session, opened_virtual.error().message);
  return {};
}

Result<std::unique_ptr<Proposer>> make_proposer(const std::string& name) {
  if (name != "playbook") return Error{Errc::invalid_input, "unknown proposer '" + name + "'", "this build has: playbook", ""};
  CUTEGEN_TRY(const fs::path data, data_dir());
  return make_playbook(data / "kernels");
}

}  // namespace

Result<void> check_file(const fs::path& path, const std::string& what) {
  std::error_code ec;
  const auto status = fs::status(path, ec);
  if (!fs::exists(status)) return Error{Errc::invalid_input, "there is no " + what + " " + path.string(), "", ""};
  if (fs::is_directory(status)) return Error{Errc::invalid_input, path.string() + " is a directory, not a " + what, "", ""};
  if (::access(path.c_str(), R_OK) != 0) return Error{Errc::invalid_input, "the " + what + " " + path.string() + " cannot be read", "", ""};
  if (fs::is_regular_file(status) && fs::file_size(path, ec) == 0)
    return Error{Errc::invalid_input, "the " + what + " " + path.string() + " is empty", "", ""};
  return {};
}

Json Session::device_json() const {
  if (build_only) return Json{{"kind", "none"}, {"name", ""}, {"why", no_device}};
  const DeviceInfo info = device->info();
  return Json{
      {"kind", to_string(info.kind)}, {"name", info.name}, {"driver", info.driver}, {"arch", info.arch}, {"sm_count", info.sm_count}};
}

Json Session::tools_json() const {
  const OracleInfo info = oracle->info();
  return Json{{"cutegen", CUTEGEN_VERSION},
              {"toolchain", toolchain->version()},
              {"oracle", {{"python", info.python}, {"torch", info.torch}, {"cuda", info.cuda}, {"on_gpu", info.on_gpu}}}};
}

Result<std::unique_ptr<Oracle>> open_oracle(const fs::path& task, const std::string& device, const fs::path& log_dir) {
  CUTEGEN_CHECK(check_file(task, "task file"));
  OracleConfig config;
  config.task = task;
  config.device = device;
  if (!log_dir.empty()) config.log = log_dir / "oracle.log";
  return start_python_oracle(config);
}

Result<Session> open_session(const RunConfig& config, const fs::path& log_dir, HoldGpu hold) {
  CUTEGEN_CHECK(check_file(config.task, "task file"));
  Session session;
  CUTEGEN_TRY(session.proposer, make_proposer(config.proposer));
  CUTEGEN_CHECK(open_device(config.device, log_dir, session));
  ToolchainConfig toolchain;
  if (!session.build_only) toolchain.arch = session.device->info().arch;
  CUTEGEN_TRY(session.toolchain, make_nvcc_toolchain(toolchain));
  CUTEGEN_TRY(session.oracle, open_oracle(config.task, session.device->measures_time() ? "auto" : "cpu", log_dir));
  if (hold == HoldGpu::while_judging) {
    session.oracle->trim();
    session.lease.reset();
  } else {
    session.hold = {};
  }
  return session;
}

}  // namespace cutegen::cli
