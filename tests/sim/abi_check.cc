// Compiled by abi_test.cc, never linked.
#include <cuda_runtime_api.h>

#include "sim/abi.h"

#define SAME_SIZE(ours, theirs) static_assert(sizeof(cutegen::sim::ours) == sizeof(theirs), #theirs)
#define SAME_PLACE(ours, member, theirs, their_member) \
  static_assert(offsetof(cutegen::sim::ours, member) == offsetof(theirs, their_member), #their_member)
#define SAME_CODE(ours, theirs) static_assert(static_cast<int>(cutegen::sim::ours) == static_cast<int>(theirs), #theirs)

SAME_SIZE(dim3, ::dim3);
SAME_SIZE(LaunchAttribute, cudaLaunchAttribute);
SAME_PLACE(LaunchAttribute, value, cudaLaunchAttribute, val);
SAME_SIZE(LaunchConfigAbi, cudaLaunchConfig_t);
SAME_PLACE(LaunchConfigAbi, dynamic_smem_bytes, cudaLaunchConfig_t, dynamicSmemBytes);
SAME_PLACE(LaunchConfigAbi, attributes, cudaLaunchConfig_t, attrs);
SAME_PLACE(LaunchConfigAbi, attribute_count, cudaLaunchConfig_t, numAttrs);
SAME_SIZE(FuncAttributes, cudaFuncAttributes);
SAME_PLACE(FuncAttributes, registers, cudaFuncAttributes, numRegs);
SAME_PLACE(FuncAttributes, max_dynamic_shared_bytes, cudaFuncAttributes, maxDynamicSharedSizeBytes);
SAME_PLACE(FuncAttributes, non_portable_cluster, cudaFuncAttributes, nonPortableClusterSizeAllowed);
SAME_SIZE(PointerAttributes, cudaPointerAttributes);
SAME_PLACE(PointerAttributes, host_pointer, cudaPointerAttributes, hostPointer);
SAME_SIZE(PitchedPtr, cudaPitchedPtr);
SAME_SIZE(Memcpy3DParams, cudaMemcpy3DParms);
SAME_PLACE(Memcpy3DParams, dst, cudaMemcpy3DParms, dstPtr);
SAME_PLACE(Memcpy3DParams, extent, cudaMemcpy3DParms, extent);
SAME_PLACE(Memcpy3DParams, kind, cudaMemcpy3DParms, kind);
static_assert(sizeof(cudaDeviceProp) == 1008);
static_assert(offsetof(cudaDeviceProp, totalGlobalMem) == 288 && offsetof(cudaDeviceProp, multiProcessorCount) == 384);
static_assert(sizeof(cudaMemLocation) == sizeof(long));  // cudaMemPrefetchAsync and cudaMemAdvise get it by value

SAME_CODE(kInvalidValue, cudaErrorInvalidValue);
SAME_CODE(kMemoryAllocation, cudaErrorMemoryAllocation);
SAME_CODE(kInvalidPitchValue, cudaErrorInvalidPitchValue);
SAME_CODE(kInvalidSymbol, cudaErrorInvalidSymbol);
SAME_CODE(kInvalidMemcpyDirection, cudaErrorInvalidMemcpyDirection);
SAME_CODE(kMissingConfiguration, cudaErrorMissingConfiguration);
SAME_CODE(kInvalidDeviceFunction, cudaErrorInvalidDeviceFunction);
SAME_CODE(kInvalidDevice, cudaErrorInvalidDevice);
SAME_CODE(kInvalidKernelImage, cudaErrorInvalidKernelImage);
SAME_CODE(kNoKernelImageForDevice, cudaErrorNoKernelImageForDevice);
SAME_CODE(kUnsupportedLimit, cudaErrorUnsupportedLimit);
SAME_CODE(kPeerAccessUnsupported, cudaErrorPeerAccessUnsupported);
SAME_CODE(kInvalidPtx, cudaErrorInvalidPtx);
SAME_CODE(kInvalidResourceHandle, cudaErrorInvalidResourceHandle);
SAME_CODE(kSymbolNotFound, cudaErrorSymbolNotFound);
SAME_CODE(kIllegalAddress, cudaErrorIllegalAddress);
SAME_CODE(kLaunchTimeout, cudaErrorLaunchTimeout);
SAME_CODE(kAssert, cudaErrorAssert);
SAME_CODE(kHostMemoryAlreadyRegistered, cudaErrorHostMemoryAlreadyRegistered);
SAME_CODE(kHostMemoryNotRegistered, cudaErrorHostMemoryNotRegistered);
SAME_CODE(kIllegalInstruction, cudaErrorIllegalInstruction);
SAME_CODE(kMisalignedAddress, cudaErrorMisalignedAddress);
SAME_CODE(kLaunchFailure, cudaErrorLaunchFailure);
SAME_CODE(kCooperativeLaunchTooLarge, cudaErrorCooperativeLaunchTooLarge);
SAME_CODE(kNotSupported, cudaErrorNotSupported);
SAME_CODE(kInvalidClusterSize, cudaErrorInvalidClusterSize);
SAME_CODE(kUnknown, cudaErrorUnknown);
SAME_CODE(kDeviceToDevice, cudaMemcpyDeviceToDevice);
SAME_CODE(kDefault, cudaMemcpyDefault);
SAME_CODE(kAttrCooperative, cudaLaunchAttributeCooperative);
SAME_CODE(kAttrClusterDimension, cudaLaunchAttributeClusterDimension);
SAME_CODE(kAttrProgrammaticEvent, cudaLaunchAttributeProgrammaticEvent);
SAME_CODE(kAttrLaunchCompletionEvent, cudaLaunchAttributeLaunchCompletionEvent);
SAME_CODE(kAttrDeviceUpdatableNode, cudaLaunchAttributeDeviceUpdatableKernelNode);
SAME_CODE(kFuncMaxDynamicSmem, cudaFuncAttributeMaxDynamicSharedMemorySize);
SAME_CODE(kFuncCarveout, cudaFuncAttributePreferredSharedMemoryCarveout);
SAME_CODE(kFuncNonPortableCluster, cudaFuncAttributeNonPortableClusterSizeAllowed);
SAME_CODE(kFuncClusterPolicy, cudaFuncAttributeClusterSchedulingPolicyPreference);
