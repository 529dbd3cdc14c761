// Device memory for candidates: pooled blocks, and buffers with a guard zone on either side.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/cuda/failure.h"

namespace cutegen::cuda {

// Bytes of the zone before and after every buffer that nobody may write. Also keeps data 4096-byte aligned.
inline constexpr int64_t kGuardBytes = 4096;

// Blocks are kept when given back, so that a candidate pays no cuMemAlloc. Every block is a multiple of 2 MiB: the driver shares one
// allocation among smaller ones, and exporting such a one over IPC would export its neighbours too.
class MemoryPool {
 public:
  struct Block {
    CUdeviceptr base = 0;
    size_t capacity = 0;
  };
  MemoryPool(std::shared_ptr<const Driver> driver, size_t keep_bytes) : driver_(std::move(driver)), keep_bytes_(keep_bytes) {}
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  // A block of at least `bytes`. When memory is short, first frees what is kept, then calls `on_pressure` (which should give blocks back
  // and returns whether it did) until that helps or there is nothing left.
  Failed take(Block& block, size_t bytes, const std::string& what);
  void give(Block block);  // keeps it, or frees it above the budget
  void free_kept();
  Failed export_handle(std::string& hex, const Block& block);  // the CUDA IPC handle of its base

  std::function<bool()> on_pressure;

 private:
  std::shared_ptr<const Driver> driver_;
  size_t keep_bytes_;
  size_t kept_bytes_ = 0;
  std::multimap<size_t, Block> kept_;           // by capacity
  std::map<CUdeviceptr, std::string> handles_;  // of live blocks that were exported
};

// Memory of one tensor or workspace: guard zone, data, guard zone. Returns to its pool when it goes.
class Buffer {
 public:
  // The pool must outlive the buffer.
  static Failed make(std::shared_ptr<const Buffer>& buffer, MemoryPool& pool, int64_t bytes, std::string label);
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { pool_.give(block_); }

  CUdeviceptr data() const { return block_.base + kGuardBytes; }
  int64_t bytes() const { return bytes_; }
  const std::string& label() const { return label_; }  // "input 0 'x'"
  const MemoryPool::Block& block() const { return block_; }

 private:
  Buffer(MemoryPool& pool, MemoryPool::Block block, int64_t bytes, std::string label)
      : pool_(pool), block_(block), bytes_(bytes), label_(std::move(label)) {}
  MemoryPool& pool_;
  MemoryPool::Block block_;
  int64_t bytes_;
  std::string label_;
};

// The buffers of one plan execution. Sets may share buffers.
struct BufferSet {
  std::vector<std::shared_ptr<const Buffer>> inputs, params, outputs;
  std::shared_ptr<const Buffer> workspace;  // null when the plan needs none
  std::vector<const Buffer*> all() const;
  std::vector<const Buffer*> read_only() const;  // inputs, then params
};

// Writes a 32-bit pattern over a whole buffer, its last bytes included (little-endian).
Failed fill(const Driver& driver, CUstream stream, const Buffer& buffer, uint32_t pattern);

}  // namespace cutegen::cuda
