// Control-flow graph of one function and where divergent paths meet again.
#pragma once

#include <vector>

#include "vgpu/isa/form.h"
#include "vgpu/ptx/ast.h"

namespace cutegen::vgpu {

struct Block {
  int first = 0, last = 0;  // instructions [first, last)
  std::vector<int> next;    // successors; none at an exit
  int post_dominator = -1;  // immediate; -1: the function's end
};

struct Cfg {
  std::vector<Block> blocks;
  std::vector<int> block_of;  // by instruction
};

// `forms` holds the record of each instruction of `f`.
Cfg build_cfg(const ptx::Function& f, const std::vector<const Form*>& forms);

}  // namespace cutegen::vgpu
