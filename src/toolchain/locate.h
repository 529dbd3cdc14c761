// Where the compilers and headers are on this machine.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace cutegen {

// Places that the user names; an empty one is searched for.
struct ToolchainPlaces {
  std::filesystem::path nvcc;           // else $CUTEGEN_NVCC, DATA/.toolchain/cuda/bin/nvcc, PATH, /usr/local/cuda/bin/nvcc
  std::filesystem::path cutlass;        // an include folder or a CUTLASS checkout; else $CUTEGEN_CUTLASS, DATA/.toolchain/cutlass/include
  std::filesystem::path host_compiler;  // nvcc preprocesses with it; else $CUTEGEN_HOST_CXX, g++, clang++ and their numbered names on PATH
  std::filesystem::path data;           // holds kernels/include; else data_dir()
};

struct Tools {
  std::filesystem::path nvcc;
  std::filesystem::path ptxas;  // of the same toolkit
  std::filesystem::path host_compiler;
  std::filesystem::path cutlass;  // the folder that holds cute/tensor.hpp
  std::filesystem::path kernels;  // kernels/include
  std::string nvcc_version;       // "13.0.88"
  std::string cutlass_version;    // "4.2.0"
};

// Errors (missing_dependency) say what is missing, where it was looked for and how to get it.
Result<Tools> locate_tools(const ToolchainPlaces& places);

// "13.0.88" from the output of `nvcc --version`; empty when it is not there.
std::string parse_nvcc_version(const std::string& text);
// "4.2.0" from cutlass/version.h; empty when it is not there.
std::string parse_cutlass_version(const std::string& header);

}  // namespace cutegen
