// Bounded reads from an ELF64 file, for programs (elf.cc) and machine code (cubin.cc). Private to sim/.
#pragma once

#include <elf.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace cutegen::sim {

// Whatever lies outside the file reads as zeros and empty strings.
class ElfReader {
 public:
  explicit ElfReader(std::string_view content) : content_(content) {}
  template <class T>
  T at(uint64_t offset) const {
    T value{};
    if (holds(offset, sizeof(T))) std::memcpy(&value, content_.data() + offset, sizeof(T));
    return value;
  }
  std::string text(uint64_t offset) const {
    if (offset >= content_.size()) return {};
    const std::string_view rest = content_.substr(offset);
    return std::string(rest.substr(0, rest.find('\0')));
  }
  bool holds(uint64_t offset, uint64_t bytes) const { return offset <= content_.size() && bytes <= content_.size() - offset; }
  bool is_elf64() const {
    const auto header = at<Elf64_Ehdr>(0);
    return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64;
  }
  std::vector<Elf64_Shdr> sections() const {
    const auto header = at<Elf64_Ehdr>(0);
    std::vector<Elf64_Shdr> list;
    if (!holds(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr))) return list;
    for (uint64_t i = 0; i < header.e_shnum; ++i) list.push_back(at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)));
    return list;
  }
  // The name of one of `list`, which is sections().
  std::string name(const Elf64_Shdr& section, const std::vector<Elf64_Shdr>& list) const {
    const size_t strings = at<Elf64_Ehdr>(0).e_shstrndx;
    return strings < list.size() ? text(list[strings].sh_offset + section.sh_name) : std::string();
  }

 private:
  std::string_view content_;
};

}  // namespace cutegen::sim
