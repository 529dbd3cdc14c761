// What nvcc's start-up code and <<<>>> stubs call. crt/host_runtime.h and crt/device_functions.h of the toolkit declare them.
#include "sim/api.h"
#include "sim/runtime.h"

using namespace cutegen::sim;

namespace {

struct CallConfiguration {
  dim3 grid, block;
  size_t dynamic_smem_bytes;
  Stream stream;
};
std::vector<CallConfiguration>& configurations() {
  static thread_local std::vector<CallConfiguration> stack;
  return stack;
}

}  // namespace

SIM_API void** __cudaRegisterFatBinary(void* wrapper) {
  Runtime& r = Runtime::get();
  const std::lock_guard lock(r.mutex);
  return reinterpret_cast<void**>(r.register_fat_binary(wrapper));
}

SIM_API void __cudaRegisterFatBinaryEnd(void**) {}

SIM_API void __cudaUnregisterFatBinary(void** handle) {
  Runtime& r = Runtime::get();
  const std::lock_guard lock(r.mutex);
  r.unregister_fat_binary(reinterpret_cast<Module*>(handle));
}

SIM_API void __cudaRegisterFunction(void** handle, const char* stub, char*, const char* name, int, void*, void*, void*, void*, int*) {
  Runtime& r = Runtime::get();
  const std::lock_guard lock(r.mutex);
  r.register_function(reinterpret_cast<Module*>(handle), stub, name);
}

SIM_API void __cudaRegisterVar(void** handle, char* host_variable, char*, const char* name, int, size_t bytes, int, int) {
  Runtime& r = Runtime::get();
  const std::lock_guard lock(r.mutex);
  r.register_variable(host_variable, {reinterpret_cast<Module*>(handle), name, bytes, nullptr});
}

SIM_API void __cudaRegisterManagedVar(void** handle, void** host_pointer, char*, const char* name, int, size_t bytes, int, int) {
  Runtime& r = Runtime::get();
  const std::lock_guard lock(r.mutex);
  r.register_variable(host_pointer, {reinterpret_cast<Module*>(handle), name, bytes, host_pointer});
}

SIM_API char __cudaInitModule(void** handle) {
  return call("__cudaInitModule", [&](Runtime& r) { return r.initialise_managed(reinterpret_cast<Module*>(handle)); }) == kSuccess ? 1 : 0;
}

SIM_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t dynamic_smem_bytes, Stream stream) {
  configurations().push_back({grid, block, dynamic_smem_bytes, stream});
  return 0;
}

SIM_API int __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* dynamic_smem_bytes, void* stream) {
  if (configurations().empty()) return last_error() = kMissingConfiguration;
  const CallConfiguration c = configurations().back();
  configurations().pop_back();
  *grid = c.grid, *block = c.block, *dynamic_smem_bytes = c.dynamic_smem_bytes;
  *static_cast<Stream*>(stream) = c.stream;
  return kSuccess;
}

SIM_API int __cudaGetKernel(void** kernel, const void* stub) { return cudaGetKernel(kernel, stub); }

SIM_API int __cudaLaunchKernel(void* kernel, dim3 grid, dim3 block, void** arguments, size_t dynamic_smem_bytes, Stream stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, dynamic_smem_bytes, stream);
}
