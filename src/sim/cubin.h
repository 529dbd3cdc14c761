// What machine code in a fat binary tells that PTX does not: how many registers a thread of each kernel has been given.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace cutegen::sim {

// Registers a thread, by kernel: of the cubin's section .nv.info, whose records were found by comparing with what ptxas -v says: u8 format
// 4, u8 attribute 0x2f, u16 bytes 8, u32 symbol, u32 registers. Empty when the bytes are no cubin.
std::map<std::string, int> register_counts(std::string_view cubin);

}  // namespace cutegen::sim
