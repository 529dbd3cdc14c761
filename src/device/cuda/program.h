// Loaded modules, and a plan bound to buffers: what is ready to be launched.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "candidate/build.h"
#include "device/cuda/memory.h"

namespace cutegen::cuda {

// A loaded cubin (or PTX that the driver compiled). Unloads itself.
class Module {
 public:
  static Failed load(std::shared_ptr<Module>& module, std::shared_ptr<const Driver> driver, const Build& build);
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module() { driver_->cuModuleUnload(handle_); }
  Failed function(CUfunction& function, const std::string& name);

 private:
  Module(std::shared_ptr<const Driver> driver, CUmodule handle) : driver_(std::move(driver)), handle_(handle) {}
  std::shared_ptr<const Driver> driver_;
  CUmodule handle_;
  std::map<std::string, CUfunction> functions_;
};

// The modules used last, by build key. A build without a key is loaded anew each time.
class ModuleCache {
 public:
  ModuleCache(std::shared_ptr<const Driver> driver, size_t capacity) : driver_(std::move(driver)), capacity_(capacity) {}
  Failed get(std::shared_ptr<Module>& module, const Build& build);

 private:
  std::shared_ptr<const Driver> driver_;
  size_t capacity_;
  std::list<std::pair<std::string, std::shared_ptr<Module>>> recent_;  // most recent first
};

// A plan whose arguments point into one BufferSet, which it shares.
class Program {
 public:
  // An invalid_launch failure when the plan does not fit the buffers, the kernels or the device.
  static Failed bind(std::unique_ptr<Program>& program, std::shared_ptr<const Driver> driver, std::shared_ptr<Module> module,
                     const Plan& plan, BufferSet buffers);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Launches that must be waited for together: one each, save that a launch with programmatic serialisation joins the one before it.
  struct Group {
    size_t first = 0, end = 0;
    std::string label;  // "launch 2 'reduce'"
  };
  const std::vector<Group>& groups() const { return groups_; }

  // Clears a workspace that the plan wants zeroed. Asynchronous; part of the plan's own work.
  Failed prepare(CUstream stream) const;
  Failed launch_group(const Group& group, CUstream stream) const;
  Failed launch_all(CUstream stream) const;

 private:
  struct alignas(64) Argument {
    unsigned char bytes[128];
  };
  struct Step {
    CUfunction function = nullptr;
    std::vector<Argument> arguments;
    std::string label;
  };
  Program(std::shared_ptr<const Driver> driver, std::shared_ptr<Module> module, const Plan& plan, BufferSet buffers)
      : driver_(std::move(driver)), module_(std::move(module)), plan_(plan), buffers_(std::move(buffers)) {}
  Failed bind_step(Step& step, const Launch& launch);
  Failed bind_argument(Argument& argument, const PlanArg& arg, const std::string& where);
  Failed encode_tensor_map(CUtensorMap& map, uint32_t index, const std::string& where);
  Failed address_of(CUdeviceptr& address, ArgKind kind, uint32_t index, uint64_t offset, const std::string& where) const;
  Failed check_parameters(const Step& step, const Launch& launch) const;
  Failed set_attributes(const Step& step, const Launch& launch) const;
  Failed launch(size_t index, CUstream stream) const;

  std::shared_ptr<const Driver> driver_;
  std::shared_ptr<Module> module_;
  Plan plan_;
  BufferSet buffers_;
  std::vector<Step> steps_;
  std::vector<Group> groups_;
};

}  // namespace cutegen::cuda
