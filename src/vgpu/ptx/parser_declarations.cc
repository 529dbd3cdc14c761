#include <cstring>

#include "vgpu/ptx/parser_state.h"

namespace cutegen::vgpu::ptx {
namespace {

constexpr uint64_t kMaxVariableBytes = 1ull << 32;
constexpr uint64_t kMaxRegisters = 1u << 17;

Type type_of(std::string_view s) {
  struct Named {
    std::string_view name;
    Type type;
  };
  static constexpr Named kTypes[] = {{".b8", Type::b8},     {".b16", Type::b16},   {".b32", Type::b32},   {".b64", Type::b64},
                                     {".b128", Type::b128}, {".u8", Type::u8},     {".u16", Type::u16},   {".u32", Type::u32},
                                     {".u64", Type::u64},   {".s8", Type::s8},     {".s16", Type::s16},   {".s32", Type::s32},
                                     {".s64", Type::s64},   {".f16", Type::f16},   {".bf16", Type::bf16}, {".f32", Type::f32},
                                     {".f64", Type::f64},   {".pred", Type::pred}, {".f16x2", Type::b32}, {".bf16x2", Type::b32}};
  for (const Named& t : kTypes)
    if (t.name == s) return t.type;
  return Type::none;
}

}  // namespace

Type Parser::parse_type() {
  const Token t = take();
  const Type type = type_of(t.text);
  if (type == Type::none) fail(t.line, "expected a type");
  return type;
}

// [12] or [3][4] or []; nothing for a scalar.
uint64_t Parser::parse_array_suffix(uint64_t* elements, bool* unsized) {
  *elements = 1;
  *unsized = false;
  while (accept('[')) {
    if (accept(']')) {
      *unsized = true;
      continue;
    }
    const uint64_t n = expect_integer("an array size");
    if (n > kMaxVariableBytes || *elements * n > kMaxVariableBytes) {
      fail("array too large");
      return 0;
    }
    *elements *= n;
    expect(']', "after an array size");
  }
  return *elements;
}

void Parser::parse_one_variable(Variable v, std::vector<Variable>& into, bool module_level) {
  const std::string_view name = expect_word("a variable name");
  v.name = std::string(name);
  uint64_t elements = 1;
  bool unsized = false;
  parse_array_suffix(&elements, &unsized);
  const auto element = static_cast<uint32_t>(size_bytes(v.type));
  if (element == 0) return fail("a variable needs a type with a size");
  v.align = std::max(v.align, element);
  if ((v.align & (v.align - 1)) != 0 || v.align > 4096) return fail("an alignment is a power of two up to 4096");
  v.bytes = unsized ? 0 : elements * element;
  if (accept('=')) parse_initialiser(v);
  const auto index = static_cast<int32_t>(into.size());
  auto& names = module_level ? globals_ : scopes_[static_cast<size_t>(scope_)].variables;
  if (!names.emplace(name, index).second && !module_level) return fail("name declared twice");
  names[name] = index;
  into.push_back(std::move(v));
}

bool Parser::parse_variables(Space space, bool is_extern, std::vector<Variable>& into, bool module_level) {
  Variable v;
  v.space = space;
  v.is_extern = is_extern;
  uint64_t vector = 1;
  for (;;) {
    if (accept(".align")) {
      v.align = static_cast<uint32_t>(expect_integer("an alignment"));
    } else if (accept(".attribute")) {
      expect('(', "after .attribute");
      while (!failed_ && peek().kind != TokenKind::end && !accept(')')) take();
    } else if (peek().is(".v2") || peek().is(".v4")) {
      vector = take().text == ".v2" ? 2 : 4;
    } else {
      break;
    }
  }
  if (vector != 1) {
    fail("variables of vector type are not supported");
    return false;
  }
  v.type = parse_type();
  do {
    parse_one_variable(v, into, module_level);
  } while (accept(','));
  expect(';', "after a declaration");
  return !failed_;
}

void Parser::parse_init_value(Variable& v, uint64_t& offset) {
  const auto element = static_cast<uint64_t>(size_bytes(v.type));
  if (v.bytes != 0 && offset + element > v.bytes) return fail("initialiser longer than its variable");
  uint64_t bits = 0;
  if (peek().kind == TokenKind::word) {
    Relocation r;
    r.offset = static_cast<uint32_t>(offset);
    std::string_view name = take().text;
    if (name == "generic" && accept('(')) {
      r.generic = true;
      name = expect_word("a name in generic()");
      expect(')', "after generic(");
    }
    r.symbol = std::string(name);
    r.addend = parse_offset();
    if (element != 8) return fail("an address needs a 64-bit variable");
    v.relocations.push_back(std::move(r));
  } else {
    const Operand value = parse_number(accept('-'));
    bits = value.bits;
    if (value.kind == Operand::Kind::real && v.type == Type::f32 && !value.is_f32) {
      double d = 0;
      std::memcpy(&d, &bits, 8);
      const auto f = static_cast<float>(d);
      bits = 0;
      std::memcpy(&bits, &f, 4);
    }
  }
  v.init.resize(std::max<size_t>(v.init.size(), offset + element));
  std::memcpy(v.init.data() + offset, &bits, std::min<uint64_t>(element, 8));
  offset += element;
}

void Parser::parse_init_values(Variable& v, uint64_t& offset) {
  if (!accept('{')) return parse_init_value(v, offset);
  if (++depth_ > 16) return fail("initialiser nested too deeply");
  while (!failed_ && !accept('}')) {
    parse_init_values(v, offset);
    if (!peek().is('}')) expect(',', "between values");
  }
  --depth_;
}

void Parser::parse_initialiser(Variable& v) {
  uint64_t offset = 0;
  parse_init_values(v, offset);
  if (v.bytes == 0) v.bytes = offset;
}

// .reg .b32 %r<5>, %x;  declares %r0 .. %r4 and %x.
void Parser::parse_registers() {
  const Type type = parse_type();
  do {
    const std::string_view stem = expect_word("a register name");
    uint64_t count = 0;
    const bool ranged = accept('<');
    if (ranged) {
      count = expect_integer("a register count");
      expect('>', "after a register count");
    }
    if (failed_) return;
    if (count + function_->registers.size() >= kMaxRegisters) return fail("too many registers");
    Scope& scope = scopes_[static_cast<size_t>(scope_)];
    const auto first = static_cast<int32_t>(function_->registers.size());
    const bool fresh = ranged ? scope.ranges.emplace(stem, Range{first, count}).second : scope.registers.emplace(stem, first).second;
    if (!fresh) return fail("register declared twice");
    for (uint64_t i = 0; i < (ranged ? count : 1); ++i)
      function_->registers.push_back({ranged ? std::string(stem) + std::to_string(i) : std::string(stem), type});
  } while (accept(','));
  expect(';', "after .reg");
}

}  // namespace cutegen::vgpu::ptx
