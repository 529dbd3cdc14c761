// CUDA Runtime API 6.10 (memory), 6.11 (stream-ordered allocation), 6.13 (unified addressing), 6.14 (peers).
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sim/runtime.h"

using namespace cutegen::sim;

namespace {

constexpr size_t kPitch = 512;

Status allocate(Runtime& r, void** pointer, size_t bytes, MemoryKind kind) {
  if (pointer == nullptr) return {kInvalidValue, "nowhere to put the pointer"};
  *pointer = nullptr;
  if (bytes == 0) return {};
  const auto address = r.memory.allocate(bytes, kind);
  if (!address.ok()) return {kMemoryAllocation, address.error().message};
  *pointer = reinterpret_cast<void*>(*address);
  return {};
}

Status release(Runtime& r, void* pointer) {
  if (pointer == nullptr) return {};
  auto freed = r.memory.free(reinterpret_cast<uintptr_t>(pointer));
  return freed.ok() ? Status() : Status(kInvalidValue, freed.error().message);
}

// The bytes behind a pointer that is the source or target of a copy. `device`: whether the kind of copy says that it is the device's.
Status resolve(Runtime& r, const void* pointer, size_t bytes, bool device, bool any, const char* role, char*& host) {
  const auto place = r.memory.place(pointer, bytes);
  if (!place.ok()) return {kInvalidValue, fmt::format("{}: {}", role, place.error().message)};
  if (!any && device && !place->on_device) return {kInvalidValue, fmt::format("{} {} is not an address of the device", role, pointer)};
  if (!any && !device && place->on_device && !place->on_host_too)
    return {kInvalidValue, fmt::format("{} {} is an address of the device, not of the host", role, pointer)};
  host = place->host;
  return {};
}

struct Plane {  // `rows` rows of `width` bytes
  const void* pointer;
  size_t pitch;
};

Status copy_2d(Runtime& r, Plane dst, Plane src, size_t width, size_t rows, int kind) {
  if (width == 0 || rows == 0) return {};
  if (kind < kHostToHost || kind > kDefault) return {kInvalidMemcpyDirection, fmt::format("kind {}", kind)};
  if (rows > 1 && (width > dst.pitch || width > src.pitch))
    return {kInvalidPitchValue, fmt::format("rows of {} bytes, pitches {} and {}", width, dst.pitch, src.pitch)};
  const bool any = kind == kDefault;
  char *to = nullptr, *from = nullptr;
  const auto extent = [&](size_t pitch) { return (rows - 1) * pitch + width; };
  if (Status s = resolve(r, dst.pointer, extent(dst.pitch), kind == kHostToDevice || kind == kDeviceToDevice, any, "target", to); !s.ok())
    return s;
  if (Status s = resolve(r, src.pointer, extent(src.pitch), kind == kDeviceToHost || kind == kDeviceToDevice, any, "source", from); !s.ok())
    return s;
  for (size_t y = 0; y < rows; ++y) {
    std::memmove(to + y * dst.pitch, from + y * src.pitch, width);
    r.memory.memory().mark_written(reinterpret_cast<uintptr_t>(dst.pointer) + y * dst.pitch, width);
  }
  return {};
}

Status copy(Runtime& r, void* dst, const void* src, size_t bytes, int kind) {
  return copy_2d(r, {dst, bytes}, {src, bytes}, bytes, 1, kind);
}

Status fill(Runtime& r, void* pointer, size_t pitch, int value, size_t width, size_t rows) {
  if (width == 0 || rows == 0) return {};
  if (rows > 1 && width > pitch) return {kInvalidPitchValue, fmt::format("rows of {} bytes, pitch {}", width, pitch)};
  char* to = nullptr;
  if (Status s = resolve(r, pointer, (rows - 1) * pitch + width, true, false, "target", to); !s.ok()) return s;
  for (size_t y = 0; y < rows; ++y) {
    std::memset(to + y * pitch, value, width);
    r.memory.memory().mark_written(reinterpret_cast<uintptr_t>(pointer) + y * pitch, width);
  }
  return {};
}

Status copy_3d(Runtime& r, const Memcpy3DParams& p) {
  if (p.src_array != nullptr || p.dst_array != nullptr) return {kNotSupported, "CUDA arrays are not supported"};
  for (size_t z = 0; z < p.extent.depth; ++z) {
    const auto plane = [&](const PitchedPtr& q, const Pos& pos) {
      const auto* base = static_cast<const char*>(q.ptr);
      return Plane{base + ((pos.z + z) * q.ysize + pos.y) * q.pitch + pos.x, q.pitch};
    };
    if (Status s = copy_2d(r, plane(p.dst, p.dst_pos), plane(p.src, p.src_pos), p.extent.width, p.extent.height, p.kind); !s.ok()) return s;
  }
  return {};
}

// Where a symbol's bytes are, `offset` into it.
Status symbol(Runtime& r, const void* host_variable, size_t bytes, size_t offset, void*& pointer) {
  uint64_t address = 0, size = 0;
  if (Status s = r.find_variable(host_variable, address, size); !s.ok()) return s;
  if (offset > size || bytes > size - offset)
    return {kInvalidValue, fmt::format("{} bytes at {} in a variable of {}", bytes, offset, size)};
  pointer = reinterpret_cast<void*>(address + offset);
  return {};
}

int peer_refused(const char* name) {
  return call(name, [](Runtime&) { return Status(kPeerAccessUnsupported, "there is one device"); });
}

}  // namespace

SIM_API int cudaMalloc(void** pointer, size_t bytes) {
  return call("cudaMalloc", [&](Runtime& r) { return allocate(r, pointer, bytes, MemoryKind::device); });
}
SIM_API int cudaMallocAsync(void** pointer, size_t bytes, Stream) {
  return call("cudaMallocAsync", [&](Runtime& r) { return allocate(r, pointer, bytes, MemoryKind::device); });
}
SIM_API int cudaMallocFromPoolAsync(void** pointer, size_t bytes, void*, Stream) {
  return call("cudaMallocFromPoolAsync", [&](Runtime& r) { return allocate(r, pointer, bytes, MemoryKind::device); });
}
SIM_API int cudaMallocManaged(void** pointer, size_t bytes, unsigned) {
  return call("cudaMallocManaged", [&](Runtime& r) { return allocate(r, pointer, bytes, MemoryKind::managed); });
}
SIM_API int cudaMallocHost(void** pointer, size_t bytes) {
  return call("cudaMallocHost", [&](Runtime& r) { return allocate(r, pointer, bytes, MemoryKind::pinned); });
}
SIM_API int cudaHostAlloc(void** pointer, size_t bytes, unsigned) {
  return call("cudaHostAlloc", [&](Runtime& r) { return allocate(r, pointer, bytes, MemoryKind::pinned); });
}
SIM_API int cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  return call("cudaMallocPitch", [&](Runtime& r) {
    *pitch = (width + kPitch - 1) / kPitch * kPitch;
    return allocate(r, pointer, *pitch * height, MemoryKind::device);
  });
}
SIM_API int cudaMalloc3D(PitchedPtr* pointer, Extent extent) {
  return call("cudaMalloc3D", [&](Runtime& r) {
    const size_t pitch = (extent.width + kPitch - 1) / kPitch * kPitch;
    *pointer = {nullptr, pitch, extent.width, extent.height};
    return allocate(r, &pointer->ptr, pitch * extent.height * extent.depth, MemoryKind::device);
  });
}

SIM_API int cudaFree(void* pointer) {
  return call("cudaFree", [&](Runtime& r) { return release(r, pointer); });
}
SIM_API int cudaFreeAsync(void* pointer, Stream) {
  return call("cudaFreeAsync", [&](Runtime& r) { return release(r, pointer); });
}
SIM_API int cudaFreeHost(void* pointer) {
  return call("cudaFreeHost", [&](Runtime& r) { return release(r, pointer); });
}

SIM_API int cudaHostRegister(void* pointer, size_t bytes, unsigned) {
  return call("cudaHostRegister", [&](Runtime& r) {
    auto used = r.memory.use_host_memory(pointer, bytes);
    return used.ok() ? Status() : Status(kHostMemoryAlreadyRegistered, used.error().message);
  });
}
SIM_API int cudaHostUnregister(void* pointer) {
  return call("cudaHostUnregister", [&](Runtime& r) {
    const Allocation* a = r.memory.find(reinterpret_cast<uintptr_t>(pointer));
    if (a == nullptr || a->kind != MemoryKind::registered || a->host != pointer) return Status(kHostMemoryNotRegistered);
    return release(r, pointer);
  });
}
SIM_API int cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  return call("cudaHostGetDevicePointer", [&](Runtime& r) {
    const auto place = r.memory.place(host, 1);
    if (!place.ok() || !place->on_device || !place->on_host_too) return Status(kInvalidValue, "the device does not know this host memory");
    *device = host;
    return Status();
  });
}
SIM_API int cudaHostGetFlags(unsigned* flags, void* host) {
  return call("cudaHostGetFlags", [&](Runtime& r) {
    if (r.memory.find(reinterpret_cast<uintptr_t>(host)) == nullptr) return Status(kInvalidValue);
    *flags = 0;
    return Status();
  });
}

SIM_API int cudaMemcpy(void* dst, const void* src, size_t bytes, int kind) {
  return call("cudaMemcpy", [&](Runtime& r) { return copy(r, dst, src, bytes, kind); });
}
SIM_API int cudaMemcpyAsync(void* dst, const void* src, size_t bytes, int kind, Stream) {
  return call("cudaMemcpyAsync", [&](Runtime& r) { return copy(r, dst, src, bytes, kind); });
}
SIM_API int cudaMemcpyPeer(void* dst, int, const void* src, int, size_t bytes) {
  return call("cudaMemcpyPeer", [&](Runtime& r) { return copy(r, dst, src, bytes, kDeviceToDevice); });
}
SIM_API int cudaMemcpyPeerAsync(void* dst, int, const void* src, int, size_t bytes, Stream) {
  return call("cudaMemcpyPeerAsync", [&](Runtime& r) { return copy(r, dst, src, bytes, kDeviceToDevice); });
}
SIM_API int cudaMemcpy2D(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width, size_t height, int kind) {
  return call("cudaMemcpy2D", [&](Runtime& r) { return copy_2d(r, {dst, dst_pitch}, {src, src_pitch}, width, height, kind); });
}
SIM_API int cudaMemcpy2DAsync(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width, size_t height, int kind,
                              Stream) {
  return call("cudaMemcpy2DAsync", [&](Runtime& r) { return copy_2d(r, {dst, dst_pitch}, {src, src_pitch}, width, height, kind); });
}
SIM_API int cudaMemcpy3D(const Memcpy3DParams* p) {
  return call("cudaMemcpy3D", [&](Runtime& r) { return copy_3d(r, *p); });
}
SIM_API int cudaMemcpy3DAsync(const Memcpy3DParams* p, Stream) {
  return call("cudaMemcpy3DAsync", [&](Runtime& r) { return copy_3d(r, *p); });
}

SIM_API int cudaMemset(void* pointer, int value, size_t bytes) {
  return call("cudaMemset", [&](Runtime& r) { return fill(r, pointer, bytes, value, bytes, 1); });
}
SIM_API int cudaMemsetAsync(void* pointer, int value, size_t bytes, Stream) {
  return call("cudaMemsetAsync", [&](Runtime& r) { return fill(r, pointer, bytes, value, bytes, 1); });
}
SIM_API int cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  return call("cudaMemset2D", [&](Runtime& r) { return fill(r, pointer, pitch, value, width, height); });
}
SIM_API int cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height, Stream) {
  return call("cudaMemset2DAsync", [&](Runtime& r) { return fill(r, pointer, pitch, value, width, height); });
}

SIM_API int cudaMemcpyToSymbol(const void* variable, const void* src, size_t bytes, size_t offset, int kind) {
  return call("cudaMemcpyToSymbol", [&](Runtime& r) {
    void* dst = nullptr;
    Status s = symbol(r, variable, bytes, offset, dst);
    return s.ok() ? copy(r, dst, src, bytes, kind) : s;
  });
}
SIM_API int cudaMemcpyToSymbolAsync(const void* variable, const void* src, size_t bytes, size_t offset, int kind, Stream) {
  return cudaMemcpyToSymbol(variable, src, bytes, offset, kind);
}
SIM_API int cudaMemcpyFromSymbol(void* dst, const void* variable, size_t bytes, size_t offset, int kind) {
  return call("cudaMemcpyFromSymbol", [&](Runtime& r) {
    void* src = nullptr;
    Status s = symbol(r, variable, bytes, offset, src);
    return s.ok() ? copy(r, dst, src, bytes, kind) : s;
  });
}
SIM_API int cudaMemcpyFromSymbolAsync(void* dst, const void* variable, size_t bytes, size_t offset, int kind, Stream) {
  return cudaMemcpyFromSymbol(dst, variable, bytes, offset, kind);
}
SIM_API int cudaGetSymbolAddress(void** pointer, const void* variable) {
  return call("cudaGetSymbolAddress", [&](Runtime& r) { return symbol(r, variable, 0, 0, *pointer); });
}
SIM_API int cudaGetSymbolSize(size_t* bytes, const void* variable) {
  return call("cudaGetSymbolSize", [&](Runtime& r) {
    uint64_t address = 0;
    return r.find_variable(variable, address, *bytes);
  });
}

SIM_API int cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  return call("cudaMemGetInfo", [&](Runtime& r) {
    *total_bytes = r.memory.capacity_bytes();
    *free_bytes = r.memory.capacity_bytes() - r.memory.used_bytes();
    return Status();
  });
}
SIM_API int cudaPointerGetAttributes(PointerAttributes* a, const void* pointer) {
  return call("cudaPointerGetAttributes", [&](Runtime& r) {
    enum { kUnregistered, kHost, kDevice, kManaged };
    *a = {};
    const Allocation* known = r.memory.find(reinterpret_cast<uintptr_t>(pointer));
    const auto place = r.memory.place(pointer, 1);
    if (!place.ok() || !place->on_device)
      return a->type = kUnregistered, a->device = -2, a->host_pointer = const_cast<void*>(pointer), Status();
    a->type = known == nullptr || known->kind == MemoryKind::device ? kDevice : known->kind == MemoryKind::managed ? kManaged : kHost;
    a->device_pointer = const_cast<void*>(pointer);
    if (a->type != kDevice) a->host_pointer = const_cast<void*>(pointer);
    return Status();
  });
}
SIM_API int cudaMemPrefetchAsync(const void*, size_t, long, unsigned, Stream) {  // cudaMemLocation: two ints
  return call("cudaMemPrefetchAsync", [](Runtime&) { return Status(); });
}
SIM_API int cudaMemAdvise(const void*, size_t, int, long) {
  return call("cudaMemAdvise", [](Runtime&) { return Status(); });
}
SIM_API int cudaStreamAttachMemAsync(Stream, void*, size_t, unsigned) {
  return call("cudaStreamAttachMemAsync", [](Runtime&) { return Status(); });
}

// A description only: arrays and textures are not supported.
struct ChannelFormat {
  int x, y, z, w, kind;
};
SIM_API ChannelFormat cudaCreateChannelDesc(int x, int y, int z, int w, int kind) { return {x, y, z, w, kind}; }

SIM_API int cudaDeviceGetDefaultMemPool(void** pool, int) {
  return call("cudaDeviceGetDefaultMemPool", [&](Runtime& r) {
    *pool = &r;  // the only one
    return Status();
  });
}
SIM_API int cudaDeviceGetMemPool(void** pool, int device) { return cudaDeviceGetDefaultMemPool(pool, device); }
SIM_API int cudaMemPoolTrimTo(void*, size_t) {
  return call("cudaMemPoolTrimTo", [](Runtime&) { return Status(); });
}
SIM_API int cudaMemPoolSetAttribute(void*, int, void*) {
  return call("cudaMemPoolSetAttribute", [](Runtime&) { return Status(); });
}

SIM_API int cudaDeviceCanAccessPeer(int* can, int, int) {
  return call("cudaDeviceCanAccessPeer", [&](Runtime&) {
    *can = 0;
    return Status();
  });
}
SIM_API int cudaDeviceEnablePeerAccess(int, unsigned) { return peer_refused("cudaDeviceEnablePeerAccess"); }
SIM_API int cudaDeviceDisablePeerAccess(int) { return peer_refused("cudaDeviceDisablePeerAccess"); }

SIM_SAME(cudaMallocAsync_ptsz, cudaMallocAsync);
SIM_SAME(cudaMallocFromPoolAsync_ptsz, cudaMallocFromPoolAsync);
SIM_SAME(cudaFreeAsync_ptsz, cudaFreeAsync);
SIM_SAME(cudaMemcpy_ptds, cudaMemcpy);
SIM_SAME(cudaMemcpyAsync_ptsz, cudaMemcpyAsync);
SIM_SAME(cudaMemcpy2D_ptds, cudaMemcpy2D);
SIM_SAME(cudaMemcpy2DAsync_ptsz, cudaMemcpy2DAsync);
SIM_SAME(cudaMemcpy3D_ptds, cudaMemcpy3D);
SIM_SAME(cudaMemcpy3DAsync_ptsz, cudaMemcpy3DAsync);
SIM_SAME(cudaMemset_ptds, cudaMemset);
SIM_SAME(cudaMemsetAsync_ptsz, cudaMemsetAsync);
SIM_SAME(cudaMemset2D_ptds, cudaMemset2D);
SIM_SAME(cudaMemset2DAsync_ptsz, cudaMemset2DAsync);
SIM_SAME(cudaMemcpyToSymbol_ptds, cudaMemcpyToSymbol);
SIM_SAME(cudaMemcpyToSymbolAsync_ptsz, cudaMemcpyToSymbolAsync);
SIM_SAME(cudaMemcpyFromSymbol_ptds, cudaMemcpyFromSymbol);
SIM_SAME(cudaMemcpyFromSymbolAsync_ptsz, cudaMemcpyFromSymbolAsync);
SIM_SAME(cudaMemPrefetchAsync_ptsz, cudaMemPrefetchAsync);
SIM_SAME(cudaStreamAttachMemAsync_ptsz, cudaStreamAttachMemAsync);
