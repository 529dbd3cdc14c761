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

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// Where the declaration begins whose ".global" is at `at`: in front of its linkage words; npos when this is no declaration but part of an
// instruction.
size_t declaration_start(std::string_view text, size_t at) {
  for (;;) {
    size_t end = at;
    while (end > 0 && is_space(text[end - 1])) --end;
    if (end == 0 || std::string_view("\n;{}").find(text[end - 1]) != std::string_view::npos) return at;
    const std::string_view before = text.substr(0, end);
    size_t start = std::string_view::npos;
    for (const std::string_view linkage : {".visible", ".weak", ".extern", ".common"})
      if (before.ends_with(linkage)) start = end - linkage.size();
    if (start == std::string_view::npos) return start;
    at = start;
  }
}

}  // namespace

std::vector<PolicyFinding> check_ptx_policy(std::string_view ptx) {
  const std::string stripped = strip_ptx_comments(ptx);
  const std::string_view text = stripped;
  constexpr std::string_view word = ".global";
  std::vector<PolicyFinding> findings;
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + word.size())) {
    if (at + word.size() >= text.size() || !is_space(text[at + word.size()])) continue;
    const size_t start = declaration_start(text, at);
    if (start == std::string_view::npos) continue;
    const std::string_view declaration = text.substr(start, std::min(text.find(';', at), text.size() - 1) + 1 - start);
    const std::string_view name = declared_name(declaration);
    if (name == "cutegen_plan" || !is_mutable(declaration)) continue;
    findings.push_back(
        {"no_persistent_state", fmt::format("'{}' keeps its value between launches; use cutegen::workspace() or make it const", name), 0});
  }
  return findings;
}

}  // namespace cutegen
