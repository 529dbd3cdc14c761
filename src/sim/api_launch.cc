// CUDA Runtime API 6.7 (execution control) and 6.8 (occupancy).
#include <fmt/format.h>

#include <algorithm>

#include "sim/api.h"
#include "sim/runtime.h"

using namespace cutegen::sim;

namespace {

constexpr int kPtxVersion = 90, kBinaryVersion = 90;

// Attributes that change what executes; the rest are hints about placement and overlap, which mean nothing here.
Status apply(const LaunchAttribute& a, Launch& l) {
  switch (a.id) {
    case kAttrCooperative: l.cooperative = a.value.integer != 0; return {};
    case kAttrClusterDimension: l.cluster = {a.value.dim[0], a.value.dim[1], a.value.dim[2]}; return {};
    case kAttrProgrammaticEvent:
    case kAttrLaunchCompletionEvent:
    case kAttrDeviceUpdatableNode: return {kNotSupported, fmt::format("launch attribute {} is not supported", a.id)};
    default: return {};
  }
}

Status launch_of(const LaunchConfigAbi& config, const void* function, void** arguments, Launch& l) {
  l = {function, config.grid, config.block, {1, 1, 1}, config.dynamic_smem_bytes, false, arguments};
  for (unsigned i = 0; i < config.attribute_count; ++i)
    if (Status s = apply(config.attributes[i], l); !s.ok()) return s;
  return {};
}

Status set_attribute(Function& f, int attribute, int value) {
  switch (attribute) {
    case kFuncMaxDynamicSmem:
      if (value < 0 || static_cast<int>(f.info->static_smem_bytes) + value > kSmemPerCtaOptIn)
        return {kInvalidValue, fmt::format("kernel '{}': {} bytes of dynamic shared memory beside {} static ones; {} are there", f.name,
                                           value, f.info->static_smem_bytes, kSmemPerCtaOptIn)};
      f.max_dynamic_smem = value;
      return {};
    case kFuncNonPortableCluster: f.non_portable_cluster = value != 0; return {};
    case kFuncCarveout:
    case kFuncClusterPolicy: return {};  // hints
    default: return {kNotSupported, fmt::format("function attribute {} is not supported", attribute)};
  }
}

void describe(const Function& f, FuncAttributes& a) {
  const auto& info = *f.info;
  a = {};
  a.shared_bytes = info.static_smem_bytes;
  a.local_bytes = info.local_bytes;
  a.max_threads_per_block = info.max_threads.count() != 0 ? static_cast<int>(info.max_threads.count()) : 1024;
  a.registers = f.registers() != 0 ? f.registers() : static_cast<int>(std::min<uint32_t>(info.ptx_registers, 255));
  a.ptx_version = kPtxVersion, a.binary_version = kBinaryVersion;
  a.max_dynamic_shared_bytes = f.max_dynamic_smem > 0 ? f.max_dynamic_smem : kSmemPerCta - static_cast<int>(info.static_smem_bytes);
  a.preferred_carveout = -1;
  a.cluster_dim_must_be_set = info.cluster.count() != 0 ? 1 : 0;
  a.cluster_width = static_cast<int>(info.cluster.x), a.cluster_height = static_cast<int>(info.cluster.y);
  a.cluster_depth = static_cast<int>(info.cluster.z);
  a.non_portable_cluster = f.non_portable_cluster ? 1 : 0;
}

}  // namespace

SIM_API int cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t dynamic_smem_bytes, Stream) {
  return call("cudaLaunchKernel", [&](Runtime& r) {
    return r.launch({function, grid, block, {1, 1, 1}, dynamic_smem_bytes, false, arguments});
  });
}

SIM_API int cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t dynamic_smem_bytes, Stream) {
  return call("cudaLaunchCooperativeKernel", [&](Runtime& r) {
    return r.launch({function, grid, block, {1, 1, 1}, dynamic_smem_bytes, true, arguments});
  });
}

SIM_API int cudaLaunchKernelExC(const LaunchConfigAbi* config, const void* function, void** arguments) {
  return call("cudaLaunchKernelExC", [&](Runtime& r) {
    Launch l;
    Status s = launch_of(*config, function, arguments, l);
    return s.ok() ? r.launch(l) : s;
  });
}

SIM_API int cudaLaunchHostFunc(Stream, HostFunction function, void* data) {
  return call("cudaLaunchHostFunc", [&](Runtime&) {
    function(data);
    return Status();
  });
}

SIM_API int cudaGetKernel(void** kernel, const void* stub) {
  return call("cudaGetKernel", [&](Runtime& r) {
    const Function* f = r.handle_of(stub);
    if (f == nullptr) return Status(kInvalidDeviceFunction, "the pointer names no kernel");
    *kernel = const_cast<Function*>(f);
    return Status();
  });
}

SIM_API int cudaGetFuncBySymbol(void** function, const void* stub) { return cudaGetKernel(function, stub); }

SIM_API int cudaFuncGetName(const char** name, const void* function) {
  return call("cudaFuncGetName", [&](Runtime& r) {
    const Function* f = r.handle_of(function);
    if (f == nullptr) return Status(kInvalidDeviceFunction, "the pointer names no kernel");
    *name = f->name.c_str();
    return Status();
  });
}

SIM_API int cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset, size_t* bytes) {
  return call("cudaFuncGetParamInfo", [&](Runtime& r) {
    Function* f = nullptr;
    if (Status s = r.find_function(function, f); !s.ok()) return s;
    if (index >= f->info->parameters.size()) return Status(kInvalidValue);
    *offset = f->info->parameters[index].offset;
    if (bytes != nullptr) *bytes = f->info->parameters[index].bytes;
    return Status();
  });
}

SIM_API int cudaFuncGetAttributes(FuncAttributes* attributes, const void* function) {
  return call("cudaFuncGetAttributes", [&](Runtime& r) {
    Function* f = nullptr;
    Status s = r.find_function(function, f);
    if (s.ok()) describe(*f, *attributes);
    return s;
  });
}

SIM_API int cudaFuncSetAttribute(const void* function, int attribute, int value) {
  return call("cudaFuncSetAttribute", [&](Runtime& r) {
    Function* f = nullptr;
    Status s = r.find_function(function, f);
    return s.ok() ? set_attribute(*f, attribute, value) : s;
  });
}

SIM_API int cudaFuncSetCacheConfig(const void*, int) {
  return call("cudaFuncSetCacheConfig", [](Runtime&) { return Status(); });
}

SIM_API int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* ctas, const void* function, int block_threads, size_t dynamic_smem,
                                                                   unsigned) {
  return call("cudaOccupancyMaxActiveBlocksPerMultiprocessor", [&](Runtime& r) {
    Function* f = nullptr;
    Status s = r.find_function(function, f);
    return s.ok() ? r.occupancy(*f, block_threads, dynamic_smem, *ctas) : s;
  });
}

SIM_API int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* ctas, const void* function, int block_threads, size_t dynamic_smem) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(ctas, function, block_threads, dynamic_smem, 0);
}

SIM_API int cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* function, int ctas, int) {
  return call("cudaOccupancyAvailableDynamicSMemPerBlock", [&](Runtime& r) {
    Function* f = nullptr;
    if (Status s = r.find_function(function, f); !s.ok()) return s;
    if (ctas <= 0) return Status(kInvalidValue);
    const int share = std::min(kSmemPerSm / ctas - kSmemReserved, kSmemPerCtaOptIn) - static_cast<int>(f->info->static_smem_bytes);
    *bytes = static_cast<size_t>(std::max(share, 0));
    return Status();
  });
}

SIM_API int cudaOccupancyMaxActiveClusters(int* clusters, const void* function, const LaunchConfigAbi* config) {
  return call("cudaOccupancyMaxActiveClusters", [&](Runtime& r) {
    Function* f = nullptr;
    Launch l;
    if (Status s = r.find_function(function, f); !s.ok()) return s;
    if (Status s = launch_of(*config, function, nullptr, l); !s.ok()) return s;
    int ctas = 0;
    const auto threads = static_cast<int>(l.block.x * l.block.y * l.block.z),
               size = static_cast<int>(l.cluster.x * l.cluster.y * l.cluster.z);
    if (Status s = r.occupancy(*f, threads, l.dynamic_smem_bytes, ctas); !s.ok()) return s;
    if (size <= 0 || size > kMaxCluster) return Status(kInvalidClusterSize, fmt::format("a cluster of {} CTAs", size));
    *clusters = ctas * kSmCount / size;  // as if the SMs were not divided into GPCs
    return Status();
  });
}

SIM_API int cudaOccupancyMaxPotentialClusterSize(int* size, const void* function, const LaunchConfigAbi*) {
  return call("cudaOccupancyMaxPotentialClusterSize", [&](Runtime& r) {
    Function* f = nullptr;
    Status s = r.find_function(function, f);
    if (s.ok()) *size = f->non_portable_cluster ? kMaxCluster : kPortableCluster;
    return s;
  });
}

SIM_SAME(__cudaLaunchKernel_ptsz, cudaLaunchKernel);
SIM_SAME(cudaLaunchKernel_ptsz, cudaLaunchKernel);
SIM_SAME(cudaLaunchCooperativeKernel_ptsz, cudaLaunchCooperativeKernel);
SIM_SAME(cudaLaunchKernelExC_ptsz, cudaLaunchKernelExC);
SIM_SAME(cudaLaunchHostFunc_ptsz, cudaLaunchHostFunc);
