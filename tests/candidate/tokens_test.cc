#include "candidate/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cutegen {
namespace {

std::vector<std::string> texts(std::string_view source) {
  std::vector<std::string> out;
  for (const Token& t : tokenize_cuda(source))
    out.push_back(t.kind == TokenKind::directive_end ? "\\n" : t.kind == TokenKind::directive ? "#" + t.text : t.text);
  return out;
}

TEST(Tokens, SplitsCodeAndDropsComments) {
  EXPECT_THAT(texts("int a = 1'000 + 0x1p-3f; // c\nf<<<g>>>(a /* b */);"),
              testing::ElementsAre("int", "a", "=", "1'000", "+", "0x1p-3f", ";", "f", "<<<", "g", ">", ">", ">", "(", "a", ")", ";"));
}

TEST(Tokens, DirectivesEndWithTheirLine) {
  EXPECT_THAT(texts("#define A(x) x \\\n  + 1\nint b;"),
              testing::ElementsAre("#define", "A", "(", "x", ")", "x", "+", "1", "\\n", "int", "b", ";"));
  EXPECT_THAT(texts("# include <cute/tensor.hpp>\n#include \"task.h\" // x"),
              testing::ElementsAre("#include", "<cute/tensor.hpp>", "\\n", "#include", "\"task.h\"", "\\n"));
  EXPECT_THAT(texts("a # b"), testing::ElementsAre("a", "#", "b"));
}

TEST(Tokens, KeepsLineNumbersAcrossSplices) {
  const auto tokens = tokenize_cuda("in\\\nt a;\n\n/* x\n y */ b");
  ASSERT_EQ(tokens.size(), 4u);
  EXPECT_EQ(tokens[0].text, "int");
  EXPECT_EQ(tokens[0].line, 1);
  EXPECT_EQ(tokens[1].line, 2);
  EXPECT_EQ(tokens[3].text, "b");
  EXPECT_EQ(tokens[3].line, 5);
}

TEST(Tokens, StringsAreOneToken) {
  const auto tokens = tokenize_cuda(R"src("a\"b" 'c' R"x(y" )y)x" u8"z")src");
  ASSERT_EQ(tokens.size(), 4u);
  EXPECT_EQ(tokens[0].text, "a\\\"b");
  EXPECT_EQ(tokens[0].kind, TokenKind::string);
  EXPECT_EQ(tokens[1].kind, TokenKind::character);
  EXPECT_EQ(tokens[2].text, "y\" )y");
  EXPECT_EQ(tokens[3].text, "z");
}

TEST(Tokens, SurvivesEveryCutOffText) {
  const std::string source = "#include <a>\n#pragma x\nR\"d(x)d\" \"s\\\"\" 'c' /* c */ // e\nint a = 1.5e+3; f<<<1>>>(); \\\n";
  for (size_t n = 0; n <= source.size(); ++n) tokenize_cuda(std::string_view(source).substr(0, n));
  EXPECT_TRUE(tokenize_cuda("").empty());
}

}  // namespace
}  // namespace cutegen
