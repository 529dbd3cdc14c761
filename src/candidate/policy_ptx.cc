// The part of the policy that reads the built code, where no macro can hide anything.
#include <fmt/format.h>

#include <cctype>

#include "candidate/candidate.h"
#include "candidate/ptx_text.h"

namespace cutegen {
namespace {

std::string_view trim(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front())) != 0) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back())) != 0) s.remove_suffix(1);
  return s;
}

// The declared name: the word in front of "[", "=" or ";".
std::string_view declared_name(std::string_view line) {
  line = trim(line.substr(0, line.find_first_of("[=;")));
  const size_t space = line.find_last_of(" \t");
  return space == std::string_view::npos ? line : line.substr(space + 1);
}

// nvcc gives `const` objects internal linkage and an initial value. What is visible or has none can only be there to be written. The single
// exception are the empty tag objects of the CUDA and CuTe headers, which take one byte each.
bool is_mutable(std::string_view line) {
  const bool visible =
      line.starts_with(".visible") || line.starts_with(".weak") || line.starts_with(".extern") || line.starts_with(".common");
  const bool initialised = line.find('=') != std::string_view::npos;
  const bool tag =
      line.ends_with(".b8 " + std::string(declared_name(line)) + "[1];") || line.ends_with(".b8 " + std::string(declared_name(line)) + ";");
  return visible || (!initialised && !tag);
}

}  // namespace

std::vector<PolicyFinding> check_ptx_policy(std::string_view ptx) {
  const std::string text = strip_ptx_comments(ptx);
  std::vector<PolicyFinding> findings;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = trim(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
    const size_t space = line.find(".global ");
    const bool declaration = space != std::string_view::npos &&
                             (space == 0 || (line[0] == '.' && line.substr(0, space).find_first_of("[,;%") == std::string_view::npos));
    if (!declaration || declared_name(line) == "cutegen_plan" || !is_mutable(line)) continue;
    findings.push_back(
        {"no_persistent_state",
         fmt::format("'{}' keeps its value between launches; use cutegen::workspace() or make it const", declared_name(line)), 0});
  }
  return findings;
}

}  // namespace cutegen
