// The launch plan of a candidate, host side. The device-side twin is kernels/include/cutegen/kernel.cuh: a constexpr object named
// `cutegen_plan` that nvcc emits as initialised bytes; decode_plan() reads those bytes. Both sides state the same binary layout, and
// a test compiles one against the other.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "task/task.h"

namespace cutegen {

enum class ArgKind : uint32_t {
  input = 1,       // device pointer of Task::inputs[index] + offset bytes
  param = 2,       // device pointer of Task::params[index] + offset
  output = 3,      // device pointer of Task::outputs[index] + offset
  workspace = 4,   // device pointer of the workspace + offset
  scalar = 5,      // `size` (1, 2, 4 or 8) bytes of `value`, little-endian
  tensor_map = 6,  // 128-byte CUtensorMap number `index`, passed by value (__grid_constant__)
};

struct PlanArg {
  ArgKind kind = ArgKind::scalar;
  uint32_t index = 0;
  uint64_t offset = 0;  // bytes
  uint64_t value = 0;
  uint32_t size = 8;  // bytes of the kernel parameter
};

// A TMA descriptor, encoded by the device at load (cuTensorMapEncodeTiled; CUDA driver API, "Tensor Map Object Management").
struct PlanTensorMap {
  DType dtype = DType::f32;
  ArgKind buffer = ArgKind::input;  // input, param, output or workspace
  uint32_t index = 0;
  uint64_t offset = 0;            // bytes
  std::vector<uint64_t> shape;    // innermost first, rank 1-5
  std::vector<uint64_t> strides;  // bytes, rank-1 entries (innermost is contiguous)
  std::vector<uint32_t> box;
  std::vector<uint32_t> element_strides;
  uint32_t interleave = 0, swizzle = 0, l2_promotion = 0, oob_fill = 0;  // CUtensorMap enumerators' values
};

struct Launch {
  std::string kernel;                        // extern "C" name
  std::array<uint32_t, 3> grid{1, 1, 1};     // CTAs
  std::array<uint32_t, 3> block{1, 1, 1};    // threads
  std::array<uint32_t, 3> cluster{1, 1, 1};  // CTAs a cluster
  uint32_t smem_bytes = 0;                   // dynamic
  bool cooperative = false;
  bool pdl = false;  // programmatic stream serialisation with the launch before
  std::vector<PlanArg> args;
};

struct Plan {
  std::vector<Launch> launches;  // in order on one stream
  std::vector<PlanTensorMap> tensor_maps;
  uint64_t workspace_bytes = 0;   // one buffer; contents undefined at the start of each execution
  bool workspace_zeroed = false;  // the device zeroes it before each execution (timed with it)
};

// Decodes the bytes of `cutegen_plan`. Errors name the launch and the field.
Result<Plan> decode_plan(std::string_view bytes);
// Finds `cutegen_plan` in PTX, decodes it, and checks it against the kernels declared there: names, parameter sizes, launch bounds. A
// launch without a cluster takes that of the kernel's __cluster_dims__.
Result<Plan> plan_from_ptx(std::string_view ptx);
// Checks a plan against a task: indices in range, offsets inside buffers, launch limits of sm_90, every output written by some launch.
Result<void> validate_plan(const Plan& plan, const Task& task);
Json to_json(const Plan& plan);

}  // namespace cutegen
