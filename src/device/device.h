// Where a candidate runs. One interface for the CUDA device, the virtual GPU and the fake of the tests.
//
// Tensors enter and leave as SharedTensor: memory of another process named by a handle. A device copies inputs into buffers of its own,
// so that a candidate can never reach the oracle's memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "candidate/build.h"
#include "candidate/plan.h"
#include "task/shared_tensor.h"

namespace cutegen {

enum class DeviceKind { cuda, virtual_gpu, fake };
const char* to_string(DeviceKind kind);  // "cuda", "virtual", "fake"

struct DeviceInfo {
  DeviceKind kind = DeviceKind::fake;
  std::string name;             // "NVIDIA H200"
  std::string uuid;             // "GPU-5a1c...": what a lease names (device/lease.h); empty when there is none
  std::string driver;           // "580.159.04"
  std::string arch = "sm_90a";  // what the toolchain must build for
  int sm_count = 0;
  int64_t memory_bytes = 0;
  int64_t l2_bytes = 0;
};

// Why a plan execution ended. `ok` is the only good one.
enum class OutcomeKind {
  ok,
  illegal_address,
  misaligned_address,
  launch_failure,
  invalid_launch,
  illegal_instruction,
  assert_or_trap,
  timeout,
  out_of_memory,
  load_failure,
  executor_lost,
  canary_broken,
  input_modified,
  check_failed /* a virtual-GPU finding */,
};
const char* to_string(OutcomeKind kind);  // the enumerator's name
std::optional<OutcomeKind> parse_outcome_kind(std::string_view name);

struct Outcome {
  OutcomeKind kind = OutcomeKind::ok;
  std::string detail;  // which launch, which buffer and offset, the driver's text
  bool ok() const { return kind == OutcomeKind::ok; }
};

// What the virtual GPU's checks found in an execution, a fault that ended it included (docs/vgpu-checks.md).
struct DeviceFinding {
  std::string kind;                                       // "race"
  std::string check;                                      // which check found it; empty for a fault
  std::string message;                                    // one sentence with everything below in it
  std::string kernel, file, inlined_at, related, buffer;  // related: "file:line" of the other side
  int line = 0;
  std::string cta, thread;  // "(3,0,0)"
  uint64_t address = 0;
  int64_t distance = 0;  // bytes past the buffer's end, negative before its start
  uint64_t count = 1;
  std::string why, fix;  // of the check; empty for a fault
};

struct RunRequest {
  std::shared_ptr<const Build> build;
  std::vector<SharedTensor> inputs;
  std::vector<SharedTensor> params;
  std::vector<TensorSpec> outputs;
  uint32_t poison = 0x7fc0dead;  // 32-bit pattern written to outputs and workspace first (a NaN in fp32)
  Seconds time_limit{20};
  bool graph = false;  // execute by replaying a captured CUDA graph, as timing does; a device without graphs launches directly
};

struct RunResult {
  Outcome outcome;
  std::vector<SharedTensor> outputs;  // valid until the next call on the device; empty unless ok
  // One checksum an output, of every bit at its place (different outputs differ in it, up to chance), made where the outputs are: on a GPU
  // by a kernel of the device's own. The judge compares repeated runs with them. Empty: not offered; the judge hashes shm outputs itself.
  std::vector<uint64_t> output_hashes;
  bool used_graph = false;              // this run replayed a graph (RunRequest::graph)
  std::vector<DeviceFinding> findings;  // of the virtual GPU's checks, by source line
};

// One timed side: repeated plan executions on rotating input sets, cold L2.
struct TimeRequest {
  std::shared_ptr<const Build> build;
  std::vector<std::vector<SharedTensor>> input_sets;  // at least one; repeat i uses set i % size
  std::vector<SharedTensor> params;
  std::vector<TensorSpec> outputs;
  int warmup = 3;
  int repeats = 10;
  bool cold_l2 = true;
  Seconds time_limit{60};
};

struct ClockReading {
  double sm_mhz = 0, memory_mhz = 0, temperature_c = 0, power_w = 0;
  uint64_t throttle_reasons = 0;  // NVML bit mask
};

struct TimeResult {
  Outcome outcome;
  std::vector<double> ms;  // one a repeat, device time
  ClockReading before, after;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceInfo info() const = 0;
  // Expected failures of a candidate are Outcomes; an Error means that the device itself cannot be used.
  virtual Result<RunResult> run(const RunRequest& request) = 0;
  virtual Result<TimeResult> time(const TimeRequest& request) = 0;
  // Gives back memory that is held only to be faster; outputs of earlier runs are gone. Asked for when the oracle, which shares the GPU,
  // has too little.
  virtual void trim() {}
  // Whether times are measured (cuda), predicted (virtual) or invented (fake). Reports must say which.
  virtual bool measures_time() const = 0;
};

// Exclusive use of one GPU among all processes and users of the machine, while it lives. Fakes return a lease of nothing.
class Lease {
 public:
  virtual ~Lease() = default;
};

}  // namespace cutegen
