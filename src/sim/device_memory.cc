#include "sim/device_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>

namespace cutegen::sim {
namespace {

constexpr uint64_t kVariableBytes = 1ull << 32, kPage = 4096;
constexpr uint64_t kFirstDevice = 0x1000'0000'0000;  // of vgpu::Memory's own addresses
constexpr std::array kNames = {"cudaMalloc", "cudaMallocManaged", "cudaMallocHost", "cudaHostRegister"};

Error bad(std::string what) { return Error{Errc::invalid_input, std::move(what), "", ""}; }
uint64_t pages(uint64_t bytes) { return (std::max<uint64_t>(bytes, 1) + kPage - 1) / kPage * kPage; }

char* map_pages(void* wanted, uint64_t bytes, int flags) {
  void* p = ::mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
  return p == MAP_FAILED ? nullptr : static_cast<char*>(p);
}

}  // namespace

DeviceMemory::~DeviceMemory() { free_all(); }

Result<char*> DeviceMemory::reserve(uint64_t bytes, uint64_t& hint) {
  char* host = map_pages(reinterpret_cast<void*>(hint), bytes, MAP_FIXED_NOREPLACE);
  if (host == nullptr) host = map_pages(nullptr, bytes, 0);
  if (host == nullptr) return Error{Errc::device, fmt::format("the host cannot map {} bytes", bytes), "", ""};
  hint += bytes + (1ull << 20);
  return host;
}

Result<uint64_t> DeviceMemory::allocate(uint64_t bytes, MemoryKind kind) {
  if (bytes > capacity_ - used_)
    return Error{Errc::device, fmt::format("{} bytes asked for, {} of {} are free", bytes, capacity_ - used_, capacity_), "", ""};
  const std::string name = fmt::format("{} {}", kNames[static_cast<size_t>(kind)], ++count_);
  Allocation a{0, bytes, nullptr, kind};
  if (kind == MemoryKind::device) {
    a.host = map_pages(nullptr, pages(bytes), 0);
    if (a.host == nullptr) return Error{Errc::device, fmt::format("the host cannot map {} bytes", bytes), "", ""};
    a.address = memory_.map(name, a.host, bytes);
    memory_.mark_undefined(a.address);
  } else {
    CUTEGEN_TRY(a.host, reserve(pages(bytes), next_shared_));
    a.address = reinterpret_cast<uintptr_t>(a.host);
    memory_.map_shared(name, a.host, bytes);
  }
  used_ += bytes;
  live_[a.address] = a;
  return a.address;
}

Result<void> DeviceMemory::use_host_memory(void* host, uint64_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(host);
  if (host == nullptr || bytes == 0) return bad("nothing to register");
  if (!memory_.map_shared(fmt::format("cudaHostRegister {}", ++count_), host, bytes))
    return bad(fmt::format("{} bytes at {:#x} overlap memory that the device knows already", bytes, address));
  live_[address] = Allocation{address, bytes, static_cast<char*>(host), MemoryKind::registered};
  return {};
}

void DeviceMemory::forget(const Allocation& a) {
  memory_.release(a.address);
  if (a.kind == MemoryKind::registered) return;
  ::munmap(a.host, pages(a.bytes));
  used_ -= a.bytes;
}

Result<void> DeviceMemory::free(uint64_t address) {
  const auto it = live_.find(address);
  if (it == live_.end()) {
    const vgpu::Memory::Buffer* b = memory_.find(address);
    return bad(b == nullptr                     ? fmt::format("{:#x} is the address of no allocation", address)
               : b->freed && b->base == address ? fmt::format("'{}' at {:#x} has been freed already", b->name, address)
                                                : fmt::format("{:#x} lies inside '{}', not at its start", address, b->name));
  }
  forget(it->second);
  live_.erase(it);
  return {};
}

void DeviceMemory::free_all() {
  for (const auto& [address, a] : live_) forget(a);
  live_.clear();
}

const Allocation* DeviceMemory::find(uint64_t address) const {
  auto after = live_.upper_bound(address);
  if (after == live_.begin()) return nullptr;
  const Allocation& a = (--after)->second;
  return address - a.address < std::max<uint64_t>(a.bytes, 1) ? &a : nullptr;
}

Result<DeviceMemory::Place> DeviceMemory::place(const void* pointer, uint64_t bytes) const {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const vgpu::Memory::Buffer* b = memory_.find(address);
  if (b == nullptr || b->freed) {
    if (address < kFirstDevice || address >= kFirstShared) return Place{const_cast<char*>(static_cast<const char*>(pointer)), false, true};
    return bad(b == nullptr ? fmt::format("{:#x} is in no allocation", address)
                            : fmt::format("{:#x} is in '{}', which has been freed", address, b->name));
  }
  if (bytes > b->base + b->bytes - address)
    return bad(fmt::format("{} bytes at {:#x} reach {} bytes past the end of '{}' ({} bytes)", bytes, address,
                           address + bytes - b->base - b->bytes, b->name, b->bytes));
  return Place{b->host + (address - b->base), true, reinterpret_cast<uintptr_t>(b->host) == b->base};
}

Result<vgpu::VariableSpace> DeviceMemory::variable_space() {
  CUTEGEN_TRY(char* host, reserve(kVariableBytes, next_variables_));
  return vgpu::VariableSpace{host, kVariableBytes};
}

}  // namespace cutegen::sim
