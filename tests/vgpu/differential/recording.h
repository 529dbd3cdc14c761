// h200.bin: what an H200 returned, as hashes. A line of text, then entries, little-endian:
//   u8 length and bytes of the name; u64 hash of the kernel's text and operands' kinds; u32 bytes of the results;
//   16 u64: hashes of the sixteenths of the results; u16 n, then the first n bytes of the results.
#pragma once

#include <array>
#include <filesystem>
#include <map>

#include "base/fs.h"
#include "vgpu/differential/cases.h"
#include "vgpu/differential/inputs.h"

namespace cutegen::differential {

constexpr const char* kRecordingTitle = "cutegen differential results 1\n";
constexpr size_t kBlocks = 16;

struct Recorded {
  uint64_t kernel = 0;
  size_t bytes = 0;
  std::array<uint64_t, kBlocks> blocks{};
  std::string sample;
};
using Recording = std::map<std::string, Recorded>;

inline std::string block_of(const std::string& results, size_t b) {
  const size_t from = results.size() * b / kBlocks, to = results.size() * (b + 1) / kBlocks;
  return results.substr(from, to - from);
}
inline Recorded summarise(uint64_t kernel, const std::string& results, size_t sample_bytes) {
  Recorded r{kernel, results.size(), {}, results.substr(0, sample_bytes)};
  for (size_t b = 0; b < kBlocks; ++b) r.blocks[b] = hash_text(block_of(results, b));
  return r;
}
// What the results depend on: when it changes, they must be recorded again.
inline uint64_t kernel_hash(const Case& c) {
  std::string text = entry_text(c, "t") + std::to_string(c.rows) + " " + std::to_string(c.block) + " " + std::to_string(c.tile);
  for (const std::string& k : c.kinds) text += " " + k;
  return hash_text(text);
}

inline uint64_t program_hash(const std::string& folder, const std::string& name) {
  auto ptx = read_file(folder + "/" + name + ".ptx"), launch = read_file(folder + "/" + name + ".launch");
  return hash_text(ptx.ok() && launch.ok() ? *ptx + *launch : "");
}

template <class T>
void put(std::string& s, T v) {
  s.append(reinterpret_cast<const char*>(&v), sizeof v);
}
template <class T>
T get(const std::string& s, size_t& at) {
  T v{};
  if (at + sizeof v <= s.size()) std::memcpy(&v, s.data() + at, sizeof v);
  at += sizeof v;
  return v;
}
inline std::string encode(const Recording& recording) {
  std::string s = kRecordingTitle;
  for (const auto& [name, r] : recording) {
    put(s, static_cast<uint8_t>(name.size()));
    s += name;
    put(s, r.kernel);
    put(s, static_cast<uint32_t>(r.bytes));
    for (uint64_t b : r.blocks) put(s, b);
    put(s, static_cast<uint16_t>(r.sample.size()));
    s += r.sample;
  }
  return s;
}
inline Recording decode(const std::string& s) {
  Recording recording;
  size_t at = std::string(kRecordingTitle).size();
  if (!s.starts_with(kRecordingTitle)) return recording;
  while (at < s.size()) {
    const auto length = get<uint8_t>(s, at);
    Recorded& r = recording[s.substr(at, length)];
    at += length;
    r.kernel = get<uint64_t>(s, at);
    r.bytes = get<uint32_t>(s, at);
    for (uint64_t& b : r.blocks) b = get<uint64_t>(s, at);
    const auto n = get<uint16_t>(s, at);
    r.sample = s.substr(at, n);
    at += n;
  }
  return recording;
}

// The raw results of scripts/gpu/differential.sh in `folder`, unpacked, by name.
inline std::map<std::string, std::string> read_raw(const std::string& folder) {
  std::map<std::string, std::string> results;
  for (const auto& e : std::filesystem::directory_iterator(folder)) {
    if (e.path().extension() != ".index") continue;
    auto index = read_file(e.path());
    auto data = read_file(std::filesystem::path(e.path()).replace_extension(".bin"));
    if (!index.ok() || !data.ok()) continue;
    std::istringstream lines(*index);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string name;
      size_t at = 0, rows = 0, row_bytes = 0;
      words >> name >> at >> rows;
      if (name == "failed") continue;
      for (size_t b = 0; words >> b;) row_bytes += b;
      results[name] = data->substr(at, rows * row_bytes);
    }
  }
  return results;
}

}  // namespace cutegen::differential
