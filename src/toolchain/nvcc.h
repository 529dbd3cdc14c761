// The toolchain of this machine: nvcc for CUDA C++ to PTX, ptxas for PTX to a cubin, with a cache in front.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "toolchain/locate.h"
#include "toolchain/toolchain.h"

namespace cutegen {

struct ToolchainConfig {
  ToolchainPlaces places;
  std::string arch = "sm_90a";
  std::filesystem::path cache;  // empty: cache_dir()/build
  std::function<int()> slots;   // builds at once; empty: by the machine's cores and memory
};

// Thread-safe. Errc::missing_dependency when a compiler or CuTe's headers are not there.
Result<std::unique_ptr<Toolchain>> make_nvcc_toolchain(const ToolchainConfig& config = {});

}  // namespace cutegen
