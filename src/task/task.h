// What is to be computed: a module's signature, graph and numerics flags, as the oracle found them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "task/graph.h"
#include "task/tensor.h"

namespace cutegen {

struct Warning {
  std::string code;     // "constant_output", "unused_input", "nondeterministic", "train_mode_rng", ...
  std::string message;  // for people
};

struct Task {
  std::string name;                // file stem: "19_ReLU"
  std::filesystem::path path;      // the user's file
  std::string source;              // its text
  std::vector<TensorSpec> inputs;  // tensors of get_inputs(), flattened in order
  std::vector<TensorSpec> params;  // parameters, then buffers, in named_parameters()/named_buffers() order
  std::vector<TensorSpec> outputs;
  bool train_mode = true;      // the module as the file leaves it (KernelBench: train)
  bool stochastic = false;     // two runs with different seeds differ (dropout in train mode)
  bool tf32_matmul = false;    // torch.backends.cuda.matmul.allow_tf32
  bool tf32_conv = true;       // torch.backends.cudnn.allow_tf32
  std::optional<Graph> graph;  // absent: opaque to the playbook; `opaque_reason` says why
  std::string opaque_reason;
  std::vector<Warning> warnings;

  std::string hash() const;  // of everything above that changes what a right candidate is (not of path)
};

Json to_json(const Task& task);
Result<Task> task_from_json(const Json& j);

// A deterministic C++ header of constexpr facts for candidates: `namespace task { constexpr int64_t in0_shape[] = ...`.
// kernels/include/cutegen/kernel.cuh documents what a candidate may use of it.
std::string task_header(const Task& task);

}  // namespace cutegen
