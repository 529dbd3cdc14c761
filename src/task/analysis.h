// Floors from first principles: bytes that must move, operations that must be done, the time that they take on a GPU.
#pragma once

#include <string>

#include "task/task.h"

namespace cutegen {

// Rates of one GPU. Bandwidth is what a copy reaches, not the datasheet's.
struct GpuRates {
  std::string name;
  double dram_bytes_per_s = 0;
  double fp32_flops = 0;  // CUDA cores, FMA = 2
  double tf32_flops = 0;  // dense tensor cores
  double half_flops = 0;  // dense fp16/bf16 tensor cores
};

// The entry of a built-in table whose name is contained in `device_name` ("NVIDIA H200"); H200 when none is.
const GpuRates& rates_for(const std::string& device_name);

struct Analysis {
  int64_t input_bytes = 0;   // each used input and parameter read once
  int64_t output_bytes = 0;  // each output written once
  double flops = 0;          // contractions 2*M*N*K; pointwise one an element an op
  double contraction_flops = 0;
  double memory_floor_s = 0;   // bytes / bandwidth
  double compute_floor_s = 0;  // contraction FLOPs at the half-precision tensor rate (the optimistic one) plus the rest at fp32
  double floor_s() const { return memory_floor_s > compute_floor_s ? memory_floor_s : compute_floor_s; }
  std::string
      op_class;  // "elementwise", "reduction", "norm", "softmax", "loss", "matmul", "convolution", "attention", "scan", "pool", "opaque"
};

Analysis analyse(const Task& task, const GpuRates& rates);

// Warnings that follow from the graph alone (an input or parameter that no output depends on, an output that is an input).
std::vector<Warning> graph_warnings(const Task& task);

}  // namespace cutegen
