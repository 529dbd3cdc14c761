// docs/sim.md holds a table of the calls that are supported, made from the sources. CUTEGEN_UPDATE_DOCS=1 rewrites it; otherwise a table
// that is out of date fails.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <set>

#include "base/fs.h"

namespace cutegen::sim {
namespace {

constexpr const char* kBegin = "<!-- calls: begin -->\n";
constexpr const char* kEnd = "<!-- calls: end -->";
const std::string kRoot = CUTEGEN_SOURCE_DIR;

std::string text_of(const std::string& path) {
  auto text = read_file(path);
  EXPECT_TRUE(text.ok()) << text.error().message;
  return text.ok() ? *text : std::string();
}

std::set<std::string> matches(const std::string& text, const std::regex& pattern) {
  std::set<std::string> names;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) names.insert((*it)[1]);
  return names;
}

std::string list(const std::set<std::string>& names) {
  std::string s;
  for (const std::string& n : names) s += (s.empty() ? "`" : ", `") + n + "`";
  return s;
}

// What each api_*.cc defines; the second names of -default-stream per-thread are left out.
std::string table() {
  const std::map<std::string, std::string> files = {{"api_registration.cc", "start-up code and `<<<>>>`"},
                                                    {"api_device.cc", "device, errors, versions, driver entry points"},
                                                    {"api_memory.cc", "memory, copies, symbols, pointers, peers"},
                                                    {"api_stream.cc", "streams and events"},
                                                    {"api_launch.cc", "execution and occupancy"}};
  const std::regex definition(R"(SIM_API [^(\n]*?\b((?:__)?cuda\w+)\()");
  std::string s = "| | calls |\n| --- | --- |\n";
  size_t total = 0;
  for (const auto& [file, what] : files) {
    const auto names = matches(text_of(kRoot + "/src/sim/" + file), definition);
    total += names.size();
    s += "| " + what + " | " + list(names) + " |\n";
  }
  const auto missing = matches(text_of(kRoot + "/src/sim/unsupported.cc"), std::regex(R"(SIM_MISSING\((cuda\w+)\))"));
  return s + "\nThese are " + std::to_string(total) + " calls. The other " + std::to_string(missing.size()) +
         " names of CUDA 13's runtime are there too, fail with `cudaErrorNotSupported`, and say on stderr which call it was.\n";
}

TEST(Docs, TableOfCallsIsCurrent) {
  const std::string path = kRoot + "/docs/sim.md";
  const std::string text = text_of(path);
  const size_t begin = text.find(kBegin), end = text.find(kEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const size_t from = begin + std::string(kBegin).size();
  if (std::getenv("CUTEGEN_UPDATE_DOCS") != nullptr) {
    ASSERT_TRUE(write_file_atomic(path, text.substr(0, from) + table() + text.substr(end)).ok());
    return;
  }
  EXPECT_EQ(text.substr(from, end - from), table()) << "run this test with CUTEGEN_UPDATE_DOCS=1";
}

}  // namespace
}  // namespace cutegen::sim
