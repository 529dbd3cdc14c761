// Fat binaries: what nvcc puts into a host program for __cudaRegisterFatBinary. One header, then entries: PTX text or machine code (ELF) an
// architecture, raw or compressed with zstd or as an LZ4 block.
//
// The format is undocumented. It was found by comparing builds of one file with nvcc 13.0 under different options: -no-compress,
// -compress-mode=..., several -gencode. Layout (little-endian, offsets in bytes):
//   header  0 u32 0xBA55ED50 · 4 u16 version 1 · 6 u16 header bytes 16 · 8 u64 bytes of all entries together
//   entry   0 u16 kind (1 PTX, 2 ELF) · 4 u32 header bytes · 8 u64 payload bytes, padded to 8 · 16 u32 compressed bytes (0: raw)
//           28 u32 architecture (90 for sm_90) · 32 u32 name offset · 36 u32 name bytes · 40 u64 flags · 56 u64 uncompressed bytes
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace cutegen::sim {

struct FatEntry {
  enum class Kind : uint8_t { ptx, elf, other };
  Kind kind = Kind::other;
  uint32_t architecture = 0;           // 90 for sm_90 and sm_90a
  bool architecture_specific = false;  // sm_90a; not always marked on PTX
  std::string name;                    // the source file, when it is given
  std::span<const uint8_t> payload;    // as stored; points into the fat binary
  enum class Packing : uint8_t { raw, lz4, zstd };
  Packing packing = Packing::raw;
  uint64_t unpacked_bytes = 0;
};

// The bytes behind a wrapper as __cudaRegisterFatBinary gets it: {u32 magic 0x466243b1, u32 version, const void* data, void*}. They belong
// to the program. invalid_input when it is none.
Result<std::span<const uint8_t>> fat_binary_of(const void* wrapper);

// Entries in the order of the file. invalid_input when the bytes are damaged; reads nothing beyond them.
Result<std::vector<FatEntry>> read_fat_binary(std::span<const uint8_t> bytes);

// An entry's content. PTX comes without its terminating NUL and padding. At most 1 GB.
Result<std::string> unpack(const FatEntry& entry);

// The PTX to run on sm_90: of the highest architecture up to 90, unpacked. unsupported, with what to do about it, when there is none: only
// machine code, or PTX for newer GPUs alone.
Result<std::string> best_ptx(const std::vector<FatEntry>& entries);

// Machine code for sm_90 or sm_90a, unpacked; empty when there is none.
std::string machine_code(const std::vector<FatEntry>& entries);

}  // namespace cutegen::sim
