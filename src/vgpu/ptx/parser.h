// PTX text to a Module: PTX ISA 7.0-9.0 as nvcc emits it and as CUTLASS writes it inline.
#pragma once

#include <string>

#include "base/result.h"
#include "vgpu/ptx/ast.h"

namespace cutegen::vgpu::ptx {

// Errors are invalid_input, "NAME:LINE: what is wrong: `the line`". Instructions are not looked up here: see isa/registry.h.
Result<Module> parse(std::string text, std::string name);

}  // namespace cutegen::vgpu::ptx
