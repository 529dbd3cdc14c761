#include "vgpu/time/machine_code.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace cutegen::vgpu {
namespace {

// A cubin made by hand: section names, one kernel's code, its shared memory.
class Elf {
 public:
  void section(const std::string& name, const std::string& bytes, uint32_t info, uint32_t type = 1, uint64_t size = 0) {
    sections_.push_back({name, bytes, info, type, size});
  }
  std::string bytes() const {
    std::string names("\0", 1), data, headers;
    std::vector<uint32_t> at;
    for (const auto& s : sections_) at.push_back(static_cast<uint32_t>(names.size())), names += s.name + '\0';
    const auto names_name = static_cast<uint32_t>(names.size());
    names += std::string(".shstrtab") + '\0';
    std::string out(64, '\0');
    auto header = [&](uint32_t name, uint32_t type, uint64_t offset, uint64_t size, uint32_t info) {
      std::string h(64, '\0');
      put(h, 0, name), put(h, 4, type), put(h, 24, offset), put(h, 32, size), put(h, 44, info);
      headers += h;
    };
    for (size_t i = 0; i < sections_.size(); ++i) {
      const auto& s = sections_[i];
      header(at[i], s.type, out.size(), s.type == 8 ? s.size : s.bytes.size(), s.info);
      out += s.bytes;
    }
    header(names_name, 3, out.size(), names.size(), 0);
    out += names;
    std::memcpy(out.data(),
                "\x7f"
                "ELF\x02",
                5);
    put(out, 40, static_cast<uint64_t>(out.size()));
    put(out, 58, uint16_t{64}), put(out, 60, static_cast<uint16_t>(sections_.size() + 1)),
        put(out, 62, static_cast<uint16_t>(sections_.size()));
    return out + headers;
  }

 private:
  struct Section {
    std::string name, bytes;
    uint32_t info, type;
    uint64_t size;
  };
  template <class T>
  static void put(std::string& s, size_t at, T value) {
    std::memcpy(s.data() + at, &value, sizeof value);
  }
  std::vector<Section> sections_;
};

std::string code(std::initializer_list<uint16_t> opcodes) {
  std::string out;
  for (uint16_t op : opcodes) {
    std::string i(16, '\x55');
    const auto low = static_cast<uint16_t>(op | 0x7000);  // bits above the opcode belong to the predicate
    std::memcpy(i.data(), &low, 2);
    out += i;
  }
  return out;
}

TEST(MachineCode, CountsOpcodesWithoutPadding) {
  Elf elf;
  elf.section(".text.k", code({0x981, 0x223, 0x823, 0x986, 0x94d, 0x947, 0x918, 0x918}), 40u << 24);
  elf.section(".nv.shared.k", "", 0, 8, 2048);
  const auto all = read_cubin(elf.bytes());
  ASSERT_TRUE(all.ok()) << all.error().message;
  const MachineCode& k = all->at("k");
  EXPECT_EQ(k.registers, 40u);
  EXPECT_EQ(k.smem_bytes, 2048u);
  EXPECT_EQ(k.instructions, 5u) << "the branch to itself and the NOPs behind the end do not count";
  EXPECT_EQ(k.opcodes.at(sass::kFfma), 2u) << "both operand forms";
  EXPECT_EQ(k.opcodes.at(sass::kLdg), 1u);
  EXPECT_EQ(k.opcodes.at(sass::kStg), 1u);
}

TEST(MachineCode, RefusesWhatIsNoCubin) {
  EXPECT_FALSE(read_cubin("").ok());
  EXPECT_FALSE(read_cubin(std::string(200, 'x')).ok());
  Elf elf;
  elf.section(".text.k", code({0x981, 0x94d}), 0);
  const std::string whole = elf.bytes();
  for (size_t n : {size_t{10}, size_t{64}, whole.size() / 2, whole.size() - 1}) EXPECT_FALSE(read_cubin(whole.substr(0, n)).ok()) << n;
}

}  // namespace
}  // namespace cutegen::vgpu
