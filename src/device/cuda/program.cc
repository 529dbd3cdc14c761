#include "device/cuda/program.h"

#include <cstring>

namespace cutegen::cuda {
namespace {

constexpr uint32_t kPortableClusterSize = 8;  // CTAs; up to 16 only when the kernel allows a non-portable size

int tensor_map_dtype(DType dtype) {
  switch (dtype) {
    case DType::f32: return kTensorMapF32;
    case DType::f16: return kTensorMapF16;
    case DType::bf16: return kTensorMapBf16;
    case DType::f64: return kTensorMapF64;
    case DType::i64: return kTensorMapI64;
    case DType::i32: return kTensorMapI32;
    case DType::i16: return kTensorMapU16;
    case DType::i8:
    case DType::u8:
    case DType::b1: return kTensorMapU8;
  }
  return kTensorMapU8;
}

Failed bad_plan(const std::string& where, const std::string& what) { return fault(OutcomeKind::invalid_launch, where + ": " + what); }

}  // namespace

Failed Program::bind(std::unique_ptr<Program>& program, std::shared_ptr<const Driver> driver, std::shared_ptr<Module> module,
                     const Plan& plan, BufferSet buffers) {
  if (plan.launches.empty()) return bad_plan("the plan", "it has no launches");
  std::unique_ptr<Program> bound(new Program(std::move(driver), std::move(module), plan, std::move(buffers)));
  for (size_t i = 0; i < plan.launches.size(); ++i) {
    const Launch& launch = plan.launches[i];
    Step step;
    step.label = "launch " + std::to_string(i) + " '" + launch.kernel + "'";
    CUTEGEN_STEP(bound->bind_step(step, launch));
    if (launch.pdl && !bound->groups_.empty()) {
      bound->groups_.back().end = i + 1;
      bound->groups_.back().label += ", " + step.label;
    } else {
      bound->groups_.push_back({i, i + 1, step.label});
    }
    bound->steps_.push_back(std::move(step));
  }
  program = std::move(bound);
  return std::nullopt;
}

Failed Program::bind_step(Step& step, const Launch& launch) {
  CUTEGEN_STEP(module_->function(step.function, launch.kernel));
  CUTEGEN_STEP(check_parameters(step, launch));
  CUTEGEN_STEP(set_attributes(step, launch));
  step.arguments.resize(launch.args.size());
  for (size_t i = 0; i < launch.args.size(); ++i)
    CUTEGEN_STEP(bind_argument(step.arguments[i], launch.args[i], step.label + ", argument " + std::to_string(i)));
  return std::nullopt;
}

// The driver reads as many bytes as the kernel declares, so a wrong count or size would read past our memory.
Failed Program::check_parameters(const Step& step, const Launch& launch) const {
  if (driver_->cuFuncGetParamInfo == nullptr) return std::nullopt;
  for (size_t i = 0;; ++i) {
    size_t offset = 0;
    size_t bytes = 0;
    const CUresult code = driver_->cuFuncGetParamInfo(step.function, i, &offset, &bytes);
    if (code != kSuccess && code != kInvalidValue) return failed_if(*driver_, code, Phase::launch, step.label + ", reading its parameters");
    const bool kernel_has = code == kSuccess;
    const bool plan_has = i < launch.args.size();
    if (!kernel_has && !plan_has) return std::nullopt;
    if (kernel_has != plan_has)
      return bad_plan(step.label, "the plan has " + std::to_string(launch.args.size()) + " arguments, the kernel takes " +
                                      (kernel_has ? "more" : std::to_string(i)));
    const size_t given = launch.args[i].kind == ArgKind::tensor_map ? sizeof(CUtensorMap) : launch.args[i].size;
    if (given != bytes)
      return bad_plan(step.label, "argument " + std::to_string(i) + " has " + std::to_string(given) + " bytes, the kernel takes " +
                                      std::to_string(bytes));
  }
}

Failed Program::set_attributes(const Step& step, const Launch& launch) const {
  const auto set = [&](int attribute, int value, const char* what) {
    return failed_if(*driver_, driver_->cuFuncSetAttribute(step.function, attribute, value), Phase::launch, step.label + ": " + what);
  };
  if (launch.smem_bytes > 0) {
    const std::string what = std::to_string(launch.smem_bytes) + " bytes of dynamic shared memory";
    CUTEGEN_STEP(set(kFunctionMaxDynamicSmem, static_cast<int>(launch.smem_bytes), what.c_str()));
  }
  if (launch.cluster[0] * launch.cluster[1] * launch.cluster[2] > kPortableClusterSize)
    CUTEGEN_STEP(set(kFunctionNonPortableCluster, 1, "a cluster of more than 8 CTAs"));
  return std::nullopt;
}

Failed Program::address_of(CUdeviceptr& address, ArgKind kind, uint32_t index, uint64_t offset, const std::string& where) const {
  const auto& list = kind == ArgKind::input ? buffers_.inputs : kind == ArgKind::param ? buffers_.params : buffers_.outputs;
  const Buffer* buffer = buffers_.workspace.get();
  if (kind != ArgKind::workspace) {
    if (index >= list.size()) return bad_plan(where, "there is no tensor number " + std::to_string(index) + " of its kind");
    buffer = list[index].get();
  } else if (buffer == nullptr) {
    return bad_plan(where, "the plan asks for no workspace");
  }
  if (offset > static_cast<uint64_t>(buffer->bytes()))
    return bad_plan(
        where, "offset " + std::to_string(offset) + " is outside " + buffer->label() + " of " + std::to_string(buffer->bytes()) + " bytes");
  address = buffer->data() + offset;
  return std::nullopt;
}

Failed Program::bind_argument(Argument& argument, const PlanArg& arg, const std::string& where) {
  std::memset(argument.bytes, 0, sizeof argument.bytes);
  switch (arg.kind) {
    case ArgKind::scalar: std::memcpy(argument.bytes, &arg.value, sizeof arg.value); return std::nullopt;
    case ArgKind::tensor_map: {
      CUtensorMap map = {};
      CUTEGEN_STEP(encode_tensor_map(map, arg.index, where));
      std::memcpy(argument.bytes, &map, sizeof map);
      return std::nullopt;
    }
    case ArgKind::input:
    case ArgKind::param:
    case ArgKind::output:
    case ArgKind::workspace: {
      CUdeviceptr address = 0;
      CUTEGEN_STEP(address_of(address, arg.kind, arg.index, arg.offset, where));
      std::memcpy(argument.bytes, &address, sizeof address);
      return std::nullopt;
    }
  }
  return bad_plan(where, "unknown kind of argument");
}

Failed Program::encode_tensor_map(CUtensorMap& map, uint32_t index, const std::string& where) {
  if (driver_->cuTensorMapEncodeTiled == nullptr) return bad_plan(where, "this driver has no tensor maps; a CUDA 12 driver is needed");
  if (index >= plan_.tensor_maps.size()) return bad_plan(where, "there is no tensor map " + std::to_string(index));
  const PlanTensorMap& m = plan_.tensor_maps[index];
  const size_t rank = m.shape.size();
  if (rank < 1 || rank > 5 || m.strides.size() + 1 != rank || m.box.size() != rank || m.element_strides.size() != rank)
    return bad_plan(where, "tensor map " + std::to_string(index) + " has inconsistent ranks");
  CUdeviceptr address = 0;
  CUTEGEN_STEP(address_of(address, m.buffer, m.index, m.offset, where));
  // Strides must not be null even for rank 1, where none is read.
  const uint64_t no_strides[1] = {0};
  const CUresult code = driver_->cuTensorMapEncodeTiled(
      &map, tensor_map_dtype(m.dtype), static_cast<uint32_t>(rank), reinterpret_cast<void*>(address), m.shape.data(),
      m.strides.empty() ? no_strides : m.strides.data(), m.box.data(), m.element_strides.data(), static_cast<int>(m.interleave),
      static_cast<int>(m.swizzle), static_cast<int>(m.l2_promotion), static_cast<int>(m.oob_fill));
  return failed_if(*driver_, code, Phase::launch, where + ", tensor map " + std::to_string(index));
}

Failed Program::prepare(CUstream stream) const {
  if (!plan_.workspace_zeroed || buffers_.workspace == nullptr) return std::nullopt;
  return fill(*driver_, stream, *buffers_.workspace, 0);
}

Failed Program::launch(size_t index, CUstream stream) const {
  const Launch& l = plan_.launches[index];
  const Step& step = steps_[index];
  CUlaunchAttribute attributes[3] = {};
  unsigned count = 0;
  if (l.cluster != std::array<uint32_t, 3>{1, 1, 1}) {
    attributes[count].id = kLaunchClusterDimension;
    attributes[count++].value.cluster_dim = {l.cluster[0], l.cluster[1], l.cluster[2]};
  }
  if (l.cooperative) {
    attributes[count].id = kLaunchCooperative;
    attributes[count++].value.cooperative = 1;
  }
  if (l.pdl) {
    attributes[count].id = kLaunchProgrammaticSerialization;
    attributes[count++].value.programmatic_stream_serialization = 1;
  }
  const CUlaunchConfig config = {l.grid[0],  l.grid[1],    l.grid[2], l.block[0], l.block[1],
                                 l.block[2], l.smem_bytes, stream,    attributes, count};
  std::vector<void*> parameters;
  for (const Argument& argument : step.arguments) parameters.push_back(const_cast<unsigned char*>(argument.bytes));
  return failed_if(*driver_, driver_->cuLaunchKernelEx(&config, step.function, parameters.data(), nullptr), Phase::launch, step.label);
}

Failed Program::launch_group(const Group& group, CUstream stream) const {
  for (size_t i = group.first; i < group.end; ++i) CUTEGEN_STEP(launch(i, stream));
  return std::nullopt;
}

Failed Program::launch_all(CUstream stream) const {
  CUTEGEN_STEP(prepare(stream));
  for (const Group& group : groups_) CUTEGEN_STEP(launch_group(group, stream));
  return std::nullopt;
}

}  // namespace cutegen::cuda
