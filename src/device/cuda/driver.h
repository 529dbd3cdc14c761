// libcuda.so.1, opened at run time: one binary runs on machines with and without a GPU.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "device/cuda/api.h"

namespace cutegen::cuda {

// The driver's entry points as members of their own names. Shared by value; the library stays loaded for the life of the process.
struct Driver {
#define CUTEGEN_CUDA_MEMBER(name, symbol, required, parameters) CUresult(*name) parameters = nullptr;
  CUTEGEN_CUDA_ENTRY_POINTS(CUTEGEN_CUDA_MEMBER)
#undef CUTEGEN_CUDA_MEMBER

  // Opens and initialises the driver. Errc::missing_dependency, with what to do, when there is no driver, an old one, or no GPU.
  static Result<std::shared_ptr<const Driver>> load(const std::string& library = "libcuda.so.1");

  // "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"
  std::string text(CUresult code) const;
  // An Errc::device error "WHAT: TEXT", or success.
  Result<void> check(CUresult code, std::string_view what) const;
};

std::string to_hex(const CUipcMemHandle& handle);
Result<CUipcMemHandle> ipc_handle_from_hex(std::string_view hex);

}  // namespace cutegen::cuda
