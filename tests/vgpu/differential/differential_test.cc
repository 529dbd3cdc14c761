// The differential suite: kernels of one instruction over rows of operands, and rendered candidates, on the virtual GPU and on an H200.
// README.md here says how the results were recorded.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "vgpu/differential/execute.h"
#include "vgpu/differential/recording.h"
#include "vgpu/differential/render.h"
#include "vgpu/differential/tolerances.h"

namespace cutegen::differential {
namespace {

const std::string kFolder = std::string(CUTEGEN_SOURCE_DIR) + "/tests/vgpu/differential";
const std::string kTemplates = kFolder + "/templates", kRecording = kFolder + "/h200.bin";

// CUTEGEN_DIFFERENTIAL_RENDER=DIR writes the suite for the GPU.
TEST(Differential, Render) {
  const std::vector<Case> cases = all_cases();
  std::set<std::string> names;
  for (const Case& c : cases) {
    EXPECT_TRUE(names.insert(c.name).second) << c.name;
    EXPECT_EQ(c.rows % c.block, 0u) << c.name;
    EXPECT_FALSE(c.result_bytes.empty()) << c.name;
  }
  EXPECT_GT(cases.size(), 2500u);
  if (const char* folder = std::getenv("CUTEGEN_DIFFERENTIAL_RENDER")) render(folder, kTemplates);
}

size_t sample_bytes(const std::string& name) { return tolerance_of(name) == nullptr ? 32 : 4096; }

// CUTEGEN_DIFFERENTIAL_RECORD=DIR makes h200.bin of the unpacked results of scripts/gpu/differential.sh.
TEST(Differential, Record) {
  Recording recording;
  if (const char* folder = std::getenv("CUTEGEN_DIFFERENTIAL_RECORD")) {
    const auto raw = read_raw(folder);
    for (const Case& c : all_cases())
      if (const auto it = raw.find(c.name); it != raw.end() && is_recorded(c.name))
        recording[c.name] = summarise(kernel_hash(c), it->second, sample_bytes(c.name));
    for (const std::string& name : template_names(kTemplates))
      if (const auto it = raw.find(name); it != raw.end())
        recording[name] = summarise(program_hash(kTemplates, name), it->second, sample_bytes(name));
    ASSERT_TRUE(write_file_atomic(kRecording, encode(recording)).ok());
  }
  auto text = read_file(kRecording);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(encode(decode(*text)), *text);
}

// What became of one recorded case.
struct Verdict {
  enum Kind { identical, close, different, missing } kind = different;
  std::string why;
};
Verdict judge(const std::string& name, const Recorded& want, uint64_t kernel, const Result<std::string>& got) {
  if (want.kernel != kernel) return {Verdict::different, "the kernel is not the one that was recorded"};
  if (!got.ok())
    return {got.error().message.find("unsupported instruction") != std::string::npos ? Verdict::missing : Verdict::different,
            got.error().message};
  if (got->size() != want.bytes) return {Verdict::different, "results of another size"};
  size_t wrong = 0;
  for (size_t b = 0; b < kBlocks; ++b) wrong += hash_text(block_of(*got, b)) != want.blocks[b];
  if (wrong == 0) return {Verdict::identical, ""};
  const Tolerance* t = tolerance_of(name);
  if (t == nullptr) return {Verdict::different, std::to_string(wrong) + " of 16 blocks of results differ"};
  const double worst = worst_distance(*t, want.sample, *got);
  return {worst <= t->ulps ? Verdict::close : Verdict::different, std::to_string(worst) + " ulp"};
}

using Verdicts = std::map<std::string, Verdict>;
const Verdicts& verdicts() {
  static const Verdicts all = [] {
    Verdicts v;
    auto text = read_file(kRecording);
    EXPECT_TRUE(text.ok());
    if (!text.ok()) return v;
    const Recording recording = decode(*text);
    for (const Case& c : all_cases())
      if (const auto it = recording.find(c.name); it != recording.end()) v[c.name] = judge(c.name, it->second, kernel_hash(c), execute(c));
    for (const std::string& name : template_names(kTemplates))
      if (const auto it = recording.find(name); it != recording.end())
        v[name] = judge(name, it->second, program_hash(kTemplates, name), execute_program(kTemplates, name));
    EXPECT_EQ(v.size(), recording.size()) << "some recorded case is no longer made";
    return v;
  }();
  return all;
}

TEST(Differential, AgreesWithTheH200) {
  size_t identical = 0;
  for (const auto& [name, v] : verdicts()) {
    EXPECT_NE(v.kind, Verdict::different) << name << ": " << v.why;
    if (v.kind == Verdict::missing) {
      EXPECT_EQ(vgpu::find_form(name), nullptr) << name << ": " << v.why;
    }
    if (v.kind == Verdict::identical) {
      EXPECT_EQ(tolerance_of(name), nullptr) << name << " is identical: it needs no tolerance";
    }
    identical += v.kind == Verdict::identical;
  }
  EXPECT_GT(identical, 2500u);
}

// docs/vgpu.md: how many kernels agree, by section. CUTEGEN_UPDATE_DOCS=1 rewrites the table.
std::string section_of(const std::string& name) {
  if (!std::filesystem::exists(kTemplates + "/" + name + ".launch")) {
    const vgpu::Form* f = vgpu::find_form(name.substr(0, name.find('/')));
    return f != nullptr ? f->section : name.starts_with("wgmma") ? "Matrix: wgmma" : "Matrix: ldmatrix, stmatrix, mma";
  }
  return "Rendered templates";
}
std::string table() {
  struct Row {
    int identical = 0, close = 0, missing = 0;
    std::set<std::string> bounds;
  };
  std::map<std::string, Row> rows;
  for (const auto& [name, v] : verdicts()) {
    Row& r = rows[section_of(name)];
    r.identical += v.kind == Verdict::identical, r.close += v.kind == Verdict::close, r.missing += v.kind == Verdict::missing;
    if (const Tolerance* t = tolerance_of(name)) r.bounds.insert(std::string("`") + t->prefix + "` " + t->stated);
  }
  std::string s = "| section | bit-identical | within a bound | not implemented | bounds |\n| --- | ---: | ---: | ---: | --- |\n";
  for (const auto& [section, r] : rows) {
    std::string bounds;
    for (const std::string& b : r.bounds) bounds += (bounds.empty() ? "" : "; ") + b;
    s += "| " + section + " | " + std::to_string(r.identical) + " | " + std::to_string(r.close) + " | " + std::to_string(r.missing) +
         " | " + bounds + " |\n";
  }
  return s;
}
TEST(Differential, TableInTheDocumentationIsCurrent) {
  constexpr const char *kBegin = "<!-- differential: begin -->\n", *kEnd = "<!-- differential: end -->";
  const std::string path = std::string(CUTEGEN_SOURCE_DIR) + "/docs/vgpu.md";
  auto text = read_file(path);
  ASSERT_TRUE(text.ok());
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
}  // namespace cutegen::differential
