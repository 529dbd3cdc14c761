#include "sim/device_info.h"

#include <cstddef>
#include <cstring>

namespace cutegen::sim {
namespace {

// cudaDeviceProp of CUDA 13.
struct Properties {
  char name[256];
  char uuid[16];
  char luid[8];
  unsigned luid_device_node_mask;
  size_t total_global_mem;
  size_t shared_mem_per_block;
  int regs_per_block;
  int warp_size;
  size_t mem_pitch;
  int max_threads_per_block;
  int max_threads_dim[3];
  int max_grid_size[3];
  size_t total_const_mem;
  int major;
  int minor;
  size_t texture_alignment;
  size_t texture_pitch_alignment;
  int multi_processor_count;
  int integrated;
  int can_map_host_memory;
  int max_texture_1d;
  int max_texture_1d_mipmap;
  int max_texture_2d[2];
  int max_texture_2d_mipmap[2];
  int max_texture_2d_linear[3];
  int max_texture_2d_gather[2];
  int max_texture_3d[3];
  int max_texture_3d_alt[3];
  int max_texture_cubemap;
  int max_texture_1d_layered[2];
  int max_texture_2d_layered[3];
  int max_texture_cubemap_layered[2];
  int max_surface_1d;
  int max_surface_2d[2];
  int max_surface_3d[3];
  int max_surface_1d_layered[2];
  int max_surface_2d_layered[3];
  int max_surface_cubemap;
  int max_surface_cubemap_layered[2];
  size_t surface_alignment;
  int concurrent_kernels;
  int ecc_enabled;
  int pci_bus_id;
  int pci_device_id;
  int pci_domain_id;
  int tcc_driver;
  int async_engine_count;
  int unified_addressing;
  int memory_bus_width;
  int l2_cache_size;
  int persisting_l2_cache_max_size;
  int max_threads_per_multi_processor;
  int stream_priorities_supported;
  int global_l1_cache_supported;
  int local_l1_cache_supported;
  size_t shared_mem_per_multiprocessor;
  int regs_per_multiprocessor;
  int managed_memory;
  int is_multi_gpu_board;
  int multi_gpu_board_group_id;
  int host_native_atomic_supported;
  int pageable_memory_access;
  int concurrent_managed_access;
  int compute_preemption_supported;
  int can_use_host_pointer_for_registered_mem;
  int cooperative_launch;
  size_t shared_mem_per_block_optin;
  int pageable_memory_access_uses_host_page_tables;
  int direct_managed_mem_access_from_host;
  int max_blocks_per_multi_processor;
  int access_policy_max_window_size;
  size_t reserved_shared_mem_per_block;
  int host_register_supported;
  int sparse_cuda_array_supported;
  int host_register_read_only_supported;
  int timeline_semaphore_interop_supported;
  int memory_pools_supported;
  int gpu_direct_rdma_supported;
  unsigned gpu_direct_rdma_flush_writes_options;
  int gpu_direct_rdma_writes_ordering;
  unsigned memory_pool_supported_handle_types;
  int deferred_mapping_cuda_array_supported;
  int ipc_event_supported;
  int cluster_launch;
  int unified_function_pointers;
  int device_numa_config;
  int device_numa_id;
  int mps_enabled;
  int host_numa_id;
  unsigned gpu_pci_device_id;
  unsigned gpu_pci_subsystem_id;
  int host_numa_multinode_ipc_supported;
  int reserved[56];
};
static_assert(sizeof(Properties) == 1008);

// Numbers of cudaDeviceAttr.
enum Attribute : int {
  kMaxThreadsPerBlock = 1,
  kMaxBlockDimX = 2,
  kMaxBlockDimY = 3,
  kMaxBlockDimZ = 4,
  kMaxGridDimX = 5,
  kMaxGridDimY = 6,
  kMaxGridDimZ = 7,
  kSharedPerBlock = 8,
  kConstantBytes = 9,
  kWarpSize = 10,
  kMaxPitch = 11,
  kRegistersPerBlock = 12,
  kClockKhz = 13,
  kTextureAlignment = 14,
  kGpuOverlap = 15,
  kMultiprocessors = 16,
  kCanMapHost = 19,
  kSurfaceAlignment = 30,
  kConcurrentKernels = 31,
  kEccEnabled = 32,
  kMemoryClockKhz = 36,
  kMemoryBusBits = 37,
  kL2Bytes = 38,
  kThreadsPerMultiprocessor = 39,
  kAsyncEngines = 40,
  kUnifiedAddressing = 41,
  kTexturePitchAlignment = 51,
  kMajor = 75,
  kMinor = 76,
  kStreamPriorities = 78,
  kGlobalL1 = 79,
  kLocalL1 = 80,
  kSharedPerMultiprocessor = 81,
  kRegistersPerMultiprocessor = 82,
  kManagedMemory = 83,
  kSingleToDoubleRatio = 87,
  kConcurrentManaged = 89,
  kComputePreemption = 90,
  kHostPointerForRegistered = 91,
  kCooperativeLaunch = 95,
  kSharedPerBlockOptIn = 97,
  kHostRegister = 99,
  kCtasPerMultiprocessor = 106,
  kPersistingL2Bytes = 108,
  kAccessPolicyWindow = 109,
  kReservedShared = 111,
  kMemoryPools = 115,
  kClusterLaunch = 120,
  kDeviceNumaId = 131,
  kLastAttribute = 147,
};

struct Value {
  int attribute, value;
};
// As an H200 reported them (tests/sim/data/h200_device.json). Attributes that are not here are 0: what the virtual device has not
// (textures, IPC, peers, graphs' memory), and what an H200 has not.
constexpr Value kValues[] = {
    {kMaxThreadsPerBlock, 1024},
    {kMaxBlockDimX, 1024},
    {kMaxBlockDimY, 1024},
    {kMaxBlockDimZ, 64},
    {kMaxGridDimX, 2147483647},
    {kMaxGridDimY, 65535},
    {kMaxGridDimZ, 65535},
    {kSharedPerBlock, kSmemPerCta},
    {kConstantBytes, 65536},
    {kWarpSize, kWarp},
    {kMaxPitch, 2147483647},
    {kRegistersPerBlock, kRegistersPerSm},
    {kClockKhz, 1980000},
    {kTextureAlignment, 512},
    {kGpuOverlap, 1},
    {kMultiprocessors, kSmCount},
    {kCanMapHost, 1},
    {kSurfaceAlignment, 512},
    {kConcurrentKernels, 1},
    {kEccEnabled, 1},
    {kMemoryClockKhz, 3201000},
    {kMemoryBusBits, 6016},
    {kL2Bytes, 62914560},
    {kThreadsPerMultiprocessor, kThreadsPerSm},
    {kAsyncEngines, 3},
    {kUnifiedAddressing, 1},
    {kTexturePitchAlignment, 32},
    {kMajor, 9},
    {kMinor, 0},
    {kStreamPriorities, 1},
    {kGlobalL1, 1},
    {kLocalL1, 1},
    {kSharedPerMultiprocessor, kSmemPerSm},
    {kRegistersPerMultiprocessor, kRegistersPerSm},
    {kManagedMemory, 1},
    {kSingleToDoubleRatio, 2},
    {kConcurrentManaged, 1},
    {kComputePreemption, 1},
    {kHostPointerForRegistered, 1},
    {kCooperativeLaunch, 1},
    {kSharedPerBlockOptIn, kSmemPerCtaOptIn},
    {kHostRegister, 1},
    {kCtasPerMultiprocessor, kCtasPerSm},
    {kPersistingL2Bytes, 39321600},
    {kAccessPolicyWindow, 134217728},
    {kReservedShared, kSmemReserved},
    {kMemoryPools, 1},
    {kClusterLaunch, 1},
    {kDeviceNumaId, -1},
};

int value_of(int attribute) {
  for (const Value& v : kValues)
    if (v.attribute == attribute) return v.value;
  return 0;
}

}  // namespace

bool device_attribute(int attribute, int& value) {
  if (attribute < 1 || attribute > kLastAttribute) return false;
  value = value_of(attribute);
  return true;
}

void fill_device_properties(void* properties) {
  Properties p{};
  std::strncpy(p.name, "NVIDIA H200 (cutegen sim)", sizeof p.name - 1);
  p.total_global_mem = kDeviceBytes;
  p.shared_mem_per_block = kSmemPerCta;
  p.regs_per_block = kRegistersPerSm;
  p.warp_size = kWarp;
  p.mem_pitch = static_cast<size_t>(value_of(kMaxPitch));
  p.max_threads_per_block = value_of(kMaxThreadsPerBlock);
  for (int i = 0; i < 3; ++i) p.max_threads_dim[i] = value_of(kMaxBlockDimX + i), p.max_grid_size[i] = value_of(kMaxGridDimX + i);
  p.total_const_mem = static_cast<size_t>(value_of(kConstantBytes));
  p.major = value_of(kMajor), p.minor = value_of(kMinor);
  p.texture_alignment = static_cast<size_t>(value_of(kTextureAlignment));
  p.texture_pitch_alignment = static_cast<size_t>(value_of(kTexturePitchAlignment));
  p.multi_processor_count = kSmCount;
  p.can_map_host_memory = 1;
  p.surface_alignment = static_cast<size_t>(value_of(kSurfaceAlignment));
  p.concurrent_kernels = 1;
  p.ecc_enabled = value_of(kEccEnabled);
  p.async_engine_count = value_of(kAsyncEngines);
  p.unified_addressing = 1;
  p.memory_bus_width = value_of(kMemoryBusBits);
  p.l2_cache_size = value_of(kL2Bytes);
  p.persisting_l2_cache_max_size = value_of(kPersistingL2Bytes);
  p.max_threads_per_multi_processor = kThreadsPerSm;
  p.stream_priorities_supported = 1;
  p.global_l1_cache_supported = p.local_l1_cache_supported = 1;
  p.shared_mem_per_multiprocessor = kSmemPerSm;
  p.regs_per_multiprocessor = kRegistersPerSm;
  p.managed_memory = 1;
  p.concurrent_managed_access = 1;
  p.compute_preemption_supported = 1;
  p.can_use_host_pointer_for_registered_mem = 1;
  p.cooperative_launch = 1;
  p.shared_mem_per_block_optin = kSmemPerCtaOptIn;
  p.max_blocks_per_multi_processor = kCtasPerSm;
  p.access_policy_max_window_size = value_of(kAccessPolicyWindow);
  p.reserved_shared_mem_per_block = kSmemReserved;
  p.host_register_supported = 1;
  p.memory_pools_supported = 1;
  p.cluster_launch = 1;
  p.device_numa_id = value_of(kDeviceNumaId);
  std::memcpy(properties, &p, sizeof p);
}

}  // namespace cutegen::sim
