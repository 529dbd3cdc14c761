#include <algorithm>
#include <utility>

#include "vgpu/mem/written.h"
#include "vgpu/vgpu.h"

namespace cutegen::vgpu {
namespace {

constexpr uint64_t kGap = 1 << 20;  // an overrun of less than this cannot reach another buffer
constexpr uint64_t kAlign = 256;    // as cudaMalloc

}  // namespace

Memory::Buffer& Memory::add(std::string name, uint64_t base, char* host, uint64_t bytes, bool writable) {
  auto b = std::make_unique<Buffer>();
  b->name = std::move(name);
  b->base = base;
  b->bytes = bytes;
  b->host = host;
  b->writable = writable;
  const auto after =
      std::upper_bound(buffers_.begin(), buffers_.end(), base, [](uint64_t a, const auto& other) { return a < other->base; });
  return **buffers_.insert(after, std::move(b));
}

uint64_t Memory::take_addresses(uint64_t bytes) { return std::exchange(next_, (next_ + bytes + kGap + kAlign - 1) / kAlign * kAlign); }

uint64_t Memory::allocate(std::string name, uint64_t bytes, uint8_t fill) {
  auto owned = std::make_unique<char[]>(bytes);
  if (fill != 0) std::fill_n(owned.get(), bytes, static_cast<char>(fill));
  Buffer& b = add(std::move(name), take_addresses(bytes), owned.get(), bytes, true);
  b.owned = std::move(owned);
  return b.base;
}

uint64_t Memory::map(std::string name, void* host, uint64_t bytes) {
  return add(std::move(name), take_addresses(bytes), static_cast<char*>(host), bytes, true).base;
}

uint64_t Memory::map_read_only(std::string name, const void* host, uint64_t bytes) {
  char* unwritten = const_cast<char*>(static_cast<const char*>(host));  // `writable` guards it
  return add(std::move(name), take_addresses(bytes), unwritten, bytes, false).base;
}

bool Memory::map_shared(std::string name, void* host, uint64_t bytes, bool writable) {
  const auto base = reinterpret_cast<uintptr_t>(host);
  const auto overlaps = [&](const auto& b) { return b->base < base + bytes && base < b->base + b->bytes; };
  if (std::any_of(buffers_.begin(), buffers_.end(), [&](const auto& b) { return !b->freed && overlaps(b); })) return false;
  std::erase_if(buffers_, overlaps);  // freed ones, whose place the host has used again
  add(std::move(name), base, static_cast<char*>(host), bytes, writable);
  return true;
}

void Memory::release(uint64_t address) {
  for (auto& b : buffers_) {
    if (b->base != address) continue;
    b->freed = true;
    b->owned.reset();
    b->host = nullptr;
  }
}

const Memory::Buffer* Memory::find(uint64_t address) const {
  auto after = std::upper_bound(buffers_.begin(), buffers_.end(), address, [](uint64_t a, const auto& b) { return a < b->base; });
  if (after == buffers_.begin()) return nullptr;
  const Buffer& b = **--after;
  return address - b.base < b.bytes ? &b : nullptr;
}

const Memory::Buffer* Memory::nearest(uint64_t address) const {
  const Buffer* best = nullptr;
  uint64_t best_distance = ~0ull;
  for (const auto& b : buffers_) {
    const uint64_t end = b->base + b->bytes;
    const uint64_t d = address < b->base ? b->base - address : address >= end ? address - end : 0;
    if (d < best_distance || (d == best_distance && best != nullptr && best->freed)) best = b.get(), best_distance = d;
  }
  return best;
}

void Memory::mark_undefined(uint64_t address) {
  for (const auto& b : buffers_)
    if (b->base == address && !b->freed) b->written = std::make_shared<WrittenBytes>(b->bytes);
}

bool Memory::has_undefined() const {
  return std::any_of(buffers_.begin(), buffers_.end(), [](const auto& b) { return !b->freed && b->written != nullptr; });
}

void Memory::mark_written(uint64_t address, uint64_t bytes) {
  if (const Buffer* b = find(address); b != nullptr && b->written != nullptr) b->written->set(address - b->base, bytes);
}

void* Memory::host(uint64_t address) const {
  const Buffer* b = find(address);
  return b == nullptr || b->freed ? nullptr : b->host + (address - b->base);
}

}  // namespace cutegen::vgpu
