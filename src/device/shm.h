// A mapped POSIX shared-memory object: how tensors cross process borders on the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"
#include "task/shared_tensor.h"

namespace cutegen {

class Shm {
 public:
  // A new object of `bytes` zeroes (at least one page is mapped). It outlives this mapping until unlink().
  static Result<Shm> create(const std::string& name, int64_t bytes);
  static Result<Shm> open_readable(const std::string& name);
  static void unlink(const std::string& name);  // an absent name is fine

  Shm(Shm&& other) noexcept : address_(std::exchange(other.address_, nullptr)), bytes_(other.bytes_) {}
  Shm& operator=(Shm&& other) noexcept;
  Shm(const Shm&) = delete;
  Shm& operator=(const Shm&) = delete;
  ~Shm();

  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(address_), static_cast<size_t>(bytes_)}; }

 private:
  Shm(void* address, int64_t bytes) : address_(address), bytes_(bytes) {}
  void* address_ = nullptr;
  int64_t bytes_ = 0;
};

// The bytes of an shm tensor inside an opened object; Errc::invalid_input when they do not fit.
Result<std::span<std::byte>> tensor_bytes(const Shm& object, const SharedTensor& tensor);

}  // namespace cutegen
