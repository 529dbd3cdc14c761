#include "propose/playbook/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fs.h"

namespace cutegen::playbook {
namespace {

using ::testing::HasSubstr;

std::string error_of(const Result<std::string>& r) { return r.ok() ? "" : r.error().message; }

TEST(Render, FillsNamesSectionsAndSeparatorsWithoutEscaping) {
  const auto out = render_text("{{t}} f({{#args}}{{a}}{{^last}}, {{/last}}{{/args}});{{#on}} on{{/on}}{{^on}} off{{/on}}\n",
                               {{"t", "Array<T, 4>&"}, {"args", {{{"a", "x"}}, {{"a", "y"}}}}, {"on", false}});
  ASSERT_TRUE(out.ok()) << error_of(out);
  EXPECT_EQ(*out, "Array<T, 4>& f(x, y); off\n");
}

TEST(Render, AnUnknownParameterIsAnError) {
  EXPECT_THAT(error_of(render_text("{{tile}} {{til}}\n", {{"tile", 4}})), HasSubstr("'til'"));
  EXPECT_THAT(error_of(render_text("{{#list}}{{b}}{{/list}}", {{"list", {{{"a", 1}}}}})), HasSubstr("'b'"));
  EXPECT_THAT(error_of(render_text("{{#list}}x{{/list}}", Json::object())), HasSubstr("'list'"));
}

TEST(Render, AnUnusedParameterIsAnError) {
  EXPECT_THAT(error_of(render_text("{{a}}\n", {{"a", 1}, {"b", 2}})), HasSubstr("'b' is not used"));
  EXPECT_THAT(error_of(render_text("{{#l}}{{a}}{{/l}}\n", {{"l", {{{"a", 1}, {"c", 2}}}}})), HasSubstr("'c' is not used"));
}

TEST(Render, MalformedTemplatesAreErrors) {
  EXPECT_FALSE(render_text("{{a", {{"a", 1}}).ok());
  EXPECT_THAT(error_of(render_text("{{#a}} x", {{"a", true}})), HasSubstr("not closed"));
}

TEST(Render, EmptySectionsLeaveNoStrayBlankLines) {
  const auto out = render_text("void f() {\n{{#l}}\n  {{x}}\n{{/l}}\n\n\n  g();\n{{#l}}\n  {{x}}\n{{/l}}\n}\n", {{"l", Json::array()}});
  ASSERT_TRUE(out.ok()) << error_of(out);
  EXPECT_EQ(*out, "void f() {\n  g();\n}\n");
}

TEST(Render, PartialsAreFilesOfTheSameFolder) {
  auto folder = TempDir::make("render");
  ASSERT_TRUE(folder.ok());
  ASSERT_TRUE(write_file_atomic(folder->path() / "head.mustache", "// {{title}}\n").ok());
  ASSERT_TRUE(write_file_atomic(folder->path() / "k.mustache", "{{>head}}\nint x;\n").ok());
  const auto out = render_file(folder->path() / "k.mustache", {{"title", "t"}});
  ASSERT_TRUE(out.ok()) << error_of(out);
  EXPECT_EQ(*out, "// t\nint x;\n");
  EXPECT_THAT(error_of(render_file(folder->path() / "k.mustache", Json::object())), HasSubstr("k.mustache"));
  EXPECT_FALSE(render_file(folder->path() / "none.mustache", Json::object()).ok());
}

}  // namespace
}  // namespace cutegen::playbook
