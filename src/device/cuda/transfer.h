// Tensors in and out of the executor: copies from the oracle's memory, and exports of the candidate's outputs.
#pragma once

#include <string>
#include <vector>

#include "device/cuda/memory.h"
#include "task/shared_tensor.h"

namespace cutegen::cuda {

struct Import {
  const SharedTensor* tensor = nullptr;
  const Buffer* buffer = nullptr;  // of the tensor's size
};

// Copies every tensor into its buffer and lets go of the foreign memory again: no mapping of it remains when this returns.
Failed import_tensors(const Driver& driver, CUstream stream, const std::vector<Import>& imports);

// How outputs are handed to the reader. For shm the objects are named PREFIX-0, PREFIX-1, ...; whoever chose the prefix unlinks them.
struct ExportTo {
  SharedTensor::Where where = SharedTensor::Where::cuda_ipc;
  std::string shm_prefix;
};
Failed export_tensors(std::vector<SharedTensor>& tensors, const Driver& driver, CUstream stream, MemoryPool& pool,
                      const std::vector<TensorSpec>& specs, const std::vector<std::shared_ptr<const Buffer>>& buffers, const ExportTo& to);

}  // namespace cutegen::cuda
