// bad_candidates/*.cu: broken candidates, each with the stage that must refuse it and what must be said. Their first lines are
//   // backend: cute | cuda | ptx
//   // stage: policy | nvcc | ptxas | plan
//   // expect: text of the first diagnostic or of the summary (several lines: all must be there)
//   // user: text of the quoted line of the candidate
//   // cute: text of the innermost CuTe frame
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/toolchain_data.h"
#include "toolchain/nvcc.h"

namespace cutegen {
namespace {

using testing::HasSubstr;

std::vector<std::string> bad_candidates() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(toolchain_tests() / "bad_candidates"))
    if (entry.path().extension() == ".cu") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

// The values of "// key: value" lines at the top.
std::vector<std::string> header(const std::string& source, const std::string& key) {
  std::vector<std::string> values;
  for (size_t begin = 0; source.compare(begin, 3, "// ") == 0;) {
    const size_t end = source.find('\n', begin);
    const std::string line = source.substr(begin + 3, end - begin - 3);
    if (line.starts_with(key + ": ")) values.push_back(line.substr(key.size() + 2));
    begin = end + 1;
  }
  return values;
}

class BadCandidate : public testing::TestWithParam<std::string> {};

TEST_P(BadCandidate, IsRefusedWithItsMessage) {
  const auto tools = tools_here();
  if (!tools.ok()) GTEST_SKIP() << tools.error().message;
  const auto cache = TempDir::make("bad-candidate-");
  ToolchainConfig config;
  config.places.data = CUTEGEN_SOURCE_DIR;
  config.cache = cache->path();
  const auto toolchain = make_nvcc_toolchain(config);
  ASSERT_TRUE(toolchain.ok()) << toolchain.error().message;
  Candidate candidate;
  candidate.source = test_text("bad_candidates/" + GetParam() + ".cu");
  const std::string backend = header(candidate.source, "backend").at(0);
  candidate.backend = backend == "cute" ? Backend::cute : backend == "cuda" ? Backend::cuda : Backend::ptx;

  const auto outcome = (*toolchain)->build(twice_task(), candidate, Deadline::in(system_clock(), Seconds(300)));
  ASSERT_TRUE(outcome.ok()) << outcome.error().message << outcome.error().detail;
  ASSERT_FALSE(outcome->build);
  ASSERT_TRUE(outcome->failure);
  const BuildFailure& failure = *outcome->failure;
  EXPECT_EQ(failure.stage, header(candidate.source, "stage").at(0)) << failure.summary();
  ASSERT_FALSE(failure.diagnostics.empty());
  ASSERT_FALSE(header(candidate.source, "expect").empty());
  for (const std::string& text : header(candidate.source, "expect")) EXPECT_THAT(failure.summary(), HasSubstr(text));
  for (const std::string& text : header(candidate.source, "user")) EXPECT_THAT(failure.diagnostics[0].user_line, HasSubstr(text));
  for (const std::string& text : header(candidate.source, "cute")) EXPECT_THAT(failure.diagnostics[0].cute_frame, HasSubstr(text));
  EXPECT_EQ(failure.summary().find("/tmp/"), std::string::npos) << failure.summary();
  EXPECT_EQ(failure.stage == "policy" && failure.raw_log.empty(), !read_file(failure.raw_log).ok());
}

INSTANTIATE_TEST_SUITE_P(Table, BadCandidate, testing::ValuesIn(bad_candidates()), [](const auto& test) { return test.param; });

}  // namespace
}  // namespace cutegen
