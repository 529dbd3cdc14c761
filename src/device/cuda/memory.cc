#include "device/cuda/memory.h"

#include <algorithm>
#include <bit>

namespace cutegen::cuda {
namespace {

constexpr size_t kGranule = size_t{2} << 20;

// Few distinct capacities, so that blocks are reused between tasks: multiples of 2 MiB, above 64 MiB eighths of a power of two.
size_t capacity_for(size_t bytes) {
  const size_t step = std::max(kGranule, std::bit_floor(bytes) / 8);
  return std::max(kGranule, (bytes + step - 1) / step * step);
}

}  // namespace

Failed MemoryPool::take(Block& block, size_t bytes, const std::string& what) {
  const size_t capacity = capacity_for(bytes);
  if (const auto it = kept_.lower_bound(capacity); it != kept_.end() && it->first <= capacity + capacity / 4) {
    block = it->second;
    kept_bytes_ -= block.capacity;
    kept_.erase(it);
    return std::nullopt;
  }
  block.capacity = capacity;
  CUresult code = driver_->cuMemAlloc(&block.base, capacity);
  if (code == kOutOfMemory) {
    free_kept();
    code = driver_->cuMemAlloc(&block.base, capacity);
  }
  while (code == kOutOfMemory && on_pressure && on_pressure()) {
    free_kept();
    code = driver_->cuMemAlloc(&block.base, capacity);
  }
  if (code == kOutOfMemory) {  // without the rounding up it may still fit
    block.capacity = (bytes + kGranule - 1) / kGranule * kGranule;
    code = driver_->cuMemAlloc(&block.base, block.capacity);
  }
  return failed_if(*driver_, code, Phase::other, "allocating " + std::to_string(bytes) + " bytes for " + what);
}

void MemoryPool::give(Block block) {
  if (block.base == 0) return;
  kept_.emplace(block.capacity, block);
  kept_bytes_ += block.capacity;
  if (kept_bytes_ > keep_bytes_) free_kept();
}

void MemoryPool::free_kept() {
  for (const auto& [capacity, block] : kept_) {
    handles_.erase(block.base);
    driver_->cuMemFree(block.base);
  }
  kept_.clear();
  kept_bytes_ = 0;
}

Failed MemoryPool::export_handle(std::string& hex, const Block& block) {
  std::string& known = handles_[block.base];
  if (known.empty()) {
    CUipcMemHandle handle = {};
    CUTEGEN_STEP(failed_if(*driver_, driver_->cuIpcGetMemHandle(&handle, block.base), Phase::other, "exporting memory over CUDA IPC"));
    known = to_hex(handle);
  }
  hex = known;
  return std::nullopt;
}

Failed Buffer::make(std::shared_ptr<const Buffer>& buffer, MemoryPool& pool, int64_t bytes, std::string label) {
  if (bytes < 0) return device_error(Error{Errc::invalid_input, label + " has a negative size", "", ""});
  MemoryPool::Block block;
  CUTEGEN_STEP(pool.take(block, static_cast<size_t>(bytes + 2 * kGuardBytes), label));
  buffer = std::shared_ptr<const Buffer>(new Buffer(pool, block, bytes, std::move(label)));
  return std::nullopt;
}

std::vector<const Buffer*> BufferSet::read_only() const {
  std::vector<const Buffer*> list;
  for (const auto& b : inputs) list.push_back(b.get());
  for (const auto& b : params) list.push_back(b.get());
  return list;
}

std::vector<const Buffer*> BufferSet::all() const {
  std::vector<const Buffer*> list = read_only();
  for (const auto& b : outputs) list.push_back(b.get());
  if (workspace != nullptr) list.push_back(workspace.get());
  return list;
}

Failed fill(const Driver& driver, CUstream stream, const Buffer& buffer, uint32_t pattern) {
  const std::string where = "filling " + buffer.label();
  const size_t words = static_cast<size_t>(buffer.bytes()) / 4;
  if (words > 0) CUTEGEN_STEP(failed_if(driver, driver.cuMemsetD32Async(buffer.data(), pattern, words, stream), Phase::other, where));
  for (size_t at = words * 4; at < static_cast<size_t>(buffer.bytes()); ++at) {
    const auto byte = static_cast<unsigned char>(pattern >> (8 * (at % 4)));
    CUTEGEN_STEP(failed_if(driver, driver.cuMemsetD8Async(buffer.data() + at, byte, 1, stream), Phase::other, where));
  }
  return std::nullopt;
}

}  // namespace cutegen::cuda
