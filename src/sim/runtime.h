// The state behind the stand-in CUDA runtime: one device, its memory, the program's modules and kernels, streams and events. The functions
// that the program calls (api_*.cc) are thin around it.
//
// Streams execute at once: a call returns when its work is done. So events are host times, everything that asks whether work has finished
// says yes, and a kernel that waits for the host or for a later kernel is a deadlock.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "sim/abi.h"
#include "sim/device_info.h"
#include "sim/device_memory.h"
#include "sim/launch_log.h"
#include "sim/settings.h"
#include "vgpu/vgpu.h"

namespace cutegen::sim {

// What a call comes to. A message goes to the program's stderr: why, in a sentence.
struct Status {
  int code = kSuccess;
  std::string message;
  Status() = default;
  Status(int c, std::string m = {}) : code(c), message(std::move(m)) {}  // NOLINT(google-explicit-constructor)
  bool ok() const { return code == kSuccess; }
};

// One fat binary of the program, that is one source file. Its PTX is loaded when something of it is first used.
struct Module {
  const void* wrapper = nullptr;
  std::shared_ptr<const vgpu::Program> program;
  std::map<std::string, int> registers;  // a thread's, by kernel, where the fat binary holds machine code too
  Status load_failure;                   // of the first attempt
  bool tried = false;
};

struct Function {
  Module* module = nullptr;
  std::string name;
  const vgpu::KernelInfo* info = nullptr;  // set by find_function
  int max_dynamic_smem = 0;                // cudaFuncSetAttribute; 0: the default, what fits into 48 KB
  bool non_portable_cluster = false;
  int registers() const;  // a thread's; 0 when only PTX is there, where ptxas has not chosen yet
};

struct Variable {
  Module* module = nullptr;
  std::string name;
  uint64_t bytes = 0;
  void** managed_pointer = nullptr;  // the host's pointer to a __managed__ variable
};

struct StreamState {
  unsigned flags = 0;
  int priority = 0;
  unsigned long long id = 0;
};
struct EventState {
  unsigned flags = 0;
  bool recorded = false;
  Seconds at{0};  // host time
};

struct Launch {
  const void* function = nullptr;  // a host stub, or a handle from find_function
  dim3 grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  size_t dynamic_smem_bytes = 0;
  bool cooperative = false;
  void** arguments = nullptr;  // one pointer a parameter
};

class Runtime {
 public:
  static Runtime& get();  // made at the first call, never destroyed: programs use the runtime while they end

  Module* register_fat_binary(const void* wrapper);
  void unregister_fat_binary(Module* module);
  void register_function(Module* module, const void* stub, std::string name);
  void register_variable(const void* host_variable, Variable variable);
  Status initialise_managed(Module* module);

  const Function* handle_of(const void* stub_or_handle) const;            // nullptr when it names no kernel; loads nothing
  Status find_function(const void* stub_or_handle, Function*& function);  // loads its module
  Status find_variable(const void* host_variable, uint64_t& address, uint64_t& bytes);
  Status launch(const Launch& launch);
  Status occupancy(Function& function, int block_threads, size_t dynamic_smem, int& ctas_per_sm);

  // One place says things to the user: stderr of the program.
  void say(const std::string& message);
  void reset_device();
  void write_counters();

  std::recursive_mutex mutex;  // held by every call
  int poison = kSuccess;       // after a fault every call returns it, until the device is reset
  DeviceMemory memory{kDeviceBytes};
  std::set<StreamState*> streams;
  std::set<EventState*> events;
  Settings settings = settings_from_environment();
  unsigned long long next_stream_id = 3;

 private:
  Status load(Module& module);
  Status check(const Launch& launch, const Function& function, dim3 cluster);
  Status after_fault(const vgpu::Fault& fault);
  void report(const vgpu::Finding& finding);

  std::map<Module*, std::unique_ptr<Module>> modules_;
  std::unordered_map<const void*, std::unique_ptr<Function>> functions_;  // by host stub
  std::set<const Function*> handles_;
  std::unordered_map<const void*, Variable> variables_;  // by the host's shadow
  std::set<std::string> reported_;
  LaunchLog log_;
  int log_owner_ = 0;  // the process that counted: a fork has its parent's log, which is not its own
};

int& last_error();  // of the calling thread

// How every function of the interface runs: alone, refused after a fault, never throwing into the program. `name` is the function's own.
template <class Body>
int call(const char* name, Body&& body) {
  Runtime& r = Runtime::get();
  const std::lock_guard lock(r.mutex);
  Status status;
  try {
    status = r.poison != kSuccess ? Status(r.poison) : body(r);
  } catch (const std::exception& e) {
    status = Status(kUnknown, e.what());
  }
  if (!status.message.empty()) r.say(std::string(name) + ": " + status.message);
  if (!status.ok()) last_error() = status.code;
  return status.code;
}

}  // namespace cutegen::sim
