#include "sim/elf.h"

#include <algorithm>

#include "sim/elf_reader.h"

namespace cutegen::sim {
namespace {

Error damaged() { return Error{Errc::invalid_input, "a damaged ELF file", "", ""}; }

void read_dynamic(const ElfReader& file, const Elf64_Shdr& dynamic, const Elf64_Shdr& strings, ElfFacts& facts) {
  std::string rpath;
  bool has_runpath = false;
  for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic.sh_size; at += sizeof(Elf64_Dyn)) {
    if (!file.holds(dynamic.sh_offset + at, sizeof(Elf64_Dyn))) break;
    const auto entry = file.at<Elf64_Dyn>(dynamic.sh_offset + at);
    const uint64_t text = strings.sh_offset + entry.d_un.d_val;
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_NEEDED) facts.needed.push_back(file.text(text));
    if (entry.d_tag == DT_RPATH) rpath = file.text(text);
    if (entry.d_tag == DT_RUNPATH) has_runpath = true;
  }
  if (!has_runpath) facts.rpath = rpath;
}

}  // namespace

bool ElfFacts::needs(std::string_view library_prefix) const {
  return std::any_of(needed.begin(), needed.end(), [&](const std::string& n) { return n.starts_with(library_prefix); });
}

Result<ElfFacts> read_elf(std::string_view content) {
  const ElfReader file(content);
  if (!file.is_elf64() || file.at<Elf64_Ehdr>(0).e_machine != EM_X86_64) return Error{Errc::invalid_input, "no x86-64 ELF file", "", ""};
  const std::vector<Elf64_Shdr> list = file.sections();
  if (file.at<Elf64_Ehdr>(0).e_shstrndx >= list.size()) return damaged();
  ElfFacts facts;
  for (const Elf64_Shdr& s : list) {
    if (file.name(s, list) == ".nv_fatbin") facts.holds_device_code = true;
    if (s.sh_type != SHT_DYNAMIC) continue;
    if (s.sh_link >= list.size()) return damaged();
    read_dynamic(file, s, list[s.sh_link], facts);
  }
  return facts;
}

}  // namespace cutegen::sim
