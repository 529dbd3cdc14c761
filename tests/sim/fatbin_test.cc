#include "sim/fatbin.h"

#include <gmock/gmock.h>

#include <random>

#include "base/fs.h"
#include "sim/cubin.h"

namespace cutegen::sim {
namespace {

using testing::HasSubstr;

// Built by tests/sim/fixtures/make from one kernel, packed in each way.
std::vector<uint8_t> fixture(const std::string& name) {
  auto text = read_file(std::string(CUTEGEN_SOURCE_DIR) + "/tests/sim/fixtures/" + name);
  EXPECT_TRUE(text.ok()) << text.error().message;
  return {text->begin(), text->end()};
}
std::vector<FatEntry> entries_of(const std::vector<uint8_t>& bytes) {
  auto entries = read_fat_binary(bytes);
  EXPECT_TRUE(entries.ok()) << entries.error().message;
  return entries.ok() ? *entries : std::vector<FatEntry>();
}

TEST(FatBinary, EveryPackingHoldsTheSamePtx) {
  struct Case {
    const char* file;
    FatEntry::Packing packing;
  };
  const auto plain = fixture("raw.fatbin");
  const auto expected = best_ptx(entries_of(plain));
  ASSERT_TRUE(expected.ok());
  EXPECT_THAT(*expected, HasSubstr(".visible .entry add_one("));
  EXPECT_EQ(expected->find('\0'), std::string::npos);
  for (const Case& c :
       {Case{"raw.fatbin", FatEntry::Packing::raw}, {"lz4.fatbin", FatEntry::Packing::lz4}, {"zstd.fatbin", FatEntry::Packing::zstd}}) {
    const auto bytes = fixture(c.file);
    const auto entries = entries_of(bytes);
    ASSERT_EQ(entries.size(), 1u) << c.file;
    EXPECT_EQ(entries[0].kind, FatEntry::Kind::ptx);
    EXPECT_EQ(entries[0].architecture, 90u);
    EXPECT_EQ(entries[0].packing, c.packing) << c.file;
    const auto ptx = unpack(entries[0]);
    ASSERT_TRUE(ptx.ok()) << c.file << ": " << ptx.error().message;
    EXPECT_EQ(*ptx, *expected) << c.file;
  }
}

TEST(FatBinary, TheBestPtxOfSeveralIsTaken) {
  // compute_80 as PTX, sm_90a as machine code, compute_90a as PTX, compute_100 as PTX.
  const auto bytes = fixture("several.fatbin");
  const auto entries = entries_of(bytes);
  ASSERT_EQ(entries.size(), 4u);
  EXPECT_EQ(std::count_if(entries.begin(), entries.end(), [](const FatEntry& e) { return e.kind == FatEntry::Kind::elf; }), 1);
  const auto ptx = best_ptx(entries);
  ASSERT_TRUE(ptx.ok());
  EXPECT_THAT(*ptx, HasSubstr(".target sm_90a"));
}

TEST(FatBinary, MachineCodeAloneIsRefusedWithAdvice) {
  const auto bytes = fixture("machine_code.fatbin");
  const auto ptx = best_ptx(entries_of(bytes));
  ASSERT_FALSE(ptx.ok());
  EXPECT_EQ(ptx.error().code, Errc::unsupported);
  EXPECT_THAT(ptx.error().message, HasSubstr("machine code for sm 90a"));
  EXPECT_THAT(ptx.error().hint, HasSubstr("-arch=sm_90a"));
}

TEST(FatBinary, EveryTruncationIsAnError) {
  for (const char* name : {"raw.fatbin", "lz4.fatbin", "zstd.fatbin", "several.fatbin"}) {
    const auto bytes = fixture(name);
    for (size_t n = 0; n < bytes.size(); n += 1 + n / 64) {
      const std::vector<uint8_t> part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
      EXPECT_FALSE(read_fat_binary(part).ok()) << name << " cut to " << n;
    }
  }
}

TEST(FatBinary, DamagedPayloadsAreErrors) {
  for (const char* name : {"lz4.fatbin", "zstd.fatbin"}) {
    auto bytes = fixture(name);
    std::fill(bytes.begin() + 16 + 80, bytes.begin() + 16 + 80 + 64, uint8_t{0xff});  // the start of the payload
    const auto entries = read_fat_binary(bytes);
    ASSERT_TRUE(entries.ok()) << name;
    const auto ptx = unpack(entries->front());
    ASSERT_FALSE(ptx.ok()) << name;
    EXPECT_THAT(ptx.error().message, HasSubstr("damaged"));
  }
}

TEST(FatBinary, MachineCodeTellsRegisters) {
  for (const char* name : {"several.fatbin", "machine_code.fatbin"}) {
    const auto bytes = fixture(name);
    const auto counts = register_counts(machine_code(entries_of(bytes)));
    ASSERT_EQ(counts.size(), 1u) << name;
    EXPECT_EQ(counts.at("add_one"), 8) << name;  // as ptxas -v says
  }
  const auto ptx_only = fixture("raw.fatbin");
  EXPECT_EQ(machine_code(entries_of(ptx_only)), "");
  EXPECT_TRUE(register_counts("").empty());
}

TEST(FatBinary, DamagedMachineCodeNeverReadsOutside) {
  const auto bytes = fixture("machine_code.fatbin");
  const std::string good = machine_code(entries_of(bytes));
  std::mt19937 random(11);
  for (int i = 0; i < 1000; ++i) {
    std::string code = good.substr(0, i % 2 == 0 ? good.size() : random() % good.size());
    for (int k = 0; k < 8 && !code.empty(); ++k) code[random() % code.size()] = static_cast<char>(random());
    (void)register_counts(code);
  }
}

// A size that the payload cannot have is refused before memory is asked for.
TEST(FatBinary, ImpossibleSizesAreRefused) {
  for (const char* name : {"lz4.fatbin", "zstd.fatbin"}) {
    auto bytes = fixture(name);
    for (const size_t byte : {60u, 61u, 62u}) bytes[16 + byte] = 0x7f;  // of the uncompressed size
    const auto entries = read_fat_binary(bytes);
    ASSERT_TRUE(entries.ok()) << name;
    EXPECT_FALSE(unpack(entries->front()).ok()) << name;
  }
}

TEST(FatBinary, RandomDamageNeverReadsOutside) {
  std::mt19937 random(7);
  for (const char* name : {"raw.fatbin", "lz4.fatbin", "zstd.fatbin", "several.fatbin"}) {
    const auto good = fixture(name);
    for (int i = 0; i < 300; ++i) {
      auto bytes = good;
      for (int k = 0; k < 4; ++k) bytes[random() % std::min<size_t>(bytes.size(), 256)] = static_cast<uint8_t>(random());
      const auto entries = read_fat_binary(bytes);
      if (!entries.ok()) continue;
      for (const FatEntry& e : *entries) (void)unpack(e).ok();
    }
  }
}

TEST(FatBinary, WrapperMustHaveItsMagic) {
  const auto bytes = fixture("raw.fatbin");
  struct {
    uint32_t magic = 0x466243b1, version = 1;
    const void* data;
    const void* extra = nullptr;
  } wrapper{.data = bytes.data()};
  const auto good = fat_binary_of(&wrapper);
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good->size(), bytes.size());
  wrapper.magic = 1;
  EXPECT_FALSE(fat_binary_of(&wrapper).ok());
}

}  // namespace
}  // namespace cutegen::sim
