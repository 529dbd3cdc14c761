#include <charconv>
#include <cstdlib>
#include <cstring>

#include "vgpu/ptx/parser_state.h"

namespace cutegen::vgpu::ptx {
namespace {

constexpr size_t kMaxItems = 1024;

bool is_special(std::string_view name) {
  static constexpr std::string_view kSpecial[] = {"%tid",
                                                  "%ntid",
                                                  "%ctaid",
                                                  "%nctaid",
                                                  "%laneid",
                                                  "%warpid",
                                                  "%nwarpid",
                                                  "%smid",
                                                  "%nsmid",
                                                  "%gridid",
                                                  "%clusterid",
                                                  "%nclusterid",
                                                  "%cluster_ctaid",
                                                  "%cluster_nctaid",
                                                  "%cluster_ctarank",
                                                  "%cluster_nctarank",
                                                  "%is_explicit_cluster",
                                                  "%lanemask_eq",
                                                  "%lanemask_le",
                                                  "%lanemask_lt",
                                                  "%lanemask_ge",
                                                  "%lanemask_gt",
                                                  "%clock",
                                                  "%clock_hi",
                                                  "%clock64",
                                                  "%globaltimer",
                                                  "%globaltimer_lo",
                                                  "%globaltimer_hi",
                                                  "%dynamic_smem_size",
                                                  "%total_smem_size",
                                                  "%aggr_smem_size",
                                                  "%reserved_smem_offset_begin",
                                                  "%envreg1",
                                                  "%envreg2",
                                                  "WARP_SZ"};
  for (std::string_view s : kSpecial)
    if (s == name) return true;
  return false;
}

}  // namespace

int32_t Parser::find_register(const Scope& scope, std::string_view name) {
  if (const auto it = scope.registers.find(name); it != scope.registers.end()) return it->second;
  size_t stem = name.size();
  while (stem > 1 && name[stem - 1] >= '0' && name[stem - 1] <= '9') --stem;
  for (; stem < name.size(); ++stem) {  // %rd12 is number 12 of %rd, or number 2 of %rd1
    const auto it = scope.ranges.find(name.substr(0, stem));
    if (it == scope.ranges.end() || (name[stem] == '0' && stem + 1 != name.size())) continue;
    uint64_t n = 0;
    const auto [end, ec] = std::from_chars(name.data() + stem, name.data() + name.size(), n);
    if (ec == std::errc() && n < it->second.count) return it->second.first + static_cast<int32_t>(n);
  }
  return -1;
}

bool Parser::lookup(std::string_view name, Operand& into) {
  for (int s = scope_; s >= 0; s = scopes_[static_cast<size_t>(s)].parent) {
    const Scope& scope = scopes_[static_cast<size_t>(s)];
    if (const int32_t reg = find_register(scope, name); reg >= 0) {
      into.kind = Operand::Kind::reg;
      into.reg = reg;
      return true;
    }
    if (const auto it = scope.variables.find(name); it != scope.variables.end()) {
      into.kind = Operand::Kind::variable;
      into.index = it->second;
      return true;
    }
  }
  if (const auto it = globals_.find(name); it != globals_.end()) {
    into.kind = Operand::Kind::variable;
    into.index = it->second;
    into.module_level = true;
    return true;
  }
  return false;
}

int64_t Parser::parse_offset() {  // +4, -4, +-4, or nothing
  int64_t total = 0;
  while (peek().is('+') || peek().is('-')) {
    const bool negative = take().is('-');
    const auto n = static_cast<int64_t>(expect_integer("an offset"));
    total = static_cast<int64_t>(static_cast<uint64_t>(total) + static_cast<uint64_t>(negative ? -n : n));
    if (failed_) break;
  }
  return total;
}

Operand Parser::parse_number(bool negative) {
  Operand o;
  o.kind = Operand::Kind::integer;
  const std::string_view s = peek().text;
  const bool hex_f32 = s.size() == 10 && s[0] == '0' && (s[1] == 'f' || s[1] == 'F');
  const bool hex_f64 = s.size() == 18 && s[0] == '0' && (s[1] == 'd' || s[1] == 'D');
  const bool prefixed = s.size() > 1 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X' || s[1] == 'b' || s[1] == 'B');
  if (hex_f32 || hex_f64) {
    o.kind = Operand::Kind::real;
    o.is_f32 = hex_f32;
    const auto [end, ec] = std::from_chars(s.data() + 2, s.data() + s.size(), o.bits, 16);
    if (ec != std::errc() || end != s.data() + s.size()) fail("malformed hexadecimal float");
    take();
    if (negative) o.bits ^= hex_f32 ? 0x80000000ull : 0x8000000000000000ull;
  } else if (!prefixed && peek().kind == TokenKind::number && s.find_first_of(".eE") != std::string_view::npos) {
    o.kind = Operand::Kind::real;
    double d = 0;
    const auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), d);
    if (ec != std::errc() || end != s.data() + s.size()) fail("malformed number");
    take();
    if (negative) d = -d;
    std::memcpy(&o.bits, &d, 8);
  } else {
    o.bits = expect_integer("a number");
    if (negative) o.bits = ~o.bits + 1;
  }
  return o;
}

Operand Parser::parse_list(char close) {
  Operand o;
  o.kind = Operand::Kind::vector;
  if (++depth_ > 128) fail("operands nested too deeply");
  while (!failed_ && !accept(close)) {
    o.items.push_back(parse_operand());
    const Operand::Kind k = o.items.back().kind;
    if (k == Operand::Kind::label && close == '}') fail("undefined name '" + o.items.back().name + "'");
    if (o.items.size() > kMaxItems) fail("too many elements");
    if (!peek().is(close)) expect(',', "between elements");
  }
  --depth_;
  return o;
}

Operand Parser::parse_address() {
  Operand o;
  o.kind = Operand::Kind::address;
  if (++depth_ > 128) fail("operands nested too deeply");
  Operand base = parse_operand();
  if (base.kind == Operand::Kind::label) fail("undefined name '" + base.name + "'");
  o.offset = base.offset;
  base.offset = 0;
  o.offset += parse_offset();
  o.items.push_back(std::move(base));
  while (!failed_ && accept(',')) {
    o.items.push_back(parse_operand());
    if (o.items.back().kind == Operand::Kind::label) fail("undefined name '" + o.items.back().name + "'");
    if (o.items.size() > kMaxItems) fail("too many elements");
  }
  expect(']', "after an address");
  --depth_;
  return o;
}

Operand Parser::parse_named() {
  Operand o;
  const Token t = take();
  if (t.text == "_") {
    o.kind = Operand::Kind::sink;
  } else if (is_special(t.text)) {
    o.kind = Operand::Kind::special;
    o.name = std::string(t.text);
    if (at_directive() && peek().glued) o.name += std::string(take().text);
    return o;
  } else if (!lookup(t.text, o)) {
    o.kind = Operand::Kind::label;
    o.name = std::string(t.text);
    return o;
  }
  if (o.kind == Operand::Kind::variable) o.offset = parse_offset();
  if ((o.kind == Operand::Kind::reg || o.kind == Operand::Kind::sink) && accept('|')) {
    Operand second;
    const std::string_view name = expect_word("a register after '|'");
    if (name == "_") {
      second.reg = -1;
    } else if (!lookup(name, second) || second.kind != Operand::Kind::reg) {
      fail("undefined register after '|'");
    }
    o.kind = Operand::Kind::reg;  // `_|p` keeps reg = -1
    o.reg2 = second.reg;
  }
  return o;
}

Operand Parser::parse_operand() {
  const Token& t = peek();
  if (t.is('{')) return take(), parse_list('}');
  if (t.is('(')) return take(), parse_list(')');
  if (t.is('[')) return take(), parse_address();
  if (t.is('-')) return take(), parse_number(true);
  if (t.is('!')) {
    take();
    Operand o = parse_named();
    o.negated = true;
    if (o.kind != Operand::Kind::reg) fail("'!' needs a predicate");
    return o;
  }
  if (t.kind == TokenKind::number) return parse_number(false);
  if (t.kind == TokenKind::word) return parse_named();
  fail("expected an operand");
  return {};
}

}  // namespace cutegen::vgpu::ptx
