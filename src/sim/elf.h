// As much of an ELF file as is needed to tell whether, and how, a program uses the CUDA runtime.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cutegen::sim {

struct ElfFacts {
  std::vector<std::string> needed;  // shared libraries, in order
  std::string rpath;                // DT_RPATH, searched before LD_LIBRARY_PATH; empty when a DT_RUNPATH overrides it
  bool holds_device_code = false;   // has a section .nv_fatbin
  bool needs(std::string_view library_prefix) const;
};

// x86-64, little-endian. invalid_input when the content is no such file or is damaged; reads nothing beyond it.
Result<ElfFacts> read_elf(std::string_view content);

}  // namespace cutegen::sim
