// A device and a toolchain that do what a test of the judge says: kernels are C++ functions over fp32 buffers, times are a script.
#pragma once

#include <bit>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "device/device.h"
#include "support/shm_tensor.h"
#include "toolchain/toolchain.h"

namespace cutegen::test {

using Floats = std::vector<float>;

// One execution as a kernel sees it. Outputs and workspace hold the poison before it starts.
struct KernelCall {
  std::vector<Floats> inputs, params, outputs;
  Floats workspace;
  uint32_t poison = 0;
  int number = 0;  // of executions on this device, from 0
  bool graph = false;
};

class KernelDevice : public Device {
 public:
  using Kernel = std::function<Outcome(KernelCall&)>;
  explicit KernelDevice(Kernel kernel) : kernel_(std::move(kernel)) {
    device_info.name = "NVIDIA H200";
    device_info.l2_bytes = int64_t{50} << 20;
    timer = [](const TimeRequest& request) {
      return TimeResult{{}, std::vector<double>(static_cast<size_t>(request.repeats), 0.5), {}, {}};
    };
  }

  // What the test may set.
  std::function<Result<TimeResult>(const TimeRequest&)> timer;  // default: 0.5 ms
  std::function<std::optional<Error>()> before_run;             // an error makes run() fail
  DeviceInfo device_info;
  bool measures = true, checksums = false, graphs = false;
  std::vector<DeviceFinding> findings;  // of every run
  bool ipc_outputs = false;             // outputs claim to be CUDA IPC: the judge cannot read them
  // What the test may look at.
  int runs = 0, timings = 0, trims = 0;

  DeviceInfo info() const override { return device_info; }
  bool measures_time() const override { return measures; }
  void trim() override { ++trims; }

  Result<RunResult> run(const RunRequest& request) override {
    if (before_run) {
      if (auto error = before_run()) return *error;
    }
    KernelCall call;
    call.poison = request.poison;
    call.number = runs++;
    call.graph = request.graph && graphs;
    for (const SharedTensor& tensor : request.inputs) call.inputs.push_back(read_shm<float>(tensor));
    for (const SharedTensor& tensor : request.params) call.params.push_back(read_shm<float>(tensor));
    const float poison = std::bit_cast<float>(request.poison);
    for (const TensorSpec& spec : request.outputs) call.outputs.emplace_back(static_cast<size_t>(spec.elements()), poison);
    call.workspace.assign(request.build->plan.workspace_bytes / sizeof(float), request.build->plan.workspace_zeroed ? 0.0f : poison);
    RunResult result;
    result.outcome = kernel_(call);
    result.used_graph = call.graph;
    result.findings = findings;
    if (result.outcome.ok()) publish(request.outputs, call.outputs, result);
    return result;
  }

  Result<TimeResult> time(const TimeRequest& request) override {
    ++timings;
    return timer(request);
  }

 private:
  void publish(const std::vector<TensorSpec>& specs, const std::vector<Floats>& values, RunResult& result) {
    outputs_ = std::make_unique<ShmTensors>();
    for (size_t i = 0; i < specs.size(); ++i) {
      result.outputs.push_back(outputs_->make(specs[i], values[i]));
      if (ipc_outputs) result.outputs.back().where = SharedTensor::Where::cuda_ipc;
      if (checksums) result.output_hashes.push_back(checksum(values[i]));
    }
  }
  static uint64_t checksum(const Floats& values) {
    uint64_t sum = 14695981039346656037u;  // FNV-1a over words
    for (const float value : values) sum = (sum ^ std::bit_cast<uint32_t>(value)) * 1099511628211u;
    return sum;
  }

  Kernel kernel_;
  std::unique_ptr<ShmTensors> outputs_;
};

// Builds to the plan, failure or error that the test sets.
class ScriptedToolchain : public Toolchain {
 public:
  Plan plan;
  std::shared_ptr<const BuildFailure> failure;
  std::optional<Error> error;
  std::function<void()> during;  // what happens meanwhile
  int builds = 0;

  Result<BuildOutcome> build(const Task&, const Candidate& candidate, Deadline) override {
    ++builds;
    if (during) during();
    if (error) return *error;
    if (failure) return BuildOutcome{nullptr, failure};
    auto build = std::make_shared<Build>();
    build->key = "key of " + candidate.origin;
    build->plan = plan;
    return BuildOutcome{build, nullptr};
  }
  std::string version() const override { return "scripted"; }
};

}  // namespace cutegen::test
