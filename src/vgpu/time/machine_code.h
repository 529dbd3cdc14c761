// What a cubin tells without a disassembler: registers, shared memory, and how often each opcode stands in each kernel.
//
// A cubin is an ELF file; a kernel's code is its section .text.NAME, 16 bytes an instruction on sm_70 and later, with the opcode in the low
// 12 bits (of which bits 9-11 say where operands come from). The section's sh_info holds the register count in its top byte.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cutegen::vgpu {

struct MachineCode {
  uint32_t registers = 0;                // a thread
  uint32_t smem_bytes = 0;               // static
  uint32_t instructions = 0;             // without the padding behind the end
  std::map<uint16_t, uint32_t> opcodes;  // low 9 bits of the opcode -> how many stand there
};

// By kernel. Errc::invalid_input when it is no 64-bit ELF file or its tables lie outside it.
Result<std::map<std::string, MachineCode>> read_cubin(std::string_view bytes);

// Low 9 bits of the opcodes that the estimate of issued instructions needs.
namespace sass {
inline constexpr uint16_t kNop = 0x118, kBra = 0x147, kFfma = 0x023, kFmul = 0x020, kFadd = 0x021, kMufu = 0x108, kLdg = 0x181,
                          kStg = 0x186, kLds = 0x184, kSts = 0x188, kLdsm = 0x03b, kHmma = 0x03c, kLdgsts = 0x1ae, kDfma = 0x02b,
                          kHfma2 = 0x031, kShfl = 0x189;
}  // namespace sass

}  // namespace cutegen::vgpu
