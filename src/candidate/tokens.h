// A candidate's source as tokens: comments are gone, spliced lines are joined, string literals are one token each, so that rules can
// neither be fooled by a comment nor trip over one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cutegen {

enum class TokenKind {
  word,  // identifier or keyword
  number,
  string,  // text is the content, without quotes
  character,
  punctuation,  // one character, except "::", "##" and "<<<"
  directive,    // "#" and the directive's name: "include", "define", ...; its operands follow as tokens up to directive_end
  header,       // the operand of #include: "<cute/tensor.hpp>" or "\"x.h\"", with its delimiters
  directive_end,
};

struct Token {
  TokenKind kind = TokenKind::word;
  std::string text;
  int line = 0;  // 1-based
  bool is(std::string_view t) const { return (kind == TokenKind::word || kind == TokenKind::punctuation) && text == t; }
};

std::vector<Token> tokenize_cuda(std::string_view source);

}  // namespace cutegen
