// The oracle's side of a GPU test: memory of this process, named by CUDA IPC handles or put into shared memory.
#pragma once

#include <memory>
#include <vector>

#include "device/cuda/driver.h"
#include "task/shared_tensor.h"

namespace cutegen::test {

class GpuOracle {
 public:
  static Result<std::unique_ptr<GpuOracle>> open(int ordinal);
  // Device memory with these contents, lasting until the end of the process.
  Result<SharedTensor> share(const std::string& name, const std::vector<float>& values);
  Result<SharedTensor> share_zeroes(const std::string& name, int64_t elements);
  // The contents of an executor's output, by either way of crossing.
  Result<std::vector<float>> read(const SharedTensor& tensor);

 private:
  explicit GpuOracle(std::shared_ptr<const cuda::Driver> driver) : driver_(std::move(driver)) {}
  Result<cuda::CUdeviceptr> allocate(SharedTensor& tensor, const std::string& name, int64_t elements);
  std::shared_ptr<const cuda::Driver> driver_;
};

}  // namespace cutegen::test
