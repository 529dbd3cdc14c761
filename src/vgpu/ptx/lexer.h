// Tokens of PTX (PTX ISA 4.1-4.4).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cutegen::vgpu::ptx {

enum class TokenKind : uint8_t {
  end,
  word,      // identifier: [A-Za-z_$%][A-Za-z0-9_$]*
  dot_word,  // .global, .shared::cluster, .L2::128B
  number,
  string,  // without its quotes
  punct,   // one character
  bad,     // an unterminated string or comment, or a character outside the language
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  uint32_t line = 1;
  bool glued = false;  // no white space before it

  bool is(char c) const { return kind == TokenKind::punct && text[0] == c; }
  bool is(std::string_view s) const { return (kind == TokenKind::word || kind == TokenKind::dot_word) && text == s; }
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) { advance(); }
  const Token& peek() const { return token_; }
  Token take() {
    Token t = token_;
    advance();
    return t;
  }

 private:
  void advance();
  bool skip_space();  // false at an unterminated comment
  void lex_word(char first);
  std::string_view text_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  Token token_;
};

}  // namespace cutegen::vgpu::ptx
