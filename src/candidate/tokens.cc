#include "candidate/tokens.h"

#include <algorithm>
#include <cctype>

namespace cutegen {
namespace {

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
// Bytes over 127 belong to words: compilers accept UTF-8 identifiers.
bool starts_word(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || static_cast<unsigned char>(c) > 127;
}
bool is_word(char c) { return starts_word(c) || is_digit(c); }

class Lexer {
 public:
  explicit Lexer(std::string_view source) { splice(source); }

  std::vector<Token> run() {
    while (skip_blank()) {
      if (line_start_ && (peek("#") || peek("%:"))) {
        directive();
      } else {
        token();
      }
      line_start_ = false;
    }
    end_directive();
    return std::move(tokens_);
  }

 private:
  // Phase 2 of translation: a backslash at the end of a line joins it with the next. Line numbers stay those of the file.
  void splice(std::string_view source) {
    int line = 1;
    for (size_t i = 0; i < source.size(); ++i) {
      if (source[i] == '\\') {
        size_t end = i + 1;
        while (end < source.size() && source[end] != '\n' && is_space(source[end])) ++end;
        if (end < source.size() && source[end] == '\n') {
          i = end;
          ++line;
          continue;
        }
      }
      text_.push_back(source[i]);
      lines_.push_back(line);
      if (source[i] == '\n') ++line;
    }
  }

  bool peek(std::string_view t) const { return std::string_view(text_).substr(at_).starts_with(t); }
  bool done() const { return at_ >= text_.size(); }
  int line() const { return done() ? (lines_.empty() ? 1 : lines_.back()) : lines_[at_]; }

  // Skips white space and comments; false at the end of the text.
  bool skip_blank() {
    while (!done()) {
      if (text_[at_] == '\n') {
        end_directive();
        line_start_ = true;
        ++at_;
      } else if (is_space(text_[at_])) {
        ++at_;
      } else if (peek("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (peek("/*")) {
        const size_t end = text_.find("*/", at_ + 2);
        at_ = end == std::string::npos ? text_.size() : end + 2;
      } else {
        return true;
      }
    }
    return false;
  }

  void add(TokenKind kind, std::string text, int line) { tokens_.push_back({kind, std::move(text), line}); }
  void end_directive() {
    if (in_directive_) add(TokenKind::directive_end, "", line());
    in_directive_ = false;
  }

  std::string word() {
    const size_t begin = at_;
    while (!done() && is_word(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  void directive() {
    const int at_line = line();
    at_ += peek("#") ? 1 : 2;
    while (!done() && text_[at_] != '\n' && is_space(text_[at_])) ++at_;
    const std::string name = word();
    in_directive_ = true;
    add(TokenKind::directive, name, at_line);
    if (name != "include" && name != "include_next" && name != "import" && name != "embed") return;
    while (!done() && text_[at_] != '\n' && is_space(text_[at_])) ++at_;
    if (done() || (text_[at_] != '<' && text_[at_] != '"')) return;  // a macro: its tokens follow
    const char close = text_[at_] == '<' ? '>' : '"';
    const size_t end = text_.find_first_of(std::string{close, '\n'}, at_ + 1);
    const size_t stop = end == std::string::npos ? text_.size() : text_[end] == '\n' ? end : end + 1;
    add(TokenKind::header, text_.substr(at_, stop - at_), at_line);
    at_ = stop;
  }

  void token() {
    const int at_line = line();
    if (starts_word(text_[at_])) {
      std::string w = word();
      if (!done() && text_[at_] == '"' && (w == "R" || w == "u8R" || w == "uR" || w == "LR" || w == "UR")) return raw_string(at_line);
      if (!done() && (text_[at_] == '"' || text_[at_] == '\'') && (w == "u8" || w == "u" || w == "L" || w == "U")) return quoted(at_line);
      return add(TokenKind::word, std::move(w), at_line);
    }
    if (is_digit(text_[at_]) || (text_[at_] == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) return number(at_line);
    if (text_[at_] == '"' || text_[at_] == '\'') return quoted(at_line);
    for (const std::string_view multi : {"::", "##", "<<<"})
      if (peek(multi)) {
        at_ += multi.size();
        return add(TokenKind::punctuation, std::string(multi), at_line);
      }
    add(TokenKind::punctuation, std::string(1, text_[at_++]), at_line);
  }

  void number(int at_line) {
    const size_t begin = at_;
    while (!done()) {
      const char c = text_[at_];
      const char before = at_ > begin ? text_[at_ - 1] : ' ';
      const bool exponent_sign = (c == '+' || c == '-') && std::string_view("eEpP").find(before) != std::string_view::npos;
      const bool separator = c == '\'' && at_ + 1 < text_.size() && is_word(text_[at_ + 1]);
      if (!is_word(c) && c != '.' && !exponent_sign && !separator) break;
      ++at_;
    }
    add(TokenKind::number, text_.substr(begin, at_ - begin), at_line);
  }

  void quoted(int at_line) {
    const char close = text_[at_++];
    std::string content;
    while (!done() && text_[at_] != close && text_[at_] != '\n') {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) content.push_back(text_[at_++]);
      content.push_back(text_[at_++]);
    }
    if (!done() && text_[at_] == close) ++at_;
    add(close == '"' ? TokenKind::string : TokenKind::character, std::move(content), at_line);
  }

  void raw_string(int at_line) {
    const size_t open = text_.find('(', at_);
    if (open == std::string::npos) {
      at_ = text_.size();
      return;
    }
    const std::string close = ")" + text_.substr(at_ + 1, open - at_ - 1) + "\"";
    const size_t end = text_.find(close, open);
    const size_t stop = end == std::string::npos ? text_.size() : end;
    add(TokenKind::string, text_.substr(open + 1, stop - open - 1), at_line);
    at_ = end == std::string::npos ? text_.size() : end + close.size();
  }

  std::string text_;        // spliced
  std::vector<int> lines_;  // of each character of text_
  size_t at_ = 0;
  bool line_start_ = true;
  bool in_directive_ = false;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize_cuda(std::string_view source) { return Lexer(source).run(); }

}  // namespace cutegen
