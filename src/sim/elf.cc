#include "sim/elf.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace cutegen::sim {
namespace {

Error damaged() { return Error{Errc::invalid_input, "a damaged ELF file", "", ""}; }

// Bounded reads: zeros where the file has nothing.
class Reader {
 public:
  explicit Reader(std::string_view content) : content_(content) {}
  template <class T>
  T at(uint64_t offset) const {
    T value{};
    if (offset <= content_.size() && sizeof(T) <= content_.size() - offset) std::memcpy(&value, content_.data() + offset, sizeof(T));
    return value;
  }
  std::string text(uint64_t offset) const {
    if (offset >= content_.size()) return {};
    const std::string_view rest = content_.substr(offset);
    return std::string(rest.substr(0, rest.find('\0')));
  }
  bool holds(uint64_t offset, uint64_t bytes) const { return offset <= content_.size() && bytes <= content_.size() - offset; }

 private:
  std::string_view content_;
};

std::vector<Elf64_Shdr> sections(const Reader& file, const Elf64_Ehdr& header) {
  std::vector<Elf64_Shdr> list;
  if (!file.holds(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr))) return list;
  for (uint64_t i = 0; i < header.e_shnum; ++i) list.push_back(file.at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)));
  return list;
}

void read_dynamic(const Reader& file, const Elf64_Shdr& dynamic, const Elf64_Shdr& strings, ElfFacts& facts) {
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
  const Reader file(content);
  const auto header = file.at<Elf64_Ehdr>(0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64)
    return Error{Errc::invalid_input, "no x86-64 ELF file", "", ""};
  const std::vector<Elf64_Shdr> list = sections(file, header);
  if (header.e_shstrndx >= list.size()) return damaged();
  ElfFacts facts;
  for (const Elf64_Shdr& s : list) {
    if (file.text(list[header.e_shstrndx].sh_offset + s.sh_name) == ".nv_fatbin") facts.holds_device_code = true;
    if (s.sh_type != SHT_DYNAMIC) continue;
    if (s.sh_link >= list.size()) return damaged();
    read_dynamic(file, s, list[s.sh_link], facts);
  }
  return facts;
}

}  // namespace cutegen::sim
