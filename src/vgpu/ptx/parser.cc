#include "vgpu/ptx/parser.h"

#include <charconv>

#include "vgpu/ptx/parser_state.h"

namespace cutegen::vgpu::ptx {

int size_bytes(Type type) {
  switch (type) {
    case Type::b8:
    case Type::u8:
    case Type::s8: return 1;
    case Type::b16:
    case Type::u16:
    case Type::s16:
    case Type::f16:
    case Type::bf16: return 2;
    case Type::b32:
    case Type::u32:
    case Type::s32:
    case Type::f32: return 4;
    case Type::b64:
    case Type::u64:
    case Type::s64:
    case Type::f64: return 8;
    case Type::b128: return 16;
    case Type::pred:
    case Type::none: return 0;
  }
  return 0;
}

const std::string& Module::file_path(uint32_t number) const {
  static const std::string unknown;
  for (const File& f : files)
    if (f.number == number) return f.path;
  return unknown;
}

std::string_view Module::line_text(uint32_t line) const {
  std::string_view rest = *text;
  for (uint32_t i = 1; i < line; ++i) {
    const size_t eol = rest.find('\n');
    if (eol == std::string_view::npos) return {};
    rest.remove_prefix(eol + 1);
  }
  rest = rest.substr(0, rest.find('\n'));
  const size_t first = rest.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return rest.substr(first, rest.find_last_not_of(" \t\r") - first + 1);
}

void Parser::fail(uint32_t line, std::string message) {
  if (failed_) return;
  failed_ = true;
  error_.code = Errc::invalid_input;
  std::string_view text = module_.line_text(line);
  if (text.size() > 200) text = text.substr(0, 200);
  error_.message = module_.name + ":" + std::to_string(line) + ": " + std::move(message) + ": `" + std::string(text) + "`";
}

bool Parser::accept(char c) {
  if (!peek().is(c)) return false;
  take();
  return true;
}

bool Parser::accept(std::string_view text) {
  if (!peek().is(text)) return false;
  take();
  return true;
}

void Parser::expect(char c, const char* where) {
  if (!accept(c)) fail(std::string("expected '") + c + "' " + where);
}

std::string_view Parser::expect_word(const char* what) {
  if (peek().kind != TokenKind::word) {
    fail(std::string("expected ") + what);
    return {};
  }
  return take().text;
}

uint64_t Parser::expect_integer(const char* what) {
  const bool negative = accept('-');
  const Token t = take();
  std::string_view s = t.text;
  if (t.kind != TokenKind::number) {
    fail(t.line, std::string("expected ") + what);
    return 0;
  }
  if (s.size() > 1 && (s.back() == 'U' || s.back() == 'u')) s.remove_suffix(1);
  int base = 10;
  if (s.size() > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
    base = 16, s.remove_prefix(2);
  else if (s.size() > 2 && s[0] == '0' && (s[1] == 'b' || s[1] == 'B'))
    base = 2, s.remove_prefix(2);
  else if (s.size() > 1 && s[0] == '0')
    base = 8, s.remove_prefix(1);
  uint64_t value = 0;
  const auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), value, base);
  if (ec != std::errc() || end != s.data() + s.size()) fail(t.line, std::string("malformed integer for ") + what);
  return negative ? ~value + 1 : value;
}

void Parser::parse_version() {
  const Token t = take();
  const size_t dot = t.text.find('.');
  int major = 0, minor = 0;
  const char* data = t.text.data();
  if (t.kind != TokenKind::number || dot == std::string_view::npos || std::from_chars(data, data + dot, major).ec != std::errc() ||
      std::from_chars(data + dot + 1, data + t.text.size(), minor).ec != std::errc()) {
    return fail(t.line, "malformed .version");
  }
  module_.version_major = major;
  module_.version_minor = minor;
}

void Parser::parse_target() {
  module_.target = std::string(expect_word("a target such as sm_90a"));
  while (accept(',')) expect_word("a target option");
}

void Parser::parse_file() {
  File f;
  f.number = static_cast<uint32_t>(expect_integer("a file number"));
  if (peek().kind != TokenKind::string) return fail("expected a file name");
  f.path = std::string(take().text);
  while (accept(',')) expect_integer("a time stamp or size");
  module_.files.push_back(std::move(f));
}

void Parser::skip_section() {  // DWARF data: nothing the machine needs
  while (!failed_ && peek().kind != TokenKind::end && !peek().is('{')) take();
  int depth = 0;
  do {
    if (peek().kind == TokenKind::end) return fail("unterminated .section");
    const Token t = take();
    depth += t.is('{') ? 1 : t.is('}') ? -1 : 0;
  } while (depth > 0 && !failed_);
}

void Parser::skip_statement() {
  while (!failed_ && peek().kind != TokenKind::end && !accept(';')) take();
}

void Parser::parse_top_level() {
  bool is_extern = false;
  for (;;) {
    if (accept(".extern"))
      is_extern = true;
    else if (!accept(".visible") && !accept(".weak") && !accept(".common"))
      break;
  }
  if (accept(".version")) return parse_version();
  if (accept(".target")) return parse_target();
  if (accept(".address_size")) {
    if (expect_integer("an address size") != 64) fail("only 64-bit addresses are supported");
    return;
  }
  if (accept(".file")) return parse_file();
  if (accept(".section")) return skip_section();
  if (accept(".pragma")) return skip_statement();
  if (accept(".entry")) return parse_function(true, is_extern);
  if (accept(".func")) return parse_function(false, is_extern);
  Space space = Space::none;
  if (accept(".global"))
    space = Space::global;
  else if (accept(".const"))
    space = Space::constant;
  else if (accept(".shared"))
    space = Space::shared;
  if (space == Space::none || !parse_variables(space, is_extern, module_.variables, true)) fail("unknown directive or declaration");
}

void Parser::parse_parameters(Function& f, std::vector<int32_t>& into) {
  if (!accept('(')) return;
  while (!failed_ && !accept(')')) {
    if (accept(".reg")) return fail("parameters in registers are not supported");
    if (!accept(".param")) return fail("expected .param");
    into.push_back(static_cast<int32_t>(f.variables.size()));
    Variable v;
    v.space = Space::param;
    if (accept(".align")) v.align = static_cast<uint32_t>(expect_integer("an alignment"));
    v.type = parse_type();
    while (at_directive()) {  // .ptr .global .align 16
      const Token t = take();
      if (t.text == ".align") expect_integer("an alignment");
    }
    v.name = "?";
    parse_one_variable(std::move(v), f.variables, false);
    if (!peek().is(')')) expect(',', "between parameters");
  }
}

void Parser::parse_dims(uint32_t (&dims)[3]) {
  dims[0] = dims[1] = dims[2] = 1;
  for (int i = 0; i < 3; ++i) {
    dims[i] = static_cast<uint32_t>(expect_integer("a dimension"));
    if (!accept(',')) break;
  }
}

void Parser::parse_performance_directives(Function& f) {
  while (at_directive()) {
    const Token t = take();
    if (t.text == ".maxntid")
      parse_dims(f.max_threads);
    else if (t.text == ".reqntid")
      parse_dims(f.required_threads);
    else if (t.text == ".reqnctapercluster")
      parse_dims(f.cluster);
    else if (t.text == ".maxclusterrank" || t.text == ".minnctapersm" || t.text == ".maxnctapersm" || t.text == ".maxnreg")
      expect_integer("a number");
    else if (t.text == ".pragma")
      skip_statement();
    else if (t.text != ".explicitcluster" && t.text != ".noreturn" && t.text != ".blocksareclusters")
      return fail(t.line, "unknown directive of a function");
  }
}

void Parser::parse_function(bool is_entry, bool is_extern) {
  Function f;
  f.is_entry = is_entry;
  f.line = peek().line;
  scopes_.clear();
  pending_.clear();
  depth_ = 0;
  function_ = &f;
  open_scope(-1);
  if (accept(".attribute")) {
    expect('(', "after .attribute");
    while (!failed_ && !accept(')')) take();
  }
  if (!is_entry) parse_parameters(f, f.results);
  f.name = std::string(expect_word("a function name"));
  parse_parameters(f, f.parameters);
  parse_performance_directives(f);
  if (accept(';'))
    f.is_declaration = true;
  else if (is_extern)
    fail("an extern function has no body");
  else
    parse_body(f);
  function_ = nullptr;
  module_.functions.push_back(std::move(f));
}

Result<void> Parser::parse_module() {
  while (!failed_ && peek().kind != TokenKind::end) parse_top_level();
  if (!failed_ && module_.version_major == 0) fail(1, "not PTX: no .version");
  if (failed_) return error_;
  return {};
}

Result<Module> parse(std::string text, std::string name) {
  Module module;
  module.text = std::make_shared<const std::string>(std::move(text));
  module.name = std::move(name);
  CUTEGEN_CHECK(Parser(module).parse_module());
  return module;
}

}  // namespace cutegen::vgpu::ptx
