// The few facts that cutegen reads from PTX text itself: entry points with their parameters and launch bounds, and initialised bytes.
// (src/vgpu parses whole programs; this needs none of that, and tolerates what it does not know.)
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cutegen {

struct PtxEntry {
  std::string name;
  std::vector<uint32_t> param_bytes;               // in order
  uint64_t max_threads = 0;                        // product of .maxntid; 0: no bound
  bool exact_threads = false;                      // .reqntid: a block has exactly max_threads
  std::optional<std::array<uint32_t, 3>> cluster;  // .reqnctapercluster (__cluster_dims__)
};

// PTX without // and /* */ comments; line breaks stay.
std::string strip_ptx_comments(std::string_view ptx);

// Every .entry with a body or a declaration, in order of appearance.
std::vector<PtxEntry> ptx_entries(std::string_view ptx);

// The content of the module-scope array `.b8 NAME[n] = {...}`, zero-filled to n bytes; nothing when there is no such array.
std::optional<std::string> ptx_bytes(std::string_view ptx, std::string_view name);

}  // namespace cutegen
