#include <algorithm>

#include "vgpu/mem/written.h"
#include "vgpu/vgpu.h"

namespace cutegen::vgpu {
namespace {

constexpr uint64_t kGap = 1 << 20;  // an overrun of less than this cannot reach another buffer
constexpr uint64_t kAlign = 256;    // as cudaMalloc

}  // namespace

uint64_t Memory::add(std::string name, char* host, uint64_t bytes, bool writable) {
  auto b = std::make_unique<Buffer>();
  b->name = std::move(name);
  b->base = next_;
  b->bytes = bytes;
  b->host = host;
  b->writable = writable;
  next_ = (next_ + bytes + kGap + kAlign - 1) / kAlign * kAlign;
  buffers_.push_back(std::move(b));
  return buffers_.back()->base;
}

uint64_t Memory::allocate(std::string name, uint64_t bytes, uint8_t fill) {
  auto owned = std::make_unique<char[]>(bytes);
  if (fill != 0) std::fill_n(owned.get(), bytes, static_cast<char>(fill));
  const uint64_t base = add(std::move(name), owned.get(), bytes, true);
  buffers_.back()->owned = std::move(owned);
  return base;
}

uint64_t Memory::map(std::string name, void* host, uint64_t bytes) { return add(std::move(name), static_cast<char*>(host), bytes, true); }

uint64_t Memory::map_read_only(std::string name, const void* host, uint64_t bytes) {
  return add(std::move(name), const_cast<char*>(static_cast<const char*>(host)), bytes, false);  // `writable` guards it
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
