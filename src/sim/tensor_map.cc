#include "sim/tensor_map.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "sim/device_info.h"
#include "sim/runtime.h"
#include "vgpu/tensor_map.h"

namespace cutegen::sim {
namespace {

constexpr int kCudaSuccess = 0, kCudaErrorInvalidValue = 1;  // CUresult

// CUresult cuDriverGetVersion(int*)
extern "C" int driver_get_version(int* version) {
  if (version == nullptr) return kCudaErrorInvalidValue;
  *version = kDriverVersion;
  return kCudaSuccess;
}

template <class Tensor>
int finish(const char* function, void* map, const Tensor& tensor) {
  const auto encoded = vgpu::encode(tensor);
  if (!encoded.ok()) {
    Runtime::get().say(std::string(function) + ": " + encoded.error().message);
    return kCudaErrorInvalidValue;
  }
  std::memcpy(map, &*encoded, sizeof *encoded);
  return kCudaSuccess;
}

struct Described {
  int type;
  uint32_t rank;
  void* address;
  const uint64_t* dims;
  const uint64_t* strides;
  const uint32_t* element_strides;
  int interleave, swizzle, fill;
};

vgpu::TiledTensor tensor_of(const Described& d) {
  vgpu::TiledTensor t;
  t.type = static_cast<vgpu::TensorType>(d.type);
  t.rank = d.rank;
  t.address = reinterpret_cast<uintptr_t>(d.address);
  const uint32_t rank = std::min<uint32_t>(d.rank, 5);
  std::copy_n(d.dims, rank, t.dims.begin());
  if (rank > 1) std::copy_n(d.strides, rank - 1, t.strides.begin());
  std::copy_n(d.element_strides, rank, t.element_strides.begin());
  t.interleave = static_cast<vgpu::TensorInterleave>(d.interleave);
  t.swizzle = static_cast<vgpu::TensorSwizzle>(d.swizzle);
  t.fill = static_cast<vgpu::TensorFill>(d.fill);
  return t;
}

// The L2 promotion is a hint.
extern "C" int encode_tiled(void* map, int type, uint32_t rank, void* address, const uint64_t* dims, const uint64_t* strides,
                            const uint32_t* box, const uint32_t* element_strides, int interleave, int swizzle, int, int fill) {
  vgpu::TiledTensor t = tensor_of({type, rank, address, dims, strides, element_strides, interleave, swizzle, fill});
  std::copy_n(box, std::min<uint32_t>(rank, 5), t.box.begin());
  return finish("cuTensorMapEncodeTiled", map, t);
}

extern "C" int encode_im2col(void* map, int type, uint32_t rank, void* address, const uint64_t* dims, const uint64_t* strides,
                             const int* lower, const int* upper, uint32_t channels_per_pixel, uint32_t pixels_per_column,
                             const uint32_t* element_strides, int interleave, int swizzle, int, int fill) {
  vgpu::Im2colTensor t;
  t.tensor = tensor_of({type, rank, address, dims, strides, element_strides, interleave, swizzle, fill});
  const uint32_t spatial = rank < 3 ? 0 : std::min<uint32_t>(rank, 5) - 2;
  std::copy_n(lower, spatial, t.lower.begin());
  std::copy_n(upper, spatial, t.upper.begin());
  t.channels_per_pixel = channels_per_pixel;
  t.pixels_per_column = pixels_per_column;
  return finish("cuTensorMapEncodeIm2col", map, t);
}

}  // namespace

void* driver_function(const char* name) {
  const std::pair<std::string_view, void*> functions[] = {
      {"cuDriverGetVersion", reinterpret_cast<void*>(&driver_get_version)},
      {"cuTensorMapEncodeTiled", reinterpret_cast<void*>(&encode_tiled)},
      {"cuTensorMapEncodeIm2col", reinterpret_cast<void*>(&encode_im2col)},
  };
  for (const auto& [known, function] : functions)
    if (known == name) return function;
  return nullptr;
}

}  // namespace cutegen::sim
