#include "candidate/ptx_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace cutegen {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%'; }

// Splits text into words (with their leading '.'), numbers and single punctuation characters.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  // The next token; empty at the end.
  std::string_view next() {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_[0])) != 0) rest_.remove_prefix(1);
    if (rest_.empty()) return {};
    size_t n = 1;
    if (rest_[0] == '"') {
      n = std::min(rest_.find('"', 1), rest_.size() - 1) + 1;
    } else if (is_word(rest_[0]) || rest_[0] == '.') {
      while (n < rest_.size() && is_word(rest_[n])) ++n;
    }
    const std::string_view token = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return token;
  }
  std::string_view peek() const { return Scanner(*this).next(); }

 private:
  std::string_view rest_;
};

std::optional<uint64_t> number(std::string_view token) {
  uint64_t v = 0;
  const bool hex = token.starts_with("0x") || token.starts_with("0X");
  if (hex) token.remove_prefix(2);
  if (!token.empty() && token.back() == 'U') token.remove_suffix(1);
  const auto [end, ec] = std::from_chars(token.data(), token.data() + token.size(), v, hex ? 16 : 10);
  if (ec != std::errc() || end != token.data() + token.size()) return std::nullopt;
  return v;
}

// Bytes of a fundamental type's name (".u64"), or 0.
uint32_t type_bytes(std::string_view token) {
  if (token.size() < 3 || token[0] != '.' || std::string_view("ubsf").find(token[1]) == std::string_view::npos) return 0;
  const auto bits = number(token.substr(2));
  return bits && *bits >= 8 && *bits <= 128 ? static_cast<uint32_t>(*bits / 8) : 0;
}

// The parameter list behind an entry's name, from "(" to ")".
std::vector<uint32_t> read_params(Scanner& in) {
  std::vector<uint32_t> params;
  if (in.peek() != "(") return params;
  in.next();
  uint32_t bytes = 0;
  for (std::string_view t = in.next(); !t.empty(); t = in.next()) {
    if (t == ")" || t == ",") {
      if (bytes != 0) params.push_back(bytes);
      bytes = 0;
      if (t == ")") break;
    } else if (t == "[") {
      bytes *= static_cast<uint32_t>(number(in.next()).value_or(0));
    } else if (const uint32_t b = type_bytes(t); b != 0) {
      bytes = b;
    }
  }
  return params;
}

std::array<uint32_t, 3> read_dims(Scanner& in) {
  std::array<uint32_t, 3> dims{1, 1, 1};
  for (uint32_t& d : dims) {
    const auto v = number(in.next());
    if (v) d = static_cast<uint32_t>(*v);
    if (in.peek() != ",") break;
    in.next();
  }
  return dims;
}

}  // namespace

std::string strip_ptx_comments(std::string_view ptx) {
  std::string out;
  out.reserve(ptx.size());
  for (size_t i = 0; i < ptx.size();) {
    if (ptx[i] == '"') {
      const size_t end = std::min(ptx.find('"', i + 1), ptx.size() - 1) + 1;
      out.append(ptx.substr(i, end - i));
      i = end;
    } else if (ptx.compare(i, 2, "//") == 0) {
      i = std::min(ptx.find('\n', i), ptx.size());
    } else if (ptx.compare(i, 2, "/*") == 0) {
      const size_t end = ptx.find("*/", i + 2);
      i = end == std::string_view::npos ? ptx.size() : end + 2;
      out.push_back(' ');
    } else {
      out.push_back(ptx[i++]);
    }
  }
  return out;
}

std::vector<PtxEntry> ptx_entries(std::string_view ptx) {
  const std::string text = strip_ptx_comments(ptx);
  std::vector<PtxEntry> entries;
  Scanner in(text);
  for (std::string_view t = in.next(); !t.empty(); t = in.next()) {
    if (t != ".entry") continue;
    PtxEntry entry;
    entry.name = in.next();
    entry.param_bytes = read_params(in);
    for (t = in.peek(); !t.empty() && t != "{" && t != ";"; t = in.peek()) {
      in.next();
      if (t == ".maxntid" || t == ".reqntid") {
        const auto dims = read_dims(in);
        entry.max_threads = uint64_t{dims[0]} * dims[1] * dims[2];
        entry.exact_threads = t == ".reqntid";
      } else if (t == ".reqnctapercluster") {
        entry.cluster = read_dims(in);
      }
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::optional<std::string> ptx_bytes(std::string_view ptx, std::string_view name) {
  const std::string text = strip_ptx_comments(ptx);
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    const size_t type_end = text.find_last_not_of(" \t\n", at == 0 ? 0 : at - 1);
    if (at < 4 || type_end == std::string::npos || type_end < 2 || text.compare(type_end - 2, 3, ".b8") != 0) continue;
    Scanner in(std::string_view(text).substr(end));
    if (in.next() != "[") continue;
    const auto size = number(in.next());
    if (!size || *size > (1u << 20) || in.next() != "]") continue;
    std::string bytes;
    if (in.next() == "=" && in.next() == "{") {
      for (std::string_view t = in.next(); !t.empty() && t != "}"; t = in.next()) {
        if (t == ",") continue;
        const auto v = number(t);
        if (!v || *v > 255) return std::nullopt;
        bytes.push_back(static_cast<char>(*v));
      }
    }
    if (bytes.size() > *size) return std::nullopt;
    bytes.resize(*size, '\0');
    return bytes;
  }
  return std::nullopt;
}

}  // namespace cutegen
