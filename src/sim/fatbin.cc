#include "sim/fatbin.h"

#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace cutegen::sim {
namespace {

constexpr uint32_t kWrapperMagic = 0x466243b1, kHeaderMagic = 0xBA55ED50;
constexpr uint64_t kHeaderBytes = 16, kMinEntryHeader = 64, kMaxUnpacked = 1ull << 30;
constexpr uint64_t kFlagArchitectureSpecific = 0x100000, kFlagLz4 = 0x2000, kFlagZstd = 0x8000;
constexpr uint32_t kOwnArchitecture = 90;

template <class T>
T at(std::span<const uint8_t> bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

Error damaged(const std::string& what) { return Error{Errc::invalid_input, "damaged fat binary: " + what, "", ""}; }

FatEntry::Kind kind_of(uint16_t kind) { return kind == 1 ? FatEntry::Kind::ptx : kind == 2 ? FatEntry::Kind::elf : FatEntry::Kind::other; }

std::string name_of(std::span<const uint8_t> header) {
  const uint64_t offset = at<uint32_t>(header, 32), bytes = at<uint32_t>(header, 36);
  if (offset == 0 || offset + bytes > header.size()) return {};
  const auto* text = reinterpret_cast<const char*>(header.data()) + offset;
  return std::string(text, strnlen(text, bytes));
}

// One entry at the start of `rest`; advances it.
Result<FatEntry> read_entry(std::span<const uint8_t>& rest) {
  if (rest.size() < kMinEntryHeader) return damaged(fmt::format("an entry of {} bytes", rest.size()));
  const uint64_t header_bytes = at<uint32_t>(rest, 4), payload_bytes = at<uint64_t>(rest, 8);
  if (header_bytes < kMinEntryHeader || header_bytes > rest.size() || payload_bytes > rest.size() - header_bytes)
    return damaged(
        fmt::format("an entry's header of {} and payload of {} bytes, where {} are left", header_bytes, payload_bytes, rest.size()));
  const auto header = rest.first(header_bytes);
  const uint64_t flags = at<uint64_t>(header, 40), packed_bytes = at<uint32_t>(header, 16);
  FatEntry e;
  e.kind = kind_of(at<uint16_t>(header, 0));
  e.architecture = at<uint32_t>(header, 28);
  e.architecture_specific = (flags & kFlagArchitectureSpecific) != 0;
  e.name = name_of(header);
  e.payload = rest.subspan(header_bytes, payload_bytes);
  e.unpacked_bytes = payload_bytes;
  if (packed_bytes != 0) {
    if (packed_bytes > payload_bytes) return damaged(fmt::format("{} compressed bytes in a payload of {}", packed_bytes, payload_bytes));
    e.payload = e.payload.first(packed_bytes);
    e.unpacked_bytes = at<uint64_t>(header, 56);
    if ((flags & (kFlagLz4 | kFlagZstd)) == 0) return damaged("a compression that is neither zstd nor LZ4");
    e.packing = (flags & kFlagZstd) != 0 ? FatEntry::Packing::zstd : FatEntry::Packing::lz4;
  }
  rest = rest.subspan(header_bytes + payload_bytes);
  return e;
}

// Whether so many bytes can come out of the payload: looked at before they are asked for.
bool plausible(const FatEntry& e) {
  constexpr uint64_t kLz4BestRatio = 255;
  switch (e.packing) {
    case FatEntry::Packing::raw: return e.unpacked_bytes == e.payload.size();
    case FatEntry::Packing::zstd: return ZSTD_getFrameContentSize(e.payload.data(), e.payload.size()) == e.unpacked_bytes;
    case FatEntry::Packing::lz4: return e.unpacked_bytes / kLz4BestRatio <= e.payload.size();
  }
  return false;
}

Result<std::string> unpack_bytes(const FatEntry& e) {
  std::string out(e.unpacked_bytes, '\0');
  switch (e.packing) {
    case FatEntry::Packing::raw: std::memcpy(out.data(), e.payload.data(), e.payload.size()); break;
    case FatEntry::Packing::zstd: {
      const size_t n = ZSTD_decompress(out.data(), out.size(), e.payload.data(), e.payload.size());
      if (ZSTD_isError(n) != 0) return damaged(std::string("zstd: ") + ZSTD_getErrorName(n));
      if (n != out.size()) return damaged(fmt::format("{} bytes came out of zstd, not {}", n, out.size()));
      break;
    }
    case FatEntry::Packing::lz4: {
      const int n = LZ4_decompress_safe(reinterpret_cast<const char*>(e.payload.data()), out.data(), static_cast<int>(e.payload.size()),
                                        static_cast<int>(out.size()));
      if (n < 0 || static_cast<size_t>(n) != out.size()) return damaged(fmt::format("LZ4: {} instead of {} bytes", n, out.size()));
      break;
    }
  }
  return out;
}

std::string list_of(const std::vector<FatEntry>& entries) {
  std::string s;
  for (const FatEntry& e : entries)
    s += fmt::format("{}{} {}{}", s.empty() ? "" : ", ", e.kind == FatEntry::Kind::ptx ? "PTX for compute" : "machine code for sm",
                     e.architecture, e.architecture_specific ? "a" : "");
  return s.empty() ? "nothing" : s;
}

}  // namespace

Result<std::span<const uint8_t>> fat_binary_of(const void* wrapper) {
  struct {
    uint32_t magic, version;
    const uint8_t* data;
  } w;
  std::memcpy(&w, wrapper, sizeof w);
  if (w.magic != kWrapperMagic || w.data == nullptr) return damaged("no wrapper");
  const std::span<const uint8_t> header(w.data, kHeaderBytes);
  if (at<uint32_t>(header, 0) != kHeaderMagic) return damaged("no header");
  const uint64_t bytes = at<uint64_t>(header, 8);
  if (bytes > std::numeric_limits<uint64_t>::max() / 2) return damaged("an impossible size");
  return std::span<const uint8_t>(w.data, kHeaderBytes + bytes);
}

Result<std::vector<FatEntry>> read_fat_binary(std::span<const uint8_t> bytes) {
  if (bytes.size() < kHeaderBytes || at<uint32_t>(bytes, 0) != kHeaderMagic) return damaged("no header");
  const uint64_t header_bytes = at<uint16_t>(bytes, 6), entries_bytes = at<uint64_t>(bytes, 8);
  if (header_bytes < kHeaderBytes || header_bytes > bytes.size() || entries_bytes > bytes.size() - header_bytes)
    return damaged(fmt::format("{} bytes of entries in a file of {}", entries_bytes, bytes.size()));
  std::vector<FatEntry> entries;
  for (auto rest = bytes.subspan(header_bytes, entries_bytes); !rest.empty();) {
    CUTEGEN_TRY(FatEntry entry, read_entry(rest));
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<std::string> unpack(const FatEntry& entry) {
  if (entry.unpacked_bytes > kMaxUnpacked || !plausible(entry)) return damaged(fmt::format("an entry of {} bytes", entry.unpacked_bytes));
  CUTEGEN_TRY(std::string out, unpack_bytes(entry));
  if (entry.kind == FatEntry::Kind::ptx) out.resize(strnlen(out.data(), out.size()));
  return out;
}

Result<std::string> best_ptx(const std::vector<FatEntry>& entries) {
  const FatEntry* best = nullptr;
  for (const FatEntry& e : entries) {
    if (e.kind != FatEntry::Kind::ptx || e.architecture > kOwnArchitecture) continue;
    if (e.architecture_specific && e.architecture != kOwnArchitecture) continue;
    const auto rank = [](const FatEntry& x) { return std::pair(x.architecture, x.architecture_specific); };
    if (best == nullptr || rank(e) > rank(*best)) best = &e;
  }
  if (best == nullptr)
    return Error{Errc::unsupported, "the program holds no PTX that sm_90 could run, but " + list_of(entries),
                 "build with PTX: nvcc -arch=sm_90a, or -gencode arch=compute_90a,code=[sm_90a,compute_90a]", ""};
  return unpack(*best);
}

std::string machine_code(const std::vector<FatEntry>& entries) {
  for (const FatEntry& e : entries) {
    if (e.kind != FatEntry::Kind::elf || e.architecture != kOwnArchitecture) continue;
    if (auto code = unpack(e); code.ok()) return std::move(*code);
  }
  return {};
}

}  // namespace cutegen::sim
