// A tensor in memory that another process can open: CUDA IPC on a GPU, POSIX shared memory on the CPU.
#pragma once

#include <string>

#include "base/json.h"
#include "task/tensor.h"

namespace cutegen {

struct SharedTensor {
  enum class Where { cuda_ipc, shm };
  TensorSpec spec;  // dense, row-major
  Where where = Where::shm;
  std::string handle;  // cuda_ipc: the 64-byte CUipcMemHandle in hex; shm: the object's name ("/cutegen-...")
  int64_t offset = 0;  // bytes from the start of the allocation or object
};

// {"name","dtype","shape","where":"cuda_ipc"|"shm","handle","offset"}
void to_json(Json& j, const SharedTensor& t);
Result<SharedTensor> shared_tensor_from_json(const Json& j);

}  // namespace cutegen
