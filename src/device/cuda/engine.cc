#include "device/cuda/engine.h"

#include <fmt/format.h>

#include <algorithm>

namespace cutegen::cuda {
namespace {

constexpr size_t kCachedModules = 32;

Result<void> as_result(Failed failed) {
  if (!failed) return {};
  if (failed->error) return *std::move(failed->error);
  return Error{Errc::device, failed->outcome.detail, "", ""};
}

std::string uuid_text(const CUuuid& uuid) {
  std::string text = "GPU-";
  for (size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid.bytes[i]);
  }
  return text;
}

std::string label(const char* kind, size_t index, const TensorSpec& spec) { return fmt::format("{} {} '{}'", kind, index, spec.name); }

}  // namespace

Result<std::unique_ptr<Engine>> Engine::start(int ordinal) {
  std::unique_ptr<Engine> engine(new Engine());
  CUTEGEN_TRY(engine->driver_, Driver::load());
  CUTEGEN_CHECK(engine->open_context(ordinal));
  return engine;
}

Result<void> Engine::open_context(int ordinal) {
  const Driver& d = *driver_;
  int count = 0;
  CUTEGEN_CHECK(d.check(d.cuDeviceGetCount(&count), "counting GPUs"));
  if (ordinal < 0 || ordinal >= count)
    return Error{Errc::invalid_input, fmt::format("there is no GPU number {}: this machine shows {}", ordinal, count),
                 "choose another, or look at CUDA_VISIBLE_DEVICES", ""};
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUTEGEN_CHECK(d.check(d.cuDeviceGet(&device, ordinal), "opening the GPU"));
  CUTEGEN_CHECK(d.check(d.cuDevicePrimaryCtxRetain(&context, device), "creating a CUDA context"));
  CUTEGEN_CHECK(d.check(d.cuCtxSetCurrent(context), "entering the CUDA context"));
  d.cuCtxSetLimit(kLimitPersistingL2Bytes, 0);  // refused by GPUs without persisting L2, which need no such limit
  CUTEGEN_CHECK(d.check(d.cuStreamCreate(&stream_, kStreamNonBlocking), "creating a stream"));
  CUTEGEN_CHECK(d.check(d.cuEventCreate(&begin_, 0), "creating an event"));
  CUTEGEN_CHECK(d.check(d.cuEventCreate(&end_, 0), "creating an event"));
  CUTEGEN_CHECK(describe(device));
  pool_ = std::make_unique<MemoryPool>(driver_, static_cast<size_t>(info_.memory_bytes) / 4);
  pool_->on_pressure = [this] {
    if (sides_.empty()) return false;
    sides_.pop_back();
    return true;
  };
  modules_ = std::make_unique<ModuleCache>(driver_, kCachedModules);
  return as_result(Checks::make(checks_, driver_, stream_, info_.sm_count));
}

Result<void> Engine::describe(CUdevice device) {
  const Driver& d = *driver_;
  const auto attribute = [&](int which) {
    int value = 0;
    d.cuDeviceGetAttribute(&value, which, device);
    return value;
  };
  char name[256] = {};
  size_t memory = 0;
  CUTEGEN_CHECK(d.check(d.cuDeviceGetName(name, sizeof name - 1, device), "reading the GPU's name"));
  CUTEGEN_CHECK(d.check(d.cuDeviceTotalMem(&memory, device), "reading the GPU's memory size"));
  CUuuid uuid = {};
  if (d.cuDeviceGetUuid != nullptr && d.cuDeviceGetUuid(&uuid, device) == kSuccess) info_.uuid = uuid_text(uuid);
  info_.kind = DeviceKind::cuda;
  info_.name = name;
  info_.memory_bytes = static_cast<int64_t>(memory);
  info_.sm_count = attribute(kAttributeSmCount);
  info_.l2_bytes = attribute(kAttributeL2Bytes);
  // From Hopper on, the architecture-specific target ("a") holds the instructions that CuTe's kernels need.
  const int major = attribute(kAttributeMajor);
  info_.arch = fmt::format("sm_{}{}{}", major, attribute(kAttributeMinor), major >= 9 ? "a" : "");
  nvml_ = Nvml::open(info_.uuid);
  info_.driver = nvml_->driver_version();
  int version = 0;
  if (info_.driver.empty() && d.cuDriverGetVersion(&version) == kSuccess)
    info_.driver = fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
  return {};
}

Failed Engine::synchronise(const std::string& where) const { return failed_if(*driver_, driver_->cuCtxSynchronize(), Phase::other, where); }

Failed Engine::make_workspace(std::shared_ptr<const Buffer>& workspace, const Plan& plan) {
  if (plan.workspace_bytes == 0) return std::nullopt;
  if (plan.workspace_bytes > static_cast<uint64_t>(info_.memory_bytes))
    return fault(OutcomeKind::out_of_memory,
                 fmt::format("the plan's workspace of {} bytes exceeds the GPU's memory", plan.workspace_bytes));
  return Buffer::make(workspace, *pool_, static_cast<int64_t>(plan.workspace_bytes), "the workspace");
}

Failed Engine::make_inputs(BufferSet& set, const std::vector<SharedTensor>& inputs) {
  set.inputs.resize(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    CUTEGEN_STEP(Buffer::make(set.inputs[i], *pool_, inputs[i].spec.bytes(), label("input", i, inputs[i].spec)));
  return std::nullopt;
}

Failed Engine::make_rest(BufferSet& set, const std::vector<SharedTensor>& params, const std::vector<TensorSpec>& outputs,
                         const Plan& plan) {
  set.params.resize(params.size());
  for (size_t i = 0; i < params.size(); ++i)
    CUTEGEN_STEP(Buffer::make(set.params[i], *pool_, params[i].spec.bytes(), label("parameter", i, params[i].spec)));
  set.outputs.resize(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i)
    CUTEGEN_STEP(Buffer::make(set.outputs[i], *pool_, outputs[i].bytes(), label("output", i, outputs[i])));
  return make_workspace(set.workspace, plan);
}

Failed Engine::poison(const BufferSet& set, uint32_t pattern) const {
  for (const auto& output : set.outputs) CUTEGEN_STEP(fill(*driver_, stream_, *output, pattern));
  if (set.workspace != nullptr) CUTEGEN_STEP(fill(*driver_, stream_, *set.workspace, pattern));
  return std::nullopt;
}

Failed Engine::check_untouched(const std::vector<const Buffer*>& all, const std::vector<const Buffer*>& read_only,
                               const std::vector<uint64_t>& before) {
  std::string finding;
  CUTEGEN_STEP(checks_->check_guards(finding, all));
  if (!finding.empty()) return fault(OutcomeKind::canary_broken, finding);
  std::vector<uint64_t> after;
  CUTEGEN_STEP(checks_->checksums(after, read_only));
  for (size_t i = 0; i < read_only.size(); ++i)
    if (after[i] != before[i]) return fault(OutcomeKind::input_modified, read_only[i]->label() + " was written by the candidate");
  return std::nullopt;
}

// Waits after every group, so that a fault or a hang is pinned to a launch. On one stream that changes nothing that the plan may rely
// on; launches that may overlap (programmatic serialisation) stay in one group.
Failed Engine::execute(RunResult& result, const Program& program, bool graph, const Progress& progress) {
  if (graph) {
    std::unique_ptr<Graph> captured;
    CUTEGEN_STEP(Graph::capture(captured, driver_, program, stream_));
    progress("replaying the plan's graph");
    CUTEGEN_STEP(captured->launch(stream_));
    result.used_graph = true;
    return synchronise("replaying the plan's graph");
  }
  CUTEGEN_STEP(program.prepare(stream_));
  for (const Program::Group& group : program.groups()) {
    progress(group.label);
    CUTEGEN_STEP(program.launch_group(group, stream_));
    CUTEGEN_STEP(synchronise(group.label));
  }
  return std::nullopt;
}

Failed Engine::run(RunResult& result, const RunRequest& request, const ExportTo& to, const Progress& progress) {
  last_run_ = {};  // the outputs of the last call end here
  progress("loading the build");
  std::shared_ptr<Module> module;
  CUTEGEN_STEP(modules_->get(module, *request.build));
  BufferSet set;
  CUTEGEN_STEP(make_inputs(set, request.inputs));
  CUTEGEN_STEP(make_rest(set, request.params, request.outputs, request.build->plan));
  progress("copying inputs");
  std::vector<Import> imports;
  for (size_t i = 0; i < request.inputs.size(); ++i) imports.push_back({&request.inputs[i], set.inputs[i].get()});
  for (size_t i = 0; i < request.params.size(); ++i) imports.push_back({&request.params[i], set.params[i].get()});
  CUTEGEN_STEP(import_tensors(*driver_, stream_, imports));
  CUTEGEN_STEP(poison(set, request.poison));
  CUTEGEN_STEP(checks_->fill_guards(set.all()));
  std::vector<uint64_t> before;
  CUTEGEN_STEP(checks_->checksums(before, set.read_only()));
  std::unique_ptr<Program> program;
  CUTEGEN_STEP(Program::bind(program, driver_, std::move(module), request.build->plan, set));
  CUTEGEN_STEP(execute(result, *program, request.graph, progress));
  progress("checking buffers");
  CUTEGEN_STEP(check_untouched(set.all(), set.read_only(), before));
  std::vector<const Buffer*> outputs;
  for (const auto& output : set.outputs) outputs.push_back(output.get());
  CUTEGEN_STEP(checks_->checksums(result.output_hashes, outputs));
  progress("exporting outputs");
  CUTEGEN_STEP(export_tensors(result.outputs, *driver_, stream_, *pool_, request.outputs, set.outputs, to));
  last_run_ = std::move(set);
  return std::nullopt;
}

}  // namespace cutegen::cuda
