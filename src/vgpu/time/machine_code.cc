#include "vgpu/time/machine_code.h"

#include <cstring>
#include <vector>

namespace cutegen::vgpu {
namespace {

constexpr size_t kInstructionBytes = 16, kHeaderBytes = 64, kSectionBytes = 64;

struct Section {
  uint32_t name = 0, info = 0;
  uint64_t offset = 0, size = 0;
  bool has_bits = true;
};

template <class T>
T at(std::string_view bytes, uint64_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

bool inside(std::string_view bytes, uint64_t offset, uint64_t size) { return offset <= bytes.size() && size <= bytes.size() - offset; }

Error broken(const std::string& why) { return {Errc::invalid_input, "not a cubin: " + why, "", ""}; }

// Section headers (System V ABI, "Sections"): sh_name 0, sh_type 4, sh_offset 24, sh_size 32, sh_info 44.
Result<std::vector<Section>> sections(std::string_view bytes) {
  const auto table = at<uint64_t>(bytes, 40);
  const auto entry = at<uint16_t>(bytes, 58), count = at<uint16_t>(bytes, 60);
  if (entry != kSectionBytes || !inside(bytes, table, uint64_t{count} * kSectionBytes)) return broken("its section table is not inside it");
  std::vector<Section> out;
  for (uint16_t i = 0; i < count; ++i) {
    const uint64_t h = table + uint64_t{i} * kSectionBytes;
    constexpr uint32_t kNoBits = 8;
    Section s{at<uint32_t>(bytes, h), at<uint32_t>(bytes, h + 44), at<uint64_t>(bytes, h + 24), at<uint64_t>(bytes, h + 32),
              at<uint32_t>(bytes, h + 4) != kNoBits};
    if (s.has_bits && !inside(bytes, s.offset, s.size)) return broken("a section is not inside it");
    out.push_back(s);
  }
  return out;
}

std::string name_of(std::string_view bytes, const Section& names, const Section& s) {
  if (s.name >= names.size) return {};
  const std::string_view rest = bytes.substr(names.offset + s.name, names.size - s.name);
  return std::string(rest.substr(0, rest.find('\0')));
}

// Behind a kernel's end stand a branch to itself and NOPs up to a multiple of 128 bytes.
size_t length(std::string_view code) {
  size_t n = code.size() / kInstructionBytes;
  auto opcode = [&](size_t i) { return static_cast<uint16_t>(at<uint16_t>(code, i * kInstructionBytes) & 0x1ff); };
  while (n > 0 && opcode(n - 1) == sass::kNop) --n;
  if (n > 0 && opcode(n - 1) == sass::kBra) --n;
  return n;
}

}  // namespace

Result<std::map<std::string, MachineCode>> read_cubin(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes || bytes.substr(0, 5) != std::string_view("\x7f"
                                                                            "ELF\x02",
                                                                            5))
    return broken("no 64-bit ELF header");
  CUTEGEN_TRY(const std::vector<Section> all, sections(bytes));
  const auto names_index = at<uint16_t>(bytes, 62);
  if (names_index >= all.size()) return broken("it has no section names");
  const Section& names = all[names_index];
  std::map<std::string, MachineCode> out;
  for (const Section& s : all) {
    const std::string name = name_of(bytes, names, s);
    if (name.starts_with(".nv.shared.")) out[name.substr(11)].smem_bytes = static_cast<uint32_t>(s.size);
    if (!name.starts_with(".text.") || !s.has_bits) continue;
    MachineCode& m = out[name.substr(6)];
    const std::string_view code = bytes.substr(s.offset, s.size);
    m.registers = s.info >> 24;
    m.instructions = static_cast<uint32_t>(length(code));
    for (size_t i = 0; i < m.instructions; ++i) ++m.opcodes[at<uint16_t>(code, i * kInstructionBytes) & 0x1ff];
  }
  return out;
}

}  // namespace cutegen::vgpu
