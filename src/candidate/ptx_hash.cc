// The hash that recognises two candidates as the same code: declared names are numbered in order of appearance, registers and labels in
// order of first use in their function; comments, .loc and .file lines and register counts do not take part.
#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <vector>

#include "base/hash.h"
#include "candidate/candidate.h"
#include "candidate/plan.h"
#include "candidate/ptx_text.h"

namespace cutegen {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%' || c == '.'; }

// "%rd12" as nvcc names registers: letters, then digits.
bool is_register(std::string_view word) {
  if (word.size() < 3 || word[0] != '%') return false;
  size_t i = 1;
  while (i < word.size() && std::islower(static_cast<unsigned char>(word[i])) != 0) ++i;
  if (i == 1 || i == word.size() || word.starts_with("%envreg") || word.starts_with("%pm")) return false;
  for (; i < word.size(); ++i)
    if (std::isdigit(static_cast<unsigned char>(word[i])) == 0) return false;
  return true;
}

std::string_view trim(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front())) != 0) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back())) != 0) s.remove_suffix(1);
  return s;
}

// The name that a line declares: a variable in some state space, a function or an entry; empty for any other line. Such names hold the
// kernel's (of a __shared__ array in it) or the translation unit's (of an internal object), so they say nothing about the code.
std::string_view declared_name(std::string_view line) {
  const auto holds = [&](std::string_view directive) {
    return line.starts_with(directive) || (line.starts_with('.') && line.find(" " + std::string(directive)) != std::string_view::npos);
  };
  size_t end = std::string_view::npos;
  if (holds(".func ") || holds(".entry ")) {
    end = line.rfind('(');
  } else if (holds(".shared ") || holds(".global ") || holds(".const ") || holds(".local ")) {
    end = line.find_first_of("[=;");
  }
  if (end == std::string_view::npos) return {};
  const std::string_view head = trim(line.substr(0, end));
  return head.substr(head.find_last_of(" \t)") + 1);
}

class Normaliser {
 public:
  // The name declared by `line` is from now on its number.
  void declare(std::string_view line) {
    if (const std::string_view name = declared_name(line); !name.empty())
      names_.try_emplace(std::string(name), "name" + std::to_string(names_.size()));
  }

  void line(std::string_view text, Hasher& hash) {
    if (text.starts_with(".entry") || text.find(".entry ") != std::string_view::npos || text.starts_with(".func") ||
        text.find(".func ") != std::string_view::npos)
      local_.clear();
    std::string out;
    for (size_t i = 0; i < text.size();) {
      if (std::isspace(static_cast<unsigned char>(text[i])) != 0) {
        ++i;
        continue;
      }
      size_t n = 1;
      if (is_word(text[i]))
        while (i + n < text.size() && is_word(text[i + n])) ++n;
      out += word(text.substr(i, n));
      out += ' ';
      i += n;
    }
    hash.add(out);
  }

  std::string name(std::string_view given) const {
    const auto it = names_.find(given);
    return it == names_.end() ? std::string(given) : it->second;
  }

 private:
  std::string word(std::string_view w) {
    if (is_register(w)) return numbered(w, "%" + std::string(1, w[1]));
    if (w.starts_with("$L")) return numbered(w, "$");
    if (const size_t at = w.find("_param_"); at != std::string_view::npos) return name(w.substr(0, at)) + std::string(w.substr(at));
    return name(w);
  }
  std::string numbered(std::string_view w, const std::string& kind) {
    const auto [it, fresh] = local_.try_emplace(std::string(w), kind + std::to_string(local_.size()));
    return it->second;
  }

  std::map<std::string, std::string, std::less<>> names_;
  std::map<std::string, std::string, std::less<>> local_;  // registers and labels of the function at hand
};

// Lines that say nothing about what the code does.
bool is_noise(std::string_view line) {
  return line.empty() || line.starts_with(".loc") || line.starts_with(".file") ||
         (line.starts_with(".reg") && line.find('<') != std::string_view::npos);
}

// The lines that say what the code does, without debug sections and the plan's bytes.
std::vector<std::string_view> code_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  bool debug_section = false;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = trim(text.substr(begin, end - begin));
    begin = end + 1;
    if (line.starts_with(".section")) debug_section = true;
    const bool plan = line.find(" cutegen_plan[") != std::string_view::npos;
    if (!debug_section && !plan && !is_noise(line)) lines.push_back(line);
    if (debug_section && line == "}") debug_section = false;
  }
  return lines;
}

}  // namespace

std::string normalised_ptx_hash(std::string_view ptx) {
  const std::string text = strip_ptx_comments(ptx);
  Normaliser normaliser;
  const std::vector<std::string_view> lines = code_lines(text);
  for (const std::string_view line : lines) normaliser.declare(line);
  Hasher hash;
  hash.add("ptx-1");
  for (const std::string_view line : lines) normaliser.line(line, hash);
  // The plan names kernels: its decoded form takes part, under their new names.
  if (auto plan = plan_from_ptx(text); plan.ok()) {
    for (Launch& launch : plan->launches) launch.kernel = normaliser.name(launch.kernel);
    hash.add(to_json(*plan).dump());
  }
  return hash.hex();
}

}  // namespace cutegen
