// The hash that recognises two candidates as the same code: kernels are numbered in order of appearance, registers and labels in order of
// first use in their function; comments, .loc and .file lines and register counts do not take part.
#include <algorithm>
#include <cctype>
#include <map>
#include <string>

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

// Names of internal objects hold the translation unit's file name and a hash, with their length in front:
// "31_INTERNAL_b3f247d4_4_b_cu_scale".
std::string without_unit(std::string_view word) {
  std::string out(word);
  for (const std::string_view mark : {"_INTERNAL_", "_GLOBAL__N__"}) {
    for (size_t at = out.find(mark); at != std::string::npos; at = out.find(mark, at + mark.size())) {
      // In "__442_GLOBAL__N__" the length is 42 and the 4 ends another name: the digits that reach exactly to the end or to the next name
      // count.
      size_t digits = at;
      while (digits > 0 && std::isdigit(static_cast<unsigned char>(out[digits - 1])) != 0) --digits;
      for (size_t first = digits; first < at; ++first) {
        const size_t length = std::stoul(out.substr(first, std::min<size_t>(at - first, 6)));
        if (at - first > 4 || length < mark.size() || at + length > out.size()) continue;
        out.replace(first, at - first + length, "0" + std::string(mark));
        at = first + 1;
        break;
      }
    }
  }
  return out;
}

class Normaliser {
 public:
  explicit Normaliser(const std::vector<PtxEntry>& entries) {
    for (const PtxEntry& e : entries) kernels_.emplace(e.name, "kernel" + std::to_string(kernels_.size()));
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

  std::string kernel(const std::string& name) const {
    const auto it = kernels_.find(name);
    return it == kernels_.end() ? name : it->second;
  }

 private:
  std::string word(std::string_view w) {
    if (is_register(w)) return numbered(w, "%" + std::string(1, w[1]));
    if (w.starts_with("$L")) return numbered(w, "$");
    if (const size_t at = w.find("_param_"); at != std::string_view::npos)
      return kernel(std::string(w.substr(0, at))) + std::string(w.substr(at));
    return kernel(without_unit(w));
  }
  std::string numbered(std::string_view w, const std::string& kind) {
    const auto [it, fresh] = local_.try_emplace(std::string(w), kind + std::to_string(local_.size()));
    return it->second;
  }

  std::map<std::string, std::string, std::less<>> kernels_;
  std::map<std::string, std::string, std::less<>> local_;  // registers and labels of the function at hand
};

std::string_view trim(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front())) != 0) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back())) != 0) s.remove_suffix(1);
  return s;
}

// Lines that say nothing about what the code does.
bool is_noise(std::string_view line) {
  return line.empty() || line.starts_with(".loc") || line.starts_with(".file") ||
         (line.starts_with(".reg") && line.find('<') != std::string_view::npos);
}

}  // namespace

std::string normalised_ptx_hash(std::string_view ptx) {
  const std::string text = strip_ptx_comments(ptx);
  Normaliser normaliser(ptx_entries(text));
  Hasher hash;
  hash.add("ptx-1");
  bool debug_section = false;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = trim(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
    if (line.starts_with(".section")) debug_section = true;
    const bool plan = line.find(" cutegen_plan[") != std::string_view::npos;
    if (!debug_section && !plan && !is_noise(line)) normaliser.line(line, hash);
    if (debug_section && line == "}") debug_section = false;
  }
  // The plan names kernels: its decoded form takes part, under their new names.
  if (auto plan = plan_from_ptx(text); plan.ok()) {
    for (Launch& launch : plan->launches) launch.kernel = normaliser.kernel(launch.kernel);
    hash.add(to_json(*plan).dump());
  }
  return hash.hex();
}

}  // namespace cutegen
