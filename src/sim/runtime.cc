#include "sim/runtime.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/fs.h"
#include "sim/cubin.h"
#include "sim/fatbin.h"

namespace cutegen::sim {
namespace {

constexpr uint64_t kMaxCtaThreads = 1024;

int code_of(vgpu::FaultKind kind) {
  switch (kind) {
    case vgpu::FaultKind::out_of_bounds:
    case vgpu::FaultKind::use_after_free:
    case vgpu::FaultKind::read_only: return kIllegalAddress;
    case vgpu::FaultKind::misaligned: return kMisalignedAddress;
    case vgpu::FaultKind::assertion: return kAssert;
    case vgpu::FaultKind::illegal_instruction: return kIllegalInstruction;
    case vgpu::FaultKind::time_limit: return kLaunchTimeout;
    case vgpu::FaultKind::invalid_launch: return kInvalidValue;
    default: return kLaunchFailure;
  }
}

vgpu::Dim3 to_vgpu(dim3 d) { return {d.x, d.y, d.z}; }
uint64_t count(dim3 d) { return uint64_t{d.x} * d.y * d.z; }

}  // namespace

int Function::registers() const {
  const auto it = module->registers.find(name);
  return it == module->registers.end() ? 0 : it->second;
}

int& last_error() {
  static thread_local int error = kSuccess;
  return error;
}

Runtime& Runtime::get() {
  static Runtime* runtime = new Runtime;
  return *runtime;
}

void Runtime::say(const std::string& message) {
  std::fflush(stdout);
  const std::string line = "cutegen sim: " + message + "\n";
  [[maybe_unused]] const size_t n = std::fwrite(line.data(), 1, line.size(), stderr);
}

Module* Runtime::register_fat_binary(const void* wrapper) {
  auto module = std::make_unique<Module>();
  module->wrapper = wrapper;
  Module* key = module.get();
  modules_[key] = std::move(module);
  return key;
}

void Runtime::unregister_fat_binary(Module* module) {
  std::erase_if(functions_, [&](const auto& entry) {
    if (entry.second->module != module) return false;
    handles_.erase(entry.second.get());
    return true;
  });
  std::erase_if(variables_, [&](const auto& entry) { return entry.second.module == module; });
  modules_.erase(module);
}

void Runtime::register_function(Module* module, const void* stub, std::string name) {
  auto function = std::make_unique<Function>();
  function->module = module;
  function->name = std::move(name);
  handles_.insert(function.get());
  functions_[stub] = std::move(function);
}

void Runtime::register_variable(const void* host_variable, Variable variable) { variables_[host_variable] = std::move(variable); }

Status Runtime::load(Module& module) {
  if (module.tried) return module.load_failure;
  module.tried = true;
  const auto failed = [&](int code, const Error& error) {
    module.load_failure = Status(code, error.message + (error.hint.empty() ? "" : "; " + error.hint));
    return module.load_failure;
  };
  const auto bytes = fat_binary_of(module.wrapper);
  if (!bytes.ok()) return failed(kInvalidKernelImage, bytes.error());
  const auto entries = read_fat_binary(*bytes);
  if (!entries.ok()) return failed(kInvalidKernelImage, entries.error());
  auto ptx = best_ptx(*entries);
  if (!ptx.ok()) return failed(kNoKernelImageForDevice, ptx.error());
  const auto space = memory.variable_space();
  if (!space.ok()) return failed(kMemoryAllocation, space.error());
  auto program = vgpu::load_ptx(std::move(*ptx), "program.ptx", *space);
  if (!program.ok()) return failed(kInvalidPtx, program.error());
  module.program = std::move(*program);
  module.registers = register_counts(machine_code(*entries));
  vgpu::place_variables(*module.program, memory.memory());
  for (auto& [host, variable] : variables_) {
    if (variable.module != &module || variable.managed_pointer == nullptr) continue;
    for (const vgpu::ProgramVariable& v : module.program->variables())
      if (v.name == variable.name) *variable.managed_pointer = reinterpret_cast<void*>(v.address);
  }
  return {};
}

Status Runtime::initialise_managed(Module* module) {
  const bool managed = std::any_of(variables_.begin(), variables_.end(), [&](const auto& entry) {
    return entry.second.module == module && entry.second.managed_pointer != nullptr;
  });
  return managed ? load(*module) : Status();
}

const Function* Runtime::handle_of(const void* stub_or_handle) const {
  const auto* handle = static_cast<const Function*>(stub_or_handle);
  if (handles_.contains(handle)) return handle;
  const auto it = functions_.find(stub_or_handle);
  return it == functions_.end() ? nullptr : it->second.get();
}

Status Runtime::find_function(const void* stub_or_handle, Function*& function) {
  function = const_cast<Function*>(handle_of(stub_or_handle));  // the handle is what register_function made
  if (function == nullptr) return {kInvalidDeviceFunction, "the pointer names no kernel"};
  if (Status s = load(*function->module); !s.ok()) return s;
  function->info = function->module->program->find_kernel(function->name);
  if (function->info == nullptr)
    return {kInvalidDeviceFunction, fmt::format("kernel '{}' is not in the PTX that sm_90 runs", function->name)};
  return {};
}

Status Runtime::find_variable(const void* host_variable, uint64_t& address, uint64_t& bytes) {
  const auto it = variables_.find(host_variable);
  if (it == variables_.end()) return {kInvalidSymbol, "the pointer names no device variable"};
  if (Status s = load(*it->second.module); !s.ok()) return s;
  for (const vgpu::ProgramVariable& v : it->second.module->program->variables()) {
    if (v.name != it->second.name) continue;
    address = v.address, bytes = v.bytes;
    return {};
  }
  return {kInvalidSymbol, fmt::format("variable '{}' is not in the PTX that sm_90 runs", it->second.name)};
}

Status Runtime::check(const Launch& l, const Function& f, dim3 cluster) {
  const uint64_t threads = count(l.block);
  if (count(l.grid) == 0 || threads == 0 || threads > kMaxCtaThreads || l.block.z > 64)
    return {kInvalidValue, fmt::format("kernel '{}': grid ({},{},{}), block ({},{},{})", f.name, l.grid.x, l.grid.y, l.grid.z, l.block.x,
                                       l.block.y, l.block.z)};
  const size_t smem = f.info->static_smem_bytes + l.dynamic_smem_bytes;
  const size_t allowed = f.max_dynamic_smem > 0 ? f.info->static_smem_bytes + static_cast<size_t>(f.max_dynamic_smem) : kSmemPerCta;
  if (smem > std::max<size_t>(allowed, kSmemPerCta))
    return {kInvalidValue, fmt::format("kernel '{}' is launched with {} bytes of shared memory; {} are allowed "
                                       "(cudaFuncAttributeMaxDynamicSharedMemorySize)",
                                       f.name, smem, allowed)};
  if (count(cluster) > kPortableCluster && !f.non_portable_cluster)
    return {kInvalidClusterSize,
            fmt::format("kernel '{}': a cluster of {} CTAs needs cudaFuncAttributeNonPortableClusterSizeAllowed", f.name, count(cluster))};
  if (count(cluster) == 0 || l.grid.x % cluster.x != 0 || l.grid.y % cluster.y != 0 || l.grid.z % cluster.z != 0)
    return {kInvalidClusterSize,
            fmt::format("kernel '{}': the grid is not a multiple of the cluster ({},{},{})", f.name, cluster.x, cluster.y, cluster.z)};
  if (!l.cooperative) return {};
  int ctas_per_sm = 0;
  if (Status s = occupancy(const_cast<Function&>(f), static_cast<int>(threads), l.dynamic_smem_bytes, ctas_per_sm); !s.ok()) return s;
  const uint64_t resident = static_cast<uint64_t>(ctas_per_sm) * kSmCount;
  if (count(l.grid) > resident)
    return {kCooperativeLaunchTooLarge, fmt::format("kernel '{}': {} CTAs, of which {} can be resident", f.name, count(l.grid), resident)};
  return {};
}

Status Runtime::after_fault(const vgpu::Fault& fault) {
  const int code = code_of(fault.kind);
  if (fault.kind != vgpu::FaultKind::invalid_launch) poison = code;
  return {code, fault.message};
}

// Once a process for one check at one instruction, however many launches find it.
void Runtime::report(const vgpu::Finding& finding) {
  if (reported_.insert(fmt::format("{} {} {}", finding.kernel, finding.ptx_line, finding.check)).second) say(finding.message);
}

Status Runtime::launch(const Launch& l) {
  Function* f = nullptr;
  if (Status s = find_function(l.function, f); !s.ok()) return s;
  if (Status s = check(l, *f, l.cluster); !s.ok()) return s;
  vgpu::LaunchConfig config;
  config.kernel = f->name;
  config.grid = to_vgpu(l.grid), config.block = to_vgpu(l.block), config.cluster = to_vgpu(l.cluster);
  config.dynamic_smem_bytes = static_cast<uint32_t>(l.dynamic_smem_bytes);
  config.cooperative = l.cooperative;
  config.arguments.resize(f->info->argument_bytes);
  for (size_t i = 0; i < f->info->parameters.size(); ++i) {
    const vgpu::KernelParameter& p = f->info->parameters[i];
    std::memcpy(config.arguments.data() + p.offset, l.arguments[i], p.bytes);
  }
  const Nanoseconds begin = system_clock().now();
  const vgpu::LaunchResult result = vgpu::launch(*f->module->program, memory.memory(), config, settings.launch);
  if (!settings.counters_folder.empty()) {
    if (std::exchange(log_owner_, ::getpid()) != ::getpid()) log_ = LaunchLog();
    log_.add(config, result, Seconds(system_clock().now() - begin).count());
  }
  if (!result.output.empty()) [[maybe_unused]]
    const size_t n = std::fwrite(result.output.data(), 1, result.output.size(), stdout);
  for (const vgpu::Finding& finding : result.findings) report(finding);
  return result.fault ? after_fault(*result.fault) : Status();
}

// By threads, shared memory, the limit of CTAs and, where they are known, registers: those of a warp come in units of 256, each quarter of
// the SM has its own (CUDA C++ Best Practices Guide, "Occupancy").
Status Runtime::occupancy(Function& f, int block_threads, size_t dynamic_smem, int& ctas_per_sm) {
  if (block_threads <= 0) return {kInvalidValue, fmt::format("a block of {} threads", block_threads)};
  constexpr int kQuarters = 4, kRegisterUnit = 256;
  const int warps = (block_threads + kWarp - 1) / kWarp;
  const size_t smem = f.info->static_smem_bytes + dynamic_smem;
  ctas_per_sm = 0;
  if (block_threads > static_cast<int>(kMaxCtaThreads) || smem > kSmemPerCtaOptIn) return {};
  ctas_per_sm = std::min({kCtasPerSm, kThreadsPerSm / kWarp / warps, static_cast<int>(kSmemPerSm / (smem + kSmemReserved))});
  if (f.registers() == 0) return {};
  const int a_warps = (f.registers() * kWarp + kRegisterUnit - 1) / kRegisterUnit * kRegisterUnit;
  ctas_per_sm = std::min(ctas_per_sm, kRegistersPerSm / kQuarters / a_warps * kQuarters / warps);
  return {};
}

void Runtime::reset_device() {
  memory.free_all();
  streams.clear();
  events.clear();
  poison = kSuccess;
}

void Runtime::write_counters() {
  const std::lock_guard lock(mutex);
  if (log_.empty() || log_owner_ != ::getpid()) return;
  const auto path = std::filesystem::path(settings.counters_folder) / (std::to_string(::getpid()) + ".json");
  if (auto written = write_file_atomic(path, log_.to_json().dump()); !written.ok()) say(written.error().message);
}

}  // namespace cutegen::sim

// When the program ends in order; one that is killed leaves no counters.
__attribute__((destructor)) static void leave_counters() { cutegen::sim::Runtime::get().write_counters(); }
