#include "device/virtual/virtual_device.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <map>

#include "base/fs.h"
#include "device/shm.h"
#include "device/virtual/plan_tensor_map.h"
#include "vgpu/observe/check.h"
#include "vgpu/time/predict.h"
#include "vgpu/vgpu.h"

namespace cutegen {
namespace {

constexpr size_t kProgramsKept = 16;

OutcomeKind outcome_of(const vgpu::Fault& fault) {
  using vgpu::FaultKind;
  switch (fault.kind) {
    case FaultKind::out_of_bounds:
    case FaultKind::use_after_free: return OutcomeKind::illegal_address;
    case FaultKind::misaligned: return OutcomeKind::misaligned_address;
    case FaultKind::read_only: return OutcomeKind::input_modified;
    case FaultKind::barrier_divergence:
    case FaultKind::deadlock:
    case FaultKind::uninitialised:
    case FaultKind::race:
    case FaultKind::missing_wait:
    case FaultKind::missing_fence:
    case FaultKind::unfinished_async:
    case FaultKind::mbarrier_misuse: return OutcomeKind::check_failed;
    case FaultKind::trap:
    case FaultKind::assertion: return OutcomeKind::assert_or_trap;
    case FaultKind::illegal_instruction: return OutcomeKind::illegal_instruction;
    case FaultKind::instruction_limit:
    case FaultKind::time_limit: return OutcomeKind::timeout;
    case FaultKind::invalid_launch: return OutcomeKind::invalid_launch;
  }
  return OutcomeKind::launch_failure;
}

DeviceFinding finding_of(const vgpu::Fault& f) {
  const auto text = [](const vgpu::Dim3& d) { return fmt::format("({},{},{})", d.x, d.y, d.z); };
  DeviceFinding d;
  d.kind = vgpu::to_string(f.kind), d.message = f.message;
  d.kernel = f.kernel, d.file = f.file, d.inlined_at = f.inlined_at, d.line = static_cast<int>(f.line);
  d.cta = text(f.cta), d.thread = text(f.thread);
  d.buffer = f.buffer, d.address = f.address, d.distance = f.distance;
  return d;
}
DeviceFinding finding_of(const vgpu::Finding& f) {
  DeviceFinding d = finding_of(static_cast<const vgpu::Fault&>(f));
  d.check = f.check, d.related = f.related, d.count = f.count;
  if (const vgpu::CheckRecord* record = vgpu::find_check(f.check)) d.why = record->why, d.fix = record->fix;
  return d;
}

vgpu::Dim3 dim3(const std::array<uint32_t, 3>& d) { return {d[0], d[1], d[2]}; }

// The buffers of one execution, by plan argument kind.
struct Buffers {
  vgpu::Memory memory;
  std::vector<Shm> mapped;  // keeps foreign memory mapped
  std::vector<Shm> outputs;
  std::vector<uint64_t> inputs, params, outs;
  uint64_t workspace = 0;
};

class VirtualDevice : public Device {
 public:
  explicit VirtualDevice(const VirtualDeviceConfig& config) : config_(config) {}
  ~VirtualDevice() override { drop_outputs(); }

  DeviceInfo info() const override {
    DeviceInfo i;
    i.kind = DeviceKind::virtual_gpu;
    i.name = "virtual H200";
    i.driver = std::string("vgpu ") + vgpu::host_isa();
    i.sm_count = 132;
    i.memory_bytes = 141ll << 30;
    i.l2_bytes = 50ll << 20;
    return i;
  }
  bool measures_time() const override { return false; }

  Result<RunResult> run(const RunRequest& request) override {
    drop_outputs();
    RunResult result;
    CUTEGEN_TRY(auto program, program_of(*request.build, result.outcome));
    if (!result.outcome.ok()) return result;
    Buffers b;
    CUTEGEN_CHECK(map_tensors(b, request.inputs, b.inputs));
    CUTEGEN_CHECK(map_tensors(b, request.params, b.params));
    CUTEGEN_CHECK(make_outputs(b, request.outputs, request.poison, result.outputs));
    for (const uint64_t output : b.outs) b.memory.mark_undefined(output);
    CUTEGEN_CHECK(execute(*program, request.build->plan, b, request.poison, request.time_limit, result.findings, result.outcome));
    if (!result.outcome.ok()) result.outputs.clear();
    return result;
  }

  // One prediction (vgpu/time/predict.h); every sample is the same.
  Result<TimeResult> time(const TimeRequest& request) override {
    drop_outputs();
    TimeResult result;
    CUTEGEN_TRY(auto program, program_of(*request.build, result.outcome));
    if (!result.outcome.ok()) return result;
    if (request.input_sets.empty()) return Error{Errc::invalid_input, "a time request needs at least one set of inputs", "", ""};
    CUTEGEN_CHECK(load_profile());
    Buffers b;
    std::vector<SharedTensor> outputs;
    CUTEGEN_CHECK(map_tensors(b, request.input_sets[0], b.inputs));
    CUTEGEN_CHECK(map_tensors(b, request.params, b.params));
    CUTEGEN_CHECK(make_outputs(b, request.outputs, 0, outputs));
    CUTEGEN_TRY(const double seconds, predict(*program, *request.build, b, request.time_limit, result));
    if (result.outcome.ok()) result.ms.assign(static_cast<size_t>(request.repeats), 1e3 * seconds);
    return result;
  }

 private:
  using ProgramPtr = std::shared_ptr<const vgpu::Program>;

  Result<ProgramPtr> program_of(const Build& build, Outcome& outcome) {
    if (const auto it = programs_.find(build.key); it != programs_.end() && !build.key.empty()) return it->second;
    CUTEGEN_TRY(std::string text, read_file(build.ptx));
    auto program = vgpu::load_ptx(std::move(text), build.ptx.filename().string());
    if (!program.ok()) {
      outcome = {OutcomeKind::load_failure, program.error().message};
      return ProgramPtr();
    }
    if (programs_.size() >= kProgramsKept) programs_.clear();
    programs_[build.key] = *program;
    return *program;
  }

  static Result<void> map_tensors(Buffers& b, const std::vector<SharedTensor>& tensors, std::vector<uint64_t>& addresses) {
    for (const SharedTensor& t : tensors) {
      if (t.where != SharedTensor::Where::shm)
        return Error{Errc::unsupported, "the virtual GPU reads tensors from POSIX shared memory only ('" + t.spec.name + "')",
                     "run the oracle on the CPU", ""};
      CUTEGEN_TRY(Shm object, Shm::open_readable(t.handle));
      CUTEGEN_TRY(const auto bytes, tensor_bytes(object, t));
      addresses.push_back(b.memory.map_read_only(t.spec.name, bytes.data(), bytes.size()));
      b.mapped.push_back(std::move(object));
    }
    return {};
  }

  static void fill(void* at, uint64_t bytes, uint32_t poison) {
    auto* p = static_cast<char*>(at);
    for (uint64_t i = 0; i < bytes; i += 4) std::memcpy(p + i, &poison, std::min<uint64_t>(4, bytes - i));
  }

  Result<void> make_outputs(Buffers& b, const std::vector<TensorSpec>& specs, uint32_t poison, std::vector<SharedTensor>& tensors) {
    static std::atomic<uint64_t> serial{0};
    for (const TensorSpec& spec : specs) {
      SharedTensor t;
      t.spec = spec;
      t.handle = fmt::format("/cutegen-{}-virtual-{}", ::getpid(), ++serial);
      CUTEGEN_TRY(Shm object, Shm::create(t.handle, spec.bytes()));
      output_names_.push_back(t.handle);
      fill(object.bytes().data(), static_cast<uint64_t>(spec.bytes()), poison);
      b.outs.push_back(b.memory.map(spec.name, object.bytes().data(), static_cast<uint64_t>(spec.bytes())));
      b.outputs.push_back(std::move(object));
      tensors.push_back(std::move(t));
    }
    return {};
  }

  static Result<uint64_t> value_of(const PlanArg& a, const Buffers& b) {
    auto pick = [&](const std::vector<uint64_t>& from, const char* what) -> Result<uint64_t> {
      if (a.index >= from.size())
        return Error{Errc::invalid_input, fmt::format("the plan names {} {}, of {}", what, a.index, from.size()), "", ""};
      return from[a.index] + a.offset;
    };
    switch (a.kind) {
      case ArgKind::input: return pick(b.inputs, "input");
      case ArgKind::param: return pick(b.params, "parameter");
      case ArgKind::output: return pick(b.outs, "output");
      case ArgKind::workspace: return b.workspace + a.offset;
      case ArgKind::scalar: return a.value;
      case ArgKind::tensor_map: break;  // not a value: arguments()
    }
    return uint64_t{0};
  }

  static Result<vgpu::TensorMap> tensor_map(const Plan& plan, uint32_t index, const Buffers& b) {
    if (index >= plan.tensor_maps.size())
      return Error{Errc::invalid_input, fmt::format("the plan names tensor map {}, of {}", index, plan.tensor_maps.size()), "", ""};
    const PlanTensorMap& map = plan.tensor_maps[index];
    CUTEGEN_TRY(const uint64_t address, value_of({map.buffer, map.index, map.offset}, b));
    return encode(map, address);
  }

  // The packed arguments of one launch, or a reason why there are none.
  static Result<std::vector<uint8_t>> arguments(const vgpu::KernelInfo& kernel, const Launch& launch, const Plan& plan, const Buffers& b) {
    if (kernel.parameters.size() != launch.args.size())
      return Error{Errc::invalid_input,
                   fmt::format("'{}' takes {} arguments, the plan gives {}", kernel.name, kernel.parameters.size(), launch.args.size()), "",
                   ""};
    std::vector<uint8_t> bytes(kernel.argument_bytes);
    for (size_t i = 0; i < launch.args.size(); ++i) {
      if (launch.args[i].kind == ArgKind::tensor_map) {
        CUTEGEN_TRY(const vgpu::TensorMap map, tensor_map(plan, launch.args[i].index, b));
        if (kernel.parameters[i].bytes != sizeof map)
          return Error{Errc::invalid_input, fmt::format("argument {} of '{}' is no tensor map", i, kernel.name), "", ""};
        std::memcpy(bytes.data() + kernel.parameters[i].offset, &map, sizeof map);
        continue;
      }
      CUTEGEN_TRY(const uint64_t value, value_of(launch.args[i], b));
      const uint32_t given = launch.args[i].kind == ArgKind::scalar ? launch.args[i].size : 8;
      if (kernel.parameters[i].bytes != given || given > 8)
        return Error{Errc::invalid_input,
                     fmt::format("argument {} of '{}' has {} bytes, the plan gives {}", i, kernel.name, kernel.parameters[i].bytes, given),
                     "", ""};
      std::memcpy(bytes.data() + kernel.parameters[i].offset, &value, given);
    }
    return bytes;
  }

  // `undefined`: reads of what no kernel has written are to be found.
  static void allocate_workspace(const Plan& plan, Buffers& b, uint32_t poison, bool undefined) {
    if (plan.workspace_bytes == 0) return;
    b.workspace = b.memory.allocate("workspace", plan.workspace_bytes);
    if (plan.workspace_zeroed) return;
    fill(b.memory.host(b.workspace), plan.workspace_bytes, poison);
    if (undefined) b.memory.mark_undefined(b.workspace);
  }

  // The launch as the machine takes it. Not ok(): `outcome` says why there is none.
  static std::optional<vgpu::LaunchConfig> launch_of(const vgpu::Program& program, const Launch& l, const Plan& plan, const Buffers& b,
                                                     Outcome& outcome) {
    const vgpu::KernelInfo* kernel = program.find_kernel(l.kernel);
    if (kernel == nullptr) return outcome = {OutcomeKind::load_failure, "the module has no kernel '" + l.kernel + "'"}, std::nullopt;
    auto packed = arguments(*kernel, l, plan, b);
    if (!packed.ok()) return outcome = {OutcomeKind::invalid_launch, packed.error().message}, std::nullopt;
    return vgpu::LaunchConfig{l.kernel, dim3(l.grid), dim3(l.block), dim3(l.cluster), l.smem_bytes, l.cooperative, *std::move(packed)};
  }

  Result<void> execute(const vgpu::Program& program, const Plan& plan, Buffers& b, uint32_t poison, Seconds limit,
                       std::vector<DeviceFinding>& findings, Outcome& outcome) {
    allocate_workspace(plan, b, poison, true);
    const Deadline deadline = Deadline::in(system_clock(), limit);
    for (const Launch& l : plan.launches) {
      const auto config = launch_of(program, l, plan, b, outcome);
      if (!config) return {};
      vgpu::LaunchOptions options;
      options.threads = config_.threads;
      options.checks = static_cast<vgpu::Checks>(config_.checks);
      options.time_limit = std::max(deadline.left(system_clock()), Seconds(1e-3));
      const vgpu::LaunchResult r = vgpu::launch(program, b.memory, *config, options);
      if (r.fault) findings.push_back(finding_of(*r.fault));
      for (const vgpu::Finding& f : r.findings) findings.push_back(finding_of(f));
      if (!r.ok()) return outcome = {outcome_of(*r.fault), r.fault->message}, Result<void>();
    }
    return {};
  }

  Result<void> load_profile() {
    if (profile_) return {};
    CUTEGEN_TRY(const std::filesystem::path data, data_dir());
    CUTEGEN_TRY(profile_, vgpu::load_gpu_profile(data / "gpus" / "h200.json"));
    return {};
  }

  using MachineCodes = std::map<std::string, vgpu::MachineCode>;
  static Result<MachineCodes> machine_codes(const Build& build) {
    if (build.cubin.empty()) return MachineCodes();
    CUTEGEN_TRY(const std::string bytes, read_file(build.cubin));
    return vgpu::read_cubin(bytes);
  }

  // Seconds of all launches, one behind the other.
  Result<double> predict(const vgpu::Program& program, const Build& build, Buffers& b, Seconds limit, TimeResult& result) {
    CUTEGEN_TRY(const MachineCodes codes, machine_codes(build));
    allocate_workspace(build.plan, b, 0, false);
    const Deadline deadline = Deadline::in(system_clock(), limit);
    double seconds = 0, least_share = 1;
    for (const Launch& l : build.plan.launches) {
      const auto config = launch_of(program, l, build.plan, b, result.outcome);
      if (!config) return 0.0;
      vgpu::ForecastOptions options;
      options.time_limit = std::max(deadline.left(system_clock()), Seconds(1e-3));
      const auto code = codes.find(l.kernel);
      const vgpu::Forecast f =
          vgpu::forecast(*profile_, program, b.memory, *config, code != codes.end() ? &code->second : nullptr, options);
      if (!f.ok()) return result.outcome = {outcome_of(*f.fault), f.fault->message}, 0.0;
      seconds += f.seconds;
      least_share = std::min(least_share, f.sampled_share);
    }
    result.outcome.detail = "predicted for an " + profile_->name;
    if (least_share < 1) result.outcome.detail += fmt::format(" from {:.2g}% of the CTAs", 100 * least_share);
    return seconds;
  }

  void drop_outputs() {
    for (const std::string& name : output_names_) Shm::unlink(name);
    output_names_.clear();
  }

  VirtualDeviceConfig config_;
  std::optional<vgpu::GpuProfile> profile_;     // once a time was asked for
  std::map<std::string, ProgramPtr> programs_;  // by Build::key
  std::vector<std::string> output_names_;       // of the last call
};

}  // namespace

Result<std::unique_ptr<Device>> open_virtual_device(const VirtualDeviceConfig& config) {
  return std::unique_ptr<Device>(new VirtualDevice(config));
}

}  // namespace cutegen
