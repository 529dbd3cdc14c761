// What a program built by nvcc 13 and the CUDA runtime say to each other: types of the interface, laid out as its headers do (they are not
// needed to build cutegen). tests/sim/abi_test.cc compares them with the real headers where nvcc is there.
#pragma once

#include <cstddef>
#include <cstdint>

#define SIM_API extern "C" __attribute__((visibility("default")))

// The name that programs built with -default-stream per-thread use for `function`: streams execute at once, so it is the same.
#define SIM_SAME(name, function) extern "C" __attribute__((visibility("default"), alias(#function))) decltype(function) name

namespace cutegen::sim {

// cudaError_t. Names as in the CUDA runtime, without "cudaError".
enum Code : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kMemoryAllocation = 2,
  kInvalidPitchValue = 12,
  kInvalidSymbol = 13,
  kInvalidDevicePointer = 17,
  kInvalidMemcpyDirection = 21,
  kMissingConfiguration = 52,
  kInvalidDeviceFunction = 98,
  kInvalidDevice = 101,
  kInvalidKernelImage = 200,
  kNoKernelImageForDevice = 209,
  kUnsupportedLimit = 215,
  kPeerAccessUnsupported = 217,
  kInvalidPtx = 218,
  kInvalidResourceHandle = 400,
  kSymbolNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kAssert = 710,
  kHostMemoryAlreadyRegistered = 712,
  kHostMemoryNotRegistered = 713,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kLaunchFailure = 719,
  kCooperativeLaunchTooLarge = 720,
  kNotSupported = 801,
  kInvalidClusterSize = 912,
  kUnknown = 999,
};

enum CopyKind : int { kHostToHost = 0, kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 3, kDefault = 4 };

struct dim3 {
  uint32_t x, y, z;
};

using Stream = void*;  // cudaStream_t: nullptr the default stream, 1 legacy, 2 per thread, else made by cudaStreamCreate
using Event = void*;
using HostFunction = void (*)(void*);
using StreamCallback = void (*)(Stream, int, void*);

struct LaunchAttribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    int integer;
    uint32_t dim[3];
  } value;
};
enum LaunchAttributeId : int {
  kAttrIgnore = 0,
  kAttrCooperative = 2,
  kAttrClusterDimension = 4,
  kAttrProgrammaticEvent = 7,
  kAttrPreferredClusterDimension = 11,
  kAttrLaunchCompletionEvent = 12,
  kAttrDeviceUpdatableNode = 13,
};

struct LaunchConfigAbi {
  dim3 grid, block;
  size_t dynamic_smem_bytes;
  Stream stream;
  const LaunchAttribute* attributes;
  unsigned attribute_count;
};

struct FuncAttributes {
  size_t shared_bytes, const_bytes, local_bytes;
  int max_threads_per_block, registers, ptx_version, binary_version, cache_mode_ca, max_dynamic_shared_bytes, preferred_carveout;
  int cluster_dim_must_be_set, cluster_width, cluster_height, cluster_depth, cluster_policy, non_portable_cluster;
  int reserved[16];
};
enum FuncAttribute : int {
  kFuncMaxDynamicSmem = 8,
  kFuncCarveout = 9,
  kFuncClusterMustBeSet = 10,
  kFuncClusterWidth = 11,
  kFuncClusterDepth = 13,
  kFuncNonPortableCluster = 14,
  kFuncClusterPolicy = 15,
};

struct PointerAttributes {
  int type;  // 0 unregistered, 1 host, 2 device, 3 managed
  int device;
  void *device_pointer, *host_pointer;
  long reserved[8];
};

struct PitchedPtr {
  void* ptr;
  size_t pitch, xsize, ysize;
};
struct Extent {
  size_t width, height, depth;
};
struct Pos {
  size_t x, y, z;
};
struct Memcpy3DParams {
  void* src_array;
  Pos src_pos;
  PitchedPtr src;
  void* dst_array;
  Pos dst_pos;
  PitchedPtr dst;
  Extent extent;
  int kind;
};

}  // namespace cutegen::sim
