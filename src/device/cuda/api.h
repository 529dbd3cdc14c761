// The part of the CUDA driver's binary interface that cutegen calls, stated by fact, so that no CUDA header is needed to build.
// Names and values are those of the CUDA Driver API reference (13.0); handles are opaque pointers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cutegen::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphExec = struct CUgraphExec_st*;

struct CUuuid {
  unsigned char bytes[16];
};

struct CUipcMemHandle {
  unsigned char reserved[64];
};

struct alignas(64) CUtensorMap {
  uint64_t opaque[16];
};

struct CUlaunchAttribute {
  int id;
  char pad[4];
  union {
    char pad[64];
    int cooperative;
    struct {
      unsigned x, y, z;
    } cluster_dim;
    int programmatic_stream_serialization;
  } value;
};
static_assert(sizeof(CUlaunchAttribute) == 72);

struct CUlaunchConfig {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  CUstream stream;
  CUlaunchAttribute* attributes;
  unsigned attribute_count;
};
static_assert(offsetof(CUlaunchConfig, stream) == 32 && sizeof(CUlaunchConfig) == 56);

// CUresult
inline constexpr CUresult kSuccess = 0;
inline constexpr CUresult kInvalidValue = 1;
inline constexpr CUresult kOutOfMemory = 2;
inline constexpr CUresult kNotInitialized = 3;
inline constexpr CUresult kInvalidDevice = 101;
inline constexpr CUresult kNoDevice = 100;
inline constexpr CUresult kInvalidImage = 200;
inline constexpr CUresult kInvalidHandle = 400;
inline constexpr CUresult kNotFound = 500;
inline constexpr CUresult kIllegalAddress = 700;
inline constexpr CUresult kLaunchOutOfResources = 701;
inline constexpr CUresult kLaunchTimeout = 702;
inline constexpr CUresult kAssert = 710;
inline constexpr CUresult kHardwareStackError = 714;
inline constexpr CUresult kIllegalInstruction = 715;
inline constexpr CUresult kMisalignedAddress = 716;
inline constexpr CUresult kInvalidAddressSpace = 717;
inline constexpr CUresult kInvalidPc = 718;
inline constexpr CUresult kLaunchFailed = 719;
inline constexpr CUresult kTensorMemoryLeak = 721;
inline constexpr CUresult kCooperativeLaunchTooLarge = 720;
inline constexpr CUresult kNotSupported = 801;

// CUdevice_attribute
inline constexpr int kAttributeSmCount = 16;
inline constexpr int kAttributeL2Bytes = 38;
inline constexpr int kAttributeMajor = 75;
inline constexpr int kAttributeMinor = 76;

// CUfunction_attribute
inline constexpr int kFunctionMaxDynamicSmem = 8;
inline constexpr int kFunctionNonPortableCluster = 14;

// CUlaunchAttributeID
inline constexpr int kLaunchCooperative = 2;
inline constexpr int kLaunchClusterDimension = 4;
inline constexpr int kLaunchProgrammaticSerialization = 6;

inline constexpr int kLimitPersistingL2Bytes = 6;  // CUlimit
inline constexpr unsigned kStreamNonBlocking = 1;  // CUstream_flags
inline constexpr int kCaptureThreadLocal = 1;      // CUstreamCaptureMode
inline constexpr unsigned kIpcLazyPeerAccess = 1;  // CUipcMem_flags

// CUtensorMapDataType
inline constexpr int kTensorMapU8 = 0, kTensorMapU16 = 1, kTensorMapI32 = 3, kTensorMapI64 = 5;
inline constexpr int kTensorMapF16 = 6, kTensorMapF32 = 7, kTensorMapF64 = 8, kTensorMapBf16 = 9;

// Every entry point: X(name, exported symbol, required, parameters). All return a CUresult. The symbol carries the version whose
// binary interface is stated here. Those not required are null on an older driver.
#define CUTEGEN_CUDA_ENTRY_POINTS(X)                                                                                                  \
  X(cuInit, "cuInit", true, (unsigned flags))                                                                                         \
  X(cuDriverGetVersion, "cuDriverGetVersion", true, (int* version))                                                                   \
  X(cuGetErrorName, "cuGetErrorName", true, (CUresult error, const char** text))                                                      \
  X(cuGetErrorString, "cuGetErrorString", true, (CUresult error, const char** text))                                                  \
  X(cuDeviceGetCount, "cuDeviceGetCount", true, (int* count))                                                                         \
  X(cuDeviceGet, "cuDeviceGet", true, (CUdevice * device, int ordinal))                                                               \
  X(cuDeviceGetName, "cuDeviceGetName", true, (char* name, int bytes, CUdevice device))                                               \
  X(cuDeviceGetUuid, "cuDeviceGetUuid_v2", false, (CUuuid * uuid, CUdevice device))                                                   \
  X(cuDeviceGetAttribute, "cuDeviceGetAttribute", true, (int* value, int attribute, CUdevice device))                                 \
  X(cuDeviceTotalMem, "cuDeviceTotalMem_v2", true, (size_t * bytes, CUdevice device))                                                 \
  X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", true, (CUcontext * context, CUdevice device))                               \
  X(cuCtxSetCurrent, "cuCtxSetCurrent", true, (CUcontext context))                                                                    \
  X(cuCtxSynchronize, "cuCtxSynchronize", true, ())                                                                                   \
  X(cuCtxSetLimit, "cuCtxSetLimit", true, (int limit, size_t value))                                                                  \
  X(cuCtxResetPersistingL2Cache, "cuCtxResetPersistingL2Cache", false, ())                                                            \
  X(cuModuleLoadData, "cuModuleLoadData", true, (CUmodule * module, const void* image))                                               \
  X(cuModuleUnload, "cuModuleUnload", true, (CUmodule module))                                                                        \
  X(cuModuleGetFunction, "cuModuleGetFunction", true, (CUfunction * function, CUmodule module, const char* name))                     \
  X(cuFuncSetAttribute, "cuFuncSetAttribute", true, (CUfunction function, int attribute, int value))                                  \
  X(cuFuncGetParamInfo, "cuFuncGetParamInfo", false, (CUfunction function, size_t index, size_t * offset, size_t * bytes))            \
  X(cuLaunchKernelEx, "cuLaunchKernelEx", true, (const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra)) \
  X(cuMemAlloc, "cuMemAlloc_v2", true, (CUdeviceptr * address, size_t bytes))                                                         \
  X(cuMemFree, "cuMemFree_v2", true, (CUdeviceptr address))                                                                           \
  X(cuMemGetInfo, "cuMemGetInfo_v2", true, (size_t * free, size_t * total))                                                           \
  X(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", true, (CUdeviceptr to, const void* from, size_t bytes, CUstream stream))               \
  X(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", true, (void* to, CUdeviceptr from, size_t bytes, CUstream stream))                     \
  X(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", true, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))               \
  X(cuMemsetD8Async, "cuMemsetD8Async", true, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream))                   \
  X(cuMemsetD32Async, "cuMemsetD32Async", true, (CUdeviceptr to, unsigned value, size_t count, CUstream stream))                      \
  X(cuIpcGetMemHandle, "cuIpcGetMemHandle", true, (CUipcMemHandle * handle, CUdeviceptr address))                                     \
  X(cuIpcOpenMemHandle, "cuIpcOpenMemHandle_v2", true, (CUdeviceptr * address, CUipcMemHandle handle, unsigned flags))                \
  X(cuIpcCloseMemHandle, "cuIpcCloseMemHandle", true, (CUdeviceptr address))                                                          \
  X(cuStreamCreate, "cuStreamCreate", true, (CUstream * stream, unsigned flags))                                                      \
  X(cuStreamSynchronize, "cuStreamSynchronize", true, (CUstream stream))                                                              \
  X(cuStreamBeginCapture, "cuStreamBeginCapture_v2", true, (CUstream stream, int mode))                                               \
  X(cuStreamEndCapture, "cuStreamEndCapture", true, (CUstream stream, CUgraph * graph))                                               \
  X(cuGraphInstantiate, "cuGraphInstantiateWithFlags", true, (CUgraphExec * exec, CUgraph graph, unsigned long long flags))           \
  X(cuGraphLaunch, "cuGraphLaunch", true, (CUgraphExec exec, CUstream stream))                                                        \
  X(cuGraphDestroy, "cuGraphDestroy", true, (CUgraph graph))                                                                          \
  X(cuGraphExecDestroy, "cuGraphExecDestroy", true, (CUgraphExec exec))                                                               \
  X(cuEventCreate, "cuEventCreate", true, (CUevent * event, unsigned flags))                                                          \
  X(cuEventRecord, "cuEventRecord", true, (CUevent event, CUstream stream))                                                           \
  X(cuEventElapsedTime, "cuEventElapsedTime", true, (float* ms, CUevent start, CUevent end))                                          \
  X(cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled", false,                                                                          \
    (CUtensorMap * map, int dtype, uint32_t rank, void* address, const uint64_t* shape, const uint64_t* strides, const uint32_t* box, \
     const uint32_t* element_strides, int interleave, int swizzle, int l2_promotion, int oob_fill))

}  // namespace cutegen::cuda
