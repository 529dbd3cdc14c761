// The program's memory as the device sees it: allocations of every kind, copies between them and the host.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "vgpu/vgpu.h"

namespace cutegen::sim {

enum class MemoryKind : uint8_t {
  device,      // its address means nothing to the host, as on a GPU
  managed,     // one address for both
  pinned,      // host memory that the device may use; one address for both
  registered,  // the same, but the program owns it
};

struct Allocation {
  uint64_t address = 0, bytes = 0;
  char* host = nullptr;
  MemoryKind kind = MemoryKind::device;
};

// Not safe for several threads at once.
class DeviceMemory {
 public:
  explicit DeviceMemory(uint64_t capacity_bytes) : capacity_(capacity_bytes) {}
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // Zeroed memory, committed page by page as it is touched. The address is a multiple of 256. Errc::device when there is not so much.
  Result<uint64_t> allocate(uint64_t bytes, MemoryKind kind);
  // Host memory of the program for the device to use, until it is freed. invalid_input when it overlaps what is there.
  Result<void> use_host_memory(void* host, uint64_t bytes);
  // An address that allocate() gave, or that use_host_memory() took. invalid_input for any other.
  Result<void> free(uint64_t address);
  void free_all();

  const Allocation* find(uint64_t address) const;  // the live allocation that holds the address, variables of programs not among them
  uint64_t used_bytes() const { return used_; }
  uint64_t capacity_bytes() const { return capacity_; }

  // What a pointer of the program stands for, as the source or target of a copy of `bytes`: host memory to read or write. invalid_input
  // when the range leaves its buffer, or the buffer has been freed. A pointer that the device does not know is the host's own.
  struct Place {
    char* host = nullptr;
    bool on_device = false;    // the device knows it
    bool on_host_too = false;  // both may use the address
  };
  Result<Place> place(const void* pointer, uint64_t bytes) const;

  // Zeroed memory at one address for host and device, for the variables of a program; at most 1 << 32 bytes, and never given back.
  Result<vgpu::VariableSpace> variable_space();

  vgpu::Memory& memory() { return memory_; }

 private:
  Result<char*> reserve(uint64_t bytes, uint64_t& hint);
  void forget(const Allocation& a);

  vgpu::Memory memory_;
  std::map<uint64_t, Allocation> live_;  // by address
  uint64_t capacity_, used_ = 0, count_ = 0;
  // Where one-address memory goes, if the host has nothing there: the same addresses in every run.
  static constexpr uint64_t kFirstShared = 0x5000'0000'0000, kFirstVariables = 0x5100'0000'0000;
  uint64_t next_shared_ = kFirstShared, next_variables_ = kFirstVariables;
};

}  // namespace cutegen::sim
