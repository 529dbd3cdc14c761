#include "oracle.h"

#include <algorithm>
#include <cstring>

#include "device/shm.h"

namespace cutegen::test {

using namespace cuda;

Result<std::unique_ptr<GpuOracle>> GpuOracle::open(int ordinal) {
  CUTEGEN_TRY(auto driver, Driver::load());
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUTEGEN_CHECK(driver->check(driver->cuDeviceGet(&device, ordinal), "opening the GPU"));
  CUTEGEN_CHECK(driver->check(driver->cuDevicePrimaryCtxRetain(&context, device), "creating a context"));
  CUTEGEN_CHECK(driver->check(driver->cuCtxSetCurrent(context), "entering the context"));
  return std::unique_ptr<GpuOracle>(new GpuOracle(std::move(driver)));
}

Result<CUdeviceptr> GpuOracle::allocate(SharedTensor& tensor, const std::string& name, int64_t elements) {
  const size_t bytes = std::max<size_t>(static_cast<size_t>(elements) * sizeof(float), 2u << 20);
  CUdeviceptr memory = 0;
  CUipcMemHandle handle = {};
  CUTEGEN_CHECK(driver_->check(driver_->cuMemAlloc(&memory, bytes), "allocating"));
  CUTEGEN_CHECK(driver_->check(driver_->cuIpcGetMemHandle(&handle, memory), "exporting"));
  tensor = {TensorSpec{name, DType::f32, {elements}}, SharedTensor::Where::cuda_ipc, to_hex(handle), 0};
  return memory;
}

Result<SharedTensor> GpuOracle::share(const std::string& name, const std::vector<float>& values) {
  SharedTensor tensor;
  CUTEGEN_TRY(const CUdeviceptr memory, allocate(tensor, name, static_cast<int64_t>(values.size())));
  CUTEGEN_CHECK(driver_->check(driver_->cuMemcpyHtoDAsync(memory, values.data(), values.size() * sizeof(float), nullptr), "copying in"));
  CUTEGEN_CHECK(driver_->check(driver_->cuCtxSynchronize(), "copying in"));
  return tensor;
}

Result<SharedTensor> GpuOracle::share_zeroes(const std::string& name, int64_t elements) {
  SharedTensor tensor;
  CUTEGEN_TRY(const CUdeviceptr memory, allocate(tensor, name, elements));
  CUTEGEN_CHECK(driver_->check(driver_->cuMemsetD32Async(memory, 0, static_cast<size_t>(elements), nullptr), "clearing"));
  CUTEGEN_CHECK(driver_->check(driver_->cuCtxSynchronize(), "clearing"));
  return tensor;
}

Result<std::vector<float>> GpuOracle::read(const SharedTensor& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.spec.elements()));
  if (tensor.where == SharedTensor::Where::shm) {
    CUTEGEN_TRY(const Shm object, Shm::open_readable(tensor.handle));
    CUTEGEN_TRY(const auto bytes, tensor_bytes(object, tensor));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  CUTEGEN_TRY(const CUipcMemHandle handle, ipc_handle_from_hex(tensor.handle));
  CUdeviceptr base = 0;
  CUTEGEN_CHECK(driver_->check(driver_->cuIpcOpenMemHandle(&base, handle, kIpcLazyPeerAccess), "opening the executor's output"));
  const CUdeviceptr from = base + static_cast<uint64_t>(tensor.offset);
  const CUresult copied = driver_->cuMemcpyDtoHAsync(values.data(), from, values.size() * sizeof(float), nullptr);
  const CUresult done = driver_->cuCtxSynchronize();
  driver_->cuIpcCloseMemHandle(base);
  CUTEGEN_CHECK(driver_->check(copied, "copying out"));
  CUTEGEN_CHECK(driver_->check(done, "copying out"));
  return values;
}

}  // namespace cutegen::test
