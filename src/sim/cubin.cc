#include "sim/cubin.h"

#include "sim/elf_reader.h"

namespace cutegen::sim {
namespace {

constexpr uint8_t kSizedRecord = 4, kRegisterCount = 0x2f;
constexpr int kMostRegisters = 255;

struct Record {
  uint8_t format, attribute;
  uint16_t bytes;
};
struct RegisterCount {
  uint32_t symbol, registers;
};

// Other formats hold their value in the 16 bits of `bytes`.
uint64_t payload_bytes(const Record& r) { return r.format == kSizedRecord ? r.bytes : 0; }

}  // namespace

std::map<std::string, int> register_counts(std::string_view cubin) {
  std::map<std::string, int> counts;
  const ElfReader file(cubin);
  if (!file.is_elf64()) return counts;
  const auto sections = file.sections();
  for (const Elf64_Shdr& info : sections) {
    if (file.name(info, sections) != ".nv.info" || info.sh_link >= sections.size()) continue;
    const Elf64_Shdr& symbols = sections[info.sh_link];
    if (symbols.sh_link >= sections.size()) continue;
    const auto name_of = [&](uint32_t symbol) {
      const auto entry = file.at<Elf64_Sym>(symbols.sh_offset + uint64_t{symbol} * sizeof(Elf64_Sym));
      return file.text(sections[symbols.sh_link].sh_offset + entry.st_name);
    };
    for (uint64_t at = 0; at < info.sh_size && file.holds(info.sh_offset + at, sizeof(Record));) {
      const auto record = file.at<Record>(info.sh_offset + at);
      at += sizeof record;
      if (record.format == kSizedRecord && record.attribute == kRegisterCount && record.bytes == sizeof(RegisterCount)) {
        const auto count = file.at<RegisterCount>(info.sh_offset + at);
        if (count.registers <= kMostRegisters) counts[name_of(count.symbol)] = static_cast<int>(count.registers);
      }
      at += payload_bytes(record);
    }
  }
  return counts;
}

}  // namespace cutegen::sim
