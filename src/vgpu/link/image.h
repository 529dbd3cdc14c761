// A kernel ready to run: registers are slots, names are addresses, functions are inlined into one code array.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "vgpu/isa/form.h"
#include "vgpu/ptx/ast.h"
#include "vgpu/vgpu.h"

namespace cutegen::vgpu {

// Where the module's own variables lie; the same for all kernels of a program.
struct ModuleLayout {
  u64 id = 0;                // of this loaded module, never used again
  std::vector<u64> address;  // of ptx::Module::variables, device addresses; shared variables: their shared address
  u64 base = 0;              // of .global and .const variables: kModuleBase, or where their own host memory lies
  u64 bytes = 0;             // of these together
  char* host = nullptr;      // that memory; nullptr: a Memory keeps them
  u32 shared_end = 0;        // first shared address after the module's .shared variables
};

struct SpecialSlot {
  std::string name;  // "%tid.x"
  Ref slot = 0;
};

struct NamedRegister {
  std::string name;  // "%r5"
  Ref slot = 0;
};

struct PcInfo {  // what an instruction was in the text
  const Form* form = nullptr;
  std::string_view opcode;
  u32 ptx_line = 0;
  s32 loc = -1;
};

struct Image {
  std::shared_ptr<const ptx::Module> module;
  std::shared_ptr<const ModuleLayout> layout;
  KernelInfo info;
  std::vector<Inst> code;
  std::vector<PcInfo> pcs;
  std::vector<Ref> refs;       // operands of all instructions
  std::vector<u64> constants;  // immediates and addresses, 32 lanes each; 64-byte aligned by the machine's copy
  std::vector<SpecialSlot> specials;
  std::vector<NamedRegister> maybe_undefined;  // that some path reads before it writes them
  u32 register_bytes = 0;                      // of one warp
  u32 shared_static_end = 0;                   // first shared address after static variables; dynamic memory follows, aligned
  u32 dynamic_shared_align = 16;
  bool order_sensitive = false;    // its result may depend on the order of CTAs
  bool uses_grid_barrier = false;  // reads %envreg1/2
};

}  // namespace cutegen::vgpu
