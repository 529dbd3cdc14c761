// The interface as a program sees it, and a program's start-up code: a fat binary of PTX text, its kernels and variables.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "sim/abi.h"
#include "sim/runtime.h"

SIM_API void** __cudaRegisterFatBinary(void* wrapper);
SIM_API void __cudaUnregisterFatBinary(void** handle);
SIM_API void __cudaRegisterFunction(void** handle, const char* stub, char*, const char* name, int, void*, void*, void*, void*, int*);
SIM_API void __cudaRegisterVar(void** handle, char* host_variable, char*, const char* name, int, size_t bytes, int, int);
SIM_API void __cudaRegisterManagedVar(void** handle, void** host_pointer, char*, const char* name, int, size_t bytes, int, int);
SIM_API char __cudaInitModule(void** handle);
SIM_API unsigned __cudaPushCallConfiguration(cutegen::sim::dim3, cutegen::sim::dim3, size_t, cutegen::sim::Stream);
SIM_API int __cudaPopCallConfiguration(cutegen::sim::dim3*, cutegen::sim::dim3*, size_t*, void*);
SIM_API int __cudaGetKernel(void** kernel, const void* stub);
SIM_API int __cudaLaunchKernel(void* kernel, cutegen::sim::dim3, cutegen::sim::dim3, void** arguments, size_t, cutegen::sim::Stream);
SIM_API int cudaLaunchKernel(const void*, cutegen::sim::dim3, cutegen::sim::dim3, void**, size_t, cutegen::sim::Stream);
SIM_API int cudaLaunchCooperativeKernel(const void*, cutegen::sim::dim3, cutegen::sim::dim3, void**, size_t, cutegen::sim::Stream);
SIM_API int cudaLaunchKernelExC(const cutegen::sim::LaunchConfigAbi*, const void*, void**);
SIM_API int cudaLaunchHostFunc(cutegen::sim::Stream, cutegen::sim::HostFunction, void*);
SIM_API int cudaFuncSetAttribute(const void*, int, int);
SIM_API int cudaFuncGetAttributes(cutegen::sim::FuncAttributes*, const void*);
SIM_API int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int*, const void*, int, size_t);
SIM_API int cudaMalloc(void**, size_t);
SIM_API int cudaMallocManaged(void**, size_t, unsigned);
SIM_API int cudaMallocHost(void**, size_t);
SIM_API int cudaFree(void*);
SIM_API int cudaFreeHost(void*);
SIM_API int cudaHostRegister(void*, size_t, unsigned);
SIM_API int cudaHostUnregister(void*);
SIM_API int cudaHostGetDevicePointer(void**, void*, unsigned);
SIM_API int cudaMemcpy(void*, const void*, size_t, int);
SIM_API int cudaMemcpyAsync_ptsz(void*, const void*, size_t, int, cutegen::sim::Stream);
SIM_API int cudaMemcpy2D(void*, size_t, const void*, size_t, size_t, size_t, int);
SIM_API int cudaMemcpy3D(const cutegen::sim::Memcpy3DParams*);
SIM_API int cudaMemset(void*, int, size_t);
SIM_API int cudaMemset2D(void*, size_t, int, size_t, size_t);
SIM_API int cudaMemcpyToSymbol(const void*, const void*, size_t, size_t, int);
SIM_API int cudaMemcpyFromSymbol(void*, const void*, size_t, size_t, int);
SIM_API int cudaGetSymbolAddress(void**, const void*);
SIM_API int cudaGetSymbolSize(size_t*, const void*);
SIM_API int cudaMemGetInfo(size_t*, size_t*);
SIM_API int cudaPointerGetAttributes(cutegen::sim::PointerAttributes*, const void*);
SIM_API int cudaDeviceEnablePeerAccess(int, unsigned);
SIM_API int cudaDeviceCanAccessPeer(int*, int, int);
SIM_API int cudaDeviceSynchronize();
SIM_API int cudaDeviceReset();
SIM_API int cudaSetDevice(int);
SIM_API int cudaGetDeviceCount(int*);
SIM_API int cudaDeviceGetAttribute(int*, int, int);
SIM_API int cudaGetDeviceProperties(void*, int);
SIM_API int cudaGetLastError();
SIM_API int cudaPeekAtLastError();
SIM_API const char* cudaGetErrorString(int);
SIM_API const char* cudaGetErrorName(int);
SIM_API int cudaStreamCreate(cutegen::sim::Stream*);
SIM_API int cudaStreamDestroy(cutegen::sim::Stream);
SIM_API int cudaStreamSynchronize(cutegen::sim::Stream);
SIM_API int cudaEventCreate(cutegen::sim::Event*);
SIM_API int cudaEventRecord(cutegen::sim::Event, cutegen::sim::Stream);
SIM_API int cudaEventElapsedTime(float*, cutegen::sim::Event, cutegen::sim::Event);
SIM_API int cudaEventDestroy(cutegen::sim::Event);
SIM_API int cudaGetDriverEntryPointByVersion(const char*, void**, unsigned, unsigned long long, int*);
SIM_API int cudaGraphCreate();  // one of those that are not supported

namespace cutegen::sim {

// A program of one source file, registered as nvcc's start-up code would; gone with the object.
class Program {
 public:
  explicit Program(const std::string& body) {
    std::string ptx = ".version 8.4\n.target sm_90a\n.address_size 64\n" + body;
    ptx.resize((ptx.size() / 8 + 1) * 8);
    bytes_.resize(kHeader + kEntry);
    put<uint32_t>(0, 0xBA55ED50), put<uint16_t>(4, 1), put<uint16_t>(6, kHeader), put<uint64_t>(8, kEntry + ptx.size());
    put<uint16_t>(kHeader, 1), put<uint32_t>(kHeader + 4, kEntry), put<uint64_t>(kHeader + 8, ptx.size()), put<uint32_t>(kHeader + 28, 90);
    bytes_.insert(bytes_.end(), ptx.begin(), ptx.end());
    wrapper_.data = bytes_.data();
    handle_ = __cudaRegisterFatBinary(&wrapper_);
  }
  ~Program() { __cudaUnregisterFatBinary(handle_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const void* kernel(const char* name) {
    stubs_.push_back(std::make_unique<char>());
    __cudaRegisterFunction(handle_, stubs_.back().get(), nullptr, name, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    return stubs_.back().get();
  }
  const void* variable(const char* name, size_t bytes) {
    stubs_.push_back(std::make_unique<char>());
    __cudaRegisterVar(handle_, stubs_.back().get(), nullptr, name, 0, bytes, 0, 0);
    return stubs_.back().get();
  }
  void managed(void** pointer, const char* name, size_t bytes) {
    __cudaRegisterManagedVar(handle_, pointer, nullptr, name, 0, bytes, 0, 0);
  }
  void** handle() const { return handle_; }

 private:
  static constexpr size_t kHeader = 16, kEntry = 80;
  template <class T>
  void put(size_t offset, T value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof value);
  }
  std::vector<uint8_t> bytes_;
  struct {
    uint32_t magic = 0x466243b1, version = 1;
    const void* data = nullptr;
    void* extra = nullptr;
  } wrapper_;
  void** handle_ = nullptr;
  std::vector<std::unique_ptr<char>> stubs_;
};

}  // namespace cutegen::sim
