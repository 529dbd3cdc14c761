#include "device/cuda/transfer.h"

#include <map>

#include "device/shm.h"

namespace cutegen::cuda {
namespace {

// Foreign memory opened for the length of one import: CUDA IPC mappings by handle, shm mappings by name. Tensors often share one.
class Foreign {
 public:
  Foreign(const Driver& driver, CUstream stream) : driver_(driver), stream_(stream) {}
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;
  ~Foreign() {
    driver_.cuStreamSynchronize(stream_);  // after a failed step copies may still be under way
    for (const auto& [handle, address] : ipc_) driver_.cuIpcCloseMemHandle(address);
  }

  Failed copy(const Import& import) {
    const SharedTensor& t = *import.tensor;
    const std::string where = "copying " + import.buffer->label();
    if (t.spec.bytes() != import.buffer->bytes()) return device_error(Error{Errc::invalid_input, where + ": sizes differ", "", ""});
    const auto bytes = static_cast<size_t>(t.spec.bytes());
    if (bytes == 0) return std::nullopt;
    if (t.where == SharedTensor::Where::cuda_ipc) {
      CUdeviceptr base = 0;
      CUTEGEN_STEP(open_ipc(base, t, where));
      return failed_if(driver_, driver_.cuMemcpyDtoDAsync(import.buffer->data(), base + static_cast<uint64_t>(t.offset), bytes, stream_),
                       Phase::other, where);
    }
    std::span<const std::byte> source;
    CUTEGEN_STEP(open_shm(source, t));
    return failed_if(driver_, driver_.cuMemcpyHtoDAsync(import.buffer->data(), source.data(), bytes, stream_), Phase::other, where);
  }

 private:
  // A handle that does not open is the oracle's doing, and leaves the context usable.
  Failed open_ipc(CUdeviceptr& base, const SharedTensor& t, const std::string& where) {
    if (const auto it = ipc_.find(t.handle); it != ipc_.end()) {
      base = it->second;
      return std::nullopt;
    }
    auto handle = ipc_handle_from_hex(t.handle);
    if (!handle.ok()) return device_error(std::move(handle).error());
    if (const CUresult code = driver_.cuIpcOpenMemHandle(&base, *handle, kIpcLazyPeerAccess); code != kSuccess)
      return device_error(Error{Errc::device, where + ": its CUDA IPC handle does not open: " + driver_.text(code),
                                "both processes must see the same GPU and share an IPC namespace", ""});
    ipc_[t.handle] = base;
    return std::nullopt;
  }

  Failed open_shm(std::span<const std::byte>& bytes, const SharedTensor& t) {
    auto it = shm_.find(t.handle);
    if (it == shm_.end()) {
      auto opened = Shm::open_readable(t.handle);
      if (!opened.ok()) return device_error(std::move(opened).error());
      it = shm_.emplace(t.handle, std::move(opened).value()).first;
    }
    auto found = tensor_bytes(it->second, t);
    if (!found.ok()) return device_error(std::move(found).error());
    bytes = *found;
    return std::nullopt;
  }

  const Driver& driver_;
  CUstream stream_;
  std::map<std::string, CUdeviceptr> ipc_;
  std::map<std::string, Shm> shm_;
};

Failed export_to_shm(SharedTensor& tensor, const Driver& driver, CUstream stream, const Buffer& buffer) {
  auto object = Shm::create(tensor.handle, buffer.bytes());
  if (!object.ok()) return device_error(std::move(object).error());
  if (buffer.bytes() == 0) return std::nullopt;
  const std::string where = "copying " + buffer.label() + " out";
  CUTEGEN_STEP(failed_if(driver,
                         driver.cuMemcpyDtoHAsync(object->bytes().data(), buffer.data(), static_cast<size_t>(buffer.bytes()), stream),
                         Phase::other, where));
  return failed_if(driver, driver.cuStreamSynchronize(stream), Phase::other, where);
}

}  // namespace

Failed import_tensors(const Driver& driver, CUstream stream, const std::vector<Import>& imports) {
  Foreign foreign(driver, stream);
  for (const Import& import : imports) CUTEGEN_STEP(foreign.copy(import));
  return failed_if(driver, driver.cuStreamSynchronize(stream), Phase::other, "copying inputs");
}

Failed export_tensors(std::vector<SharedTensor>& tensors, const Driver& driver, CUstream stream, MemoryPool& pool,
                      const std::vector<TensorSpec>& specs, const std::vector<std::shared_ptr<const Buffer>>& buffers, const ExportTo& to) {
  tensors.clear();
  for (size_t i = 0; i < buffers.size(); ++i) {
    SharedTensor tensor{specs[i], to.where, {}, 0};
    if (to.where == SharedTensor::Where::cuda_ipc) {
      CUTEGEN_STEP(pool.export_handle(tensor.handle, buffers[i]->block()));
      tensor.offset = kGuardBytes;
    } else {
      tensor.handle = to.shm_prefix + "-" + std::to_string(i);
      CUTEGEN_STEP(export_to_shm(tensor, driver, stream, *buffers[i]));
    }
    tensors.push_back(std::move(tensor));
  }
  return std::nullopt;
}

}  // namespace cutegen::cuda
