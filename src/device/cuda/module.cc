#include <algorithm>

#include "base/fs.h"
#include "device/cuda/program.h"

namespace cutegen::cuda {

Failed Module::load(std::shared_ptr<Module>& module, std::shared_ptr<const Driver> driver, const Build& build) {
  const std::filesystem::path& path = build.cubin.empty() ? build.ptx : build.cubin;
  const Result<std::string> image = read_file(path);
  if (!image.ok()) return fault(OutcomeKind::load_failure, image.error().message);
  CUmodule handle = nullptr;
  // PTX must end in a zero byte, which c_str() guarantees; a cubin states its own length.
  CUTEGEN_STEP(failed_if(*driver, driver->cuModuleLoadData(&handle, image->c_str()), Phase::load, "loading " + path.filename().string()));
  module = std::shared_ptr<Module>(new Module(std::move(driver), handle));
  return std::nullopt;
}

Failed Module::function(CUfunction& function, const std::string& name) {
  if (const auto it = functions_.find(name); it != functions_.end()) {
    function = it->second;
    return std::nullopt;
  }
  CUTEGEN_STEP(
      failed_if(*driver_, driver_->cuModuleGetFunction(&function, handle_, name.c_str()), Phase::load, "finding kernel '" + name + "'"));
  functions_[name] = function;
  return std::nullopt;
}

Failed ModuleCache::get(std::shared_ptr<Module>& module, const Build& build) {
  const auto it = std::find_if(recent_.begin(), recent_.end(), [&](const auto& entry) { return entry.first == build.key; });
  if (it != recent_.end() && !build.key.empty()) {
    recent_.splice(recent_.begin(), recent_, it);
    module = it->second;
    return std::nullopt;
  }
  CUTEGEN_STEP(Module::load(module, driver_, build));
  if (build.key.empty()) return std::nullopt;
  recent_.emplace_front(build.key, module);
  if (recent_.size() > capacity_) recent_.pop_back();
  return std::nullopt;
}

}  // namespace cutegen::cuda
