// The executor's work inside its own process: a context, buffers, loaded modules; runs and times plans.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "device/cuda/checks.h"
#include "device/cuda/graph.h"
#include "device/cuda/nvml.h"
#include "device/cuda/transfer.h"
#include "device/device.h"

namespace cutegen::cuda {

// Says what is being done, so that a time-out or a crash can be pinned to it.
using Progress = std::function<void(const std::string&)>;

class Engine {
 public:
  static Result<std::unique_ptr<Engine>> start(int ordinal);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const DeviceInfo& info() const { return info_; }
  // After a fatal failure the engine must not be used again.
  Failed run(RunResult& result, const RunRequest& request, const ExportTo& to, const Progress& progress);
  Failed time(TimeResult& result, const TimeRequest& request, const Progress& progress);

 private:
  // A build made ready for timing on buffers of its own: one program and graph an input set. Kept between calls.
  struct TimedSide {
    std::string key;
    std::vector<BufferSet> sets;  // params, outputs and workspace are shared by all
    std::vector<std::unique_ptr<Program>> programs;
    std::vector<std::unique_ptr<Graph>> graphs;
    std::vector<const Buffer*> all_buffers() const;  // each once
    std::vector<const Buffer*> read_only() const;
  };

  Engine() = default;
  Result<void> open_context(int ordinal);
  Result<void> describe(CUdevice device);

  Failed synchronise(const std::string& where) const;
  Failed make_inputs(BufferSet& set, const std::vector<SharedTensor>& inputs);
  // Everything but the inputs: what the sets of one side share.
  Failed make_rest(BufferSet& set, const std::vector<SharedTensor>& params, const std::vector<TensorSpec>& outputs, const Plan& plan);
  Failed make_workspace(std::shared_ptr<const Buffer>& workspace, const Plan& plan);
  Failed poison(const BufferSet& set, uint32_t pattern) const;
  Failed execute(RunResult& result, const Program& program, bool graph, const Progress& progress);
  Failed check_untouched(const std::vector<const Buffer*>& all, const std::vector<const Buffer*>& read_only,
                         const std::vector<uint64_t>& before);

  Failed timed_side(std::shared_ptr<TimedSide>& side, const TimeRequest& request);
  Failed import_sets(const TimedSide& side, const TimeRequest& request);
  Failed time_once(double& ms, const TimedSide& side, size_t repeat, bool cold_l2);
  Failed flush_l2(size_t repeat);

  // Destroyed in reverse order: buffers before their pool, everything before the driver.
  std::shared_ptr<const Driver> driver_;
  DeviceInfo info_;
  CUstream stream_ = nullptr;
  CUevent begin_ = nullptr, end_ = nullptr;
  std::unique_ptr<Nvml> nvml_;
  std::unique_ptr<MemoryPool> pool_;
  std::unique_ptr<Checks> checks_;
  std::unique_ptr<ModuleCache> modules_;
  std::shared_ptr<const Buffer> flush_;
  BufferSet last_run_;                           // its outputs are exported until the next call
  std::list<std::shared_ptr<TimedSide>> sides_;  // most recently used first
};

}  // namespace cutegen::cuda
