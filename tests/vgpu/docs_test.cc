// docs/vgpu.md holds a table made from the records. CUTEGEN_UPDATE_DOCS=1 rewrites it; otherwise a table that is out of date fails.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "base/fs.h"
#include "vgpu/isa/registry.h"

namespace cutegen::vgpu {
namespace {

constexpr const char* kBegin = "<!-- records: begin -->\n";
constexpr const char* kEnd = "<!-- records: end -->";

std::string table() {
  std::map<std::string, std::map<std::string, int>> sections;
  for (const Form& f : all_forms())
    if (!f.name.starts_with("vgpu.")) ++sections[f.section][f.name.substr(0, f.name.find('.'))];
  std::string s = "| section of the PTX ISA manual | instructions (forms) | forms |\n| --- | --- | ---: |\n";
  int total = 0;
  for (const auto& [section, mnemonics] : sections) {
    std::string list;
    int n = 0;
    for (const auto& [mnemonic, count] : mnemonics)
      list += (list.empty() ? "" : ", ") + mnemonic + " (" + std::to_string(count) + ")", n += count;
    s += "| " + section + " | " + list + " | " + std::to_string(n) + " |\n";
    total += n;
  }
  return s + "| all | | " + std::to_string(total) + " |\n";
}

TEST(Docs, TableOfInstructionsIsCurrent) {
  const std::string path = std::string(CUTEGEN_SOURCE_DIR) + "/docs/vgpu.md";
  auto text = read_file(path);
  ASSERT_TRUE(text.ok()) << text.error().message;
  const size_t begin = text->find(kBegin), end = text->find(kEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const size_t from = begin + std::string(kBegin).size();
  if (std::getenv("CUTEGEN_UPDATE_DOCS") != nullptr) {
    ASSERT_TRUE(write_file_atomic(path, text->substr(0, from) + table() + text->substr(end)).ok());
    return;
  }
  EXPECT_EQ(text->substr(from, end - from), table()) << "run this test with CUTEGEN_UPDATE_DOCS=1";
}

}  // namespace
}  // namespace cutegen::vgpu
