#include "vgpu/ptx/lexer.h"

namespace cutegen::vgpu::ptx {
namespace {

bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_word(char c) { return is_alpha(c) || c == '_' || c == '$' || c == '%'; }
bool in_word(char c) { return is_alpha(c) || is_digit(c) || c == '_' || c == '$'; }

}  // namespace

bool Lexer::skip_space() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') {
      ++line_, ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++at_;
    } else if (text_.substr(at_, 2) == "//") {
      at_ = text_.find('\n', at_);
      if (at_ == std::string_view::npos) at_ = text_.size();
    } else if (text_.substr(at_, 2) == "/*") {
      const size_t end = text_.find("*/", at_ + 2);
      if (end == std::string_view::npos) return false;
      for (; at_ < end + 2; ++at_) line_ += text_[at_] == '\n';
    } else {
      break;
    }
  }
  return true;
}

void Lexer::lex_word(char first) {
  if (starts_word(first)) {
    token_.kind = TokenKind::word;
    while (at_ < text_.size() && in_word(text_[at_])) ++at_;
  } else if (is_digit(first)) {  // 12, 0x1F, 0f3F800000, 1.5e-3, 7U
    token_.kind = TokenKind::number;
    auto exponent_sign = [&] {
      const char before = text_[at_ - 1];
      return (text_[at_] == '-' || text_[at_] == '+') && (before == 'e' || before == 'E') && first != '0';
    };
    while (at_ < text_.size() && (in_word(text_[at_]) || text_[at_] == '.' || exponent_sign())) ++at_;
  } else if (first == '.' && at_ < text_.size() && in_word(text_[at_])) {
    token_.kind = TokenKind::dot_word;
    while (at_ < text_.size()) {
      if (in_word(text_[at_])) {
        ++at_;
      } else if (text_.substr(at_, 2) == "::" && at_ + 2 < text_.size() && in_word(text_[at_ + 2])) {
        at_ += 2;
      } else {
        break;
      }
    }
  } else {
    constexpr std::string_view kPunctuation = "{}[]()<>,;:+-!@|=.*~&^?/";
    token_.kind = kPunctuation.find(first) != std::string_view::npos ? TokenKind::punct : TokenKind::bad;
  }
}

void Lexer::advance() {
  const size_t before = at_;
  token_ = {};
  if (!skip_space()) {
    token_ = {TokenKind::bad, text_.substr(at_, 2), line_, false};
    at_ = text_.size();
    return;
  }
  token_.line = line_;
  token_.glued = before == at_;
  // Fat binaries end their PTX with NUL padding.
  if (at_ >= text_.size() || text_[at_] == '\0') return;
  const size_t start = at_;
  const char first = text_[at_++];
  if (first == '"') {
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') ++at_;
    const bool closed = at_ < text_.size() && text_[at_] == '"';
    token_.kind = closed ? TokenKind::string : TokenKind::bad;
    token_.text = text_.substr(start + 1, at_ - start - 1);
    if (closed) ++at_;
    return;
  }
  lex_word(first);
  token_.text = text_.substr(start, at_ - start);
}

}  // namespace cutegen::vgpu::ptx
