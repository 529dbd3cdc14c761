#include "toolchain/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

namespace cutegen {
namespace {

constexpr size_t kMaxMessage = 400;  // characters
constexpr size_t kMaxKept = 40;      // diagnostics

std::string_view trim(std::string_view s) {
  const size_t begin = s.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return s.substr(begin, s.find_last_not_of(" \t\r") - begin + 1);
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::optional<int> to_int(std::string_view s) {
  int v = 0;
  const auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (ec != std::errc() || end != s.data() + s.size() || s.empty()) return std::nullopt;
  return v;
}

// "error", "warning" or "" (a note or remark).
std::string severity_of(std::string_view word) {
  if (word.find("error") != std::string_view::npos || word.starts_with("fatal")) return "error";
  if (word.starts_with("warning")) return "warning";
  return "";
}

struct Head {
  std::string_view file;
  int line = 0;
  std::string severity;
  std::string_view message;
};

// "file(12): error #123-D: message", EDG.
std::optional<Head> edg_head(std::string_view text) {
  const size_t close = text.find("): ");
  if (close == std::string_view::npos) return std::nullopt;
  const size_t open = text.rfind('(', close);
  if (open == std::string_view::npos || open == 0) return std::nullopt;
  const auto line = to_int(text.substr(open + 1, close - open - 1));
  std::string_view rest = text.substr(close + 3);
  const size_t colon = rest.find(": ");
  if (!line || colon == std::string_view::npos || colon > 40) return std::nullopt;
  std::string severity = severity_of(rest.substr(0, colon));
  const bool known = !severity.empty() || rest.starts_with("note") || rest.starts_with("remark");
  if (!known) return std::nullopt;
  return Head{text.substr(0, open), *line, std::move(severity), rest.substr(colon + 2)};
}

// "file:12:10: fatal error: message", gcc and clang.
std::optional<Head> gcc_head(std::string_view text) {
  for (const std::string_view mark : {": fatal error: ", ": error: ", ": warning: "}) {
    const size_t at = text.find(mark);
    if (at == std::string_view::npos) continue;
    std::string_view place = text.substr(0, at);
    std::vector<int> numbers;
    for (size_t colon = place.rfind(':'); colon != std::string_view::npos && numbers.size() < 2; colon = place.rfind(':')) {
      const auto n = to_int(place.substr(colon + 1));
      if (!n) break;
      numbers.push_back(*n);
      place = place.substr(0, colon);
    }
    if (numbers.empty()) return std::nullopt;
    return Head{place, numbers.back(), mark == ": warning: " ? "warning" : "error", text.substr(at + mark.size())};
  }
  return std::nullopt;
}

// One step of a "detected during" chain.
struct Frame {
  std::string_view what;  // what was instantiated
  std::string_view file;  // empty: the file of the error
  int line = 0;
};

// `instantiation of "..." at line 12 of file`, possibly behind "detected during ".
std::optional<Frame> frame_of(std::string_view text) {
  const size_t at = text.rfind(" at line ");
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(at + 9);
  const size_t of = rest.find(" of ");
  const auto line = to_int(of == std::string_view::npos ? rest : rest.substr(0, of));
  if (!line) return std::nullopt;
  const size_t open = text.find('"');
  const size_t close = text.rfind('"', at);
  const bool quoted = open != std::string_view::npos && close != std::string_view::npos && close > open;
  Frame frame;
  frame.what = quoted ? text.substr(open + 1, close - open - 1) : trim(text.substr(0, at));
  if (of != std::string_view::npos) {
    frame.file = rest.substr(of + 4);
    if (frame.file.starts_with('"') && frame.file.ends_with('"') && frame.file.size() > 1)
      frame.file = frame.file.substr(1, frame.file.size() - 2);
  }
  frame.line = *line;
  return frame;
}

bool is_cute(std::string_view file) { return file.starts_with("cute/") || file.starts_with("cutlass/"); }

std::string clipped(std::string text) {
  if (text.size() > kMaxMessage) {
    text.resize(kMaxMessage);
    text += " ...";
  }
  return text;
}

// `static assertion failed with "why"` reads better as `static assertion failed: why`.
std::string clean_message(std::string_view message) {
  constexpr std::string_view failed = "static assertion failed with \"";
  if (message.starts_with(failed) && message.ends_with('"'))
    return fmt::format("static assertion failed: {}", message.substr(failed.size(), message.size() - failed.size() - 1));
  return std::string(message);
}

class Parser {
 public:
  explicit Parser(const DiagnosticContext& context) : context_(context), source_(split_lines(context.source)) {}

  std::vector<Diagnostic> run(std::string_view log) {
    for (const std::string_view line : split_lines(log)) take(line);
    finish();
    std::stable_sort(done_.begin(), done_.end(), [](const Diagnostic& a, const Diagnostic& b) { return rank(a) < rank(b); });
    if (done_.size() > kMaxKept) done_.resize(kMaxKept);
    return std::move(done_);
  }

 private:
  static int rank(const Diagnostic& d) { return d.severity == "error" ? 0 : d.severity == "warning" ? 1 : 2; }

  void take(std::string_view raw) {
    const std::string_view line = trim(raw);
    if (line.empty()) return;
    if (take_tool(line)) return;
    auto head = edg_head(raw);
    if (!head) head = gcc_head(raw);
    if (head) return begin(*head);
    if (!open_) return;
    if (line.starts_with("argument types are:")) current_.message += " " + std::string(line);
    if (line.find("instantiation of ") != std::string_view::npos || line.starts_with("detected during"))
      if (const auto frame = frame_of(line)) chain_.push_back(*frame);
  }

  void begin(const Head& head) {
    if (head.severity.empty()) return;  // a note belongs to the error in front of it
    finish();
    open_ = true;
    current_ = {};
    current_.severity = head.severity;
    current_.file = as_included(head.file);
    current_.line = head.line;
    current_.message = clean_message(head.message);
  }

  // ptxas and nvcc speaking for themselves.
  bool take_tool(std::string_view line) {
    if (line.starts_with("ptxas ")) return take_ptxas(line);
    if (!line.starts_with("nvcc ") && !line.starts_with("nvcc:")) return false;
    const size_t colon = line.find(": ");
    if (colon == std::string_view::npos) return false;
    add("error", "", 0, "nvcc: " + std::string(line.substr(colon + 2)));
    return true;
  }

  bool take_ptxas(std::string_view line) {
    const size_t colon = line.find(" : ");
    if (colon == std::string_view::npos) return false;
    std::string_view head = trim(line.substr(0, colon));
    const std::string_view message = trim(line.substr(colon + 3));
    int ptx_line = 0;
    if (const size_t semicolon = head.find("; "); semicolon != std::string_view::npos) {
      const size_t mark = head.find(", line ");
      if (mark != std::string_view::npos) ptx_line = to_int(head.substr(mark + 7, semicolon - mark - 7)).value_or(0);
      head = head.substr(semicolon + 2);
    } else {
      head = head.substr(6);
    }
    if (head == "info" && !message.starts_with("(C")) return true;
    if (message.starts_with("Ptx assembly aborted") && !done_.empty()) return true;
    add(head == "info" ? "advisory" : severity_of(head), ptx_line > 0 ? "candidate.ptx" : "", ptx_line, std::string(message));
    return true;
  }

  void add(const std::string& severity, const std::string& file, int line, std::string message) {
    finish();
    if (severity.empty()) return;
    current_ = {};
    current_.severity = severity;
    current_.file = file;
    current_.line = line;
    current_.message = std::move(message);
    int ptx_line = line;
    if (severity == "advisory") ptx_line = line_in(current_.message);
    if (ptx_line > 0 && !context_.ptx.empty()) current_.user_line = quote(source_line_of_ptx(context_.ptx, ptx_line));
    push();
  }

  // "... around line 124 ..."
  static int line_in(std::string_view message) {
    const size_t at = message.find("line ");
    if (at == std::string_view::npos) return 0;
    const std::string_view digits = message.substr(at + 5);
    return to_int(digits.substr(0, digits.find_first_not_of("0123456789"))).value_or(0);
  }

  std::string quote(int line) const {
    if (line < 1 || static_cast<size_t>(line) > source_.size()) return "";
    return fmt::format("{}:{}: {}", kSourceName, line, trim(source_[static_cast<size_t>(line) - 1]));
  }

  void finish() {
    if (open_) {
      attribute();
      push();
    }
    open_ = false;
    chain_.clear();
  }

  // Finds the user's line and the innermost CuTe frame of the error at hand.
  void attribute() {
    if (current_.file == kSourceName) current_.user_line = quote(current_.line);
    if (is_cute(current_.file)) {
      current_.cute_frame = fmt::format("{}:{}", current_.file, current_.line);
      if (!chain_.empty()) current_.cute_frame += " in " + short_function(chain_.front().what);
    }
    for (const Frame& frame : chain_) {
      const std::string file = frame.file.empty() ? current_.file : as_included(frame.file);
      if (current_.user_line.empty() && file == kSourceName) current_.user_line = quote(frame.line);
      if (current_.cute_frame.empty() && is_cute(file)) current_.cute_frame = fmt::format("{}:{}", file, frame.line);
    }
  }

  void push() {
    current_.message = clipped(std::move(current_.message));
    const auto same = std::find_if(done_.begin(), done_.end(), [&](const Diagnostic& d) {
      if (d.severity != current_.severity || d.message != current_.message) return false;
      return (d.file == current_.file && d.line == current_.line) || (!d.user_line.empty() && d.user_line == current_.user_line);
    });
    if (same != done_.end()) {
      ++same->repeats;
    } else {
      done_.push_back(std::move(current_));
    }
    current_ = {};
  }

  const DiagnosticContext& context_;
  std::vector<std::string_view> source_;
  std::vector<Diagnostic> done_;
  Diagnostic current_;
  bool open_ = false;
  std::vector<Frame> chain_;
};

}  // namespace

std::vector<Diagnostic> parse_diagnostics(std::string_view log, const DiagnosticContext& context) { return Parser(context).run(log); }

std::string as_included(std::string_view path) {
  if (const size_t at = path.rfind("/include/"); at != std::string_view::npos) path.remove_prefix(at + 9);
  while (path.starts_with("./")) path.remove_prefix(2);
  if (path.starts_with('/') && path.ends_with(std::string("/") + kSourceName)) return kSourceName;
  return std::string(path);
}

std::string short_function(std::string_view signature) {
  signature = signature.substr(0, signature.find(" [with "));
  std::string out;
  int depth = 0;
  for (const char c : signature) {
    if (c == '<') {
      if (depth++ == 0) out += "<...>";
    } else if (c == '>' && depth > 0) {
      --depth;
    } else if (depth == 0) {
      if (c == '(' && !out.ends_with("operator")) break;
      if (c == ' ' && !out.ends_with("operator")) {
        out.clear();  // what came so far was the return type
      } else {
        out.push_back(c);
      }
    }
  }
  return out.empty() ? std::string(signature.substr(0, 80)) : out;
}

int source_line_of_ptx(std::string_view ptx, int line) {
  struct Place {
    std::string_view file, line, column;
    bool operator==(const Place&) const = default;
  };
  const auto words = [](std::string_view text) {
    std::vector<std::string_view> out;
    while (!(text = trim(text)).empty()) {
      const size_t end = std::min(text.find_first_of(" \t,"), text.size());
      if (end > 0) out.push_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
  };
  const std::vector<std::string_view> lines = split_lines(ptx);
  std::string_view candidate_file;  // its number
  for (const std::string_view l : lines)
    if (const std::string_view t = trim(l); t.starts_with(".file") && t.find(std::string(kSourceName) + "\"") != std::string_view::npos) {
      const auto w = words(t);
      if (w.size() >= 3) candidate_file = w[1];
    }
  if (candidate_file.empty() || line < 1) return 0;
  Place want;  // empty: the nearest .loc
  for (size_t i = std::min(static_cast<size_t>(line), lines.size()); i-- > 0;) {
    const std::string_view text = trim(lines[i]);
    if (text.find(".entry ") != std::string_view::npos) return 0;
    if (!text.starts_with(".loc")) continue;
    const auto w = words(text);
    if (w.size() < 4) continue;
    const Place here{w[1], w[2], w[3]};
    if (!want.file.empty() && here != want) continue;
    if (here.file == candidate_file) return to_int(here.line).value_or(0);
    const auto inlined = std::find(w.begin(), w.end(), "inlined_at");
    if (w.end() - inlined < 4) return 0;
    want = {inlined[1], inlined[2], inlined[3]};
    if (want.file == candidate_file) return to_int(want.line).value_or(0);
  }
  return 0;
}

}  // namespace cutegen
