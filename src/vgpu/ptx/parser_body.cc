#include "vgpu/ptx/parser_state.h"

namespace cutegen::vgpu::ptx {
namespace {

constexpr int kMaxNesting = 64;
constexpr size_t kMaxTargets = 4096;

}  // namespace

void Parser::open_scope(int parent) {
  if (scopes_.size() > (1u << 20)) return fail("too many scopes");
  scopes_.emplace_back();
  scopes_.back().parent = parent;
  scope_ = static_cast<int>(scopes_.size()) - 1;
}

void Parser::parse_body(Function& f) {
  loc_ = -1;
  expect('{', "before a function body");
  depth_ = 1;
  while (!failed_ && depth_ > 0) parse_statement();
  resolve_pending();
  (void)f;
}

void Parser::define_label(std::string_view name, uint32_t line) {
  const auto target = static_cast<int32_t>(function_->body.size());
  last_label_ = name;
  if (!scopes_[static_cast<size_t>(scope_)].labels.emplace(name, target).second) fail(line, "label defined twice in one scope");
}

void Parser::parse_statement() {
  const Token& t = peek();
  if (t.kind == TokenKind::end) return fail("unterminated function body");
  if (t.is('{')) {
    take();
    if (++depth_ > kMaxNesting) return fail("scopes nested too deeply");
    return open_scope(scope_);
  }
  if (t.is('}')) {
    take();
    --depth_;
    if (depth_ > 0) scope_ = scopes_[static_cast<size_t>(scope_)].parent;
    return;
  }
  if (accept(';')) return;
  if (at_directive()) {
    if (!parse_body_directive()) fail("unknown directive in a function body");
    return;
  }
  if (t.is('@')) return parse_instruction({});
  if (t.kind != TokenKind::word) return fail("expected a statement");
  const Token first = take();
  if (peek().is(':')) {
    take();
    return define_label(first.text, first.line);
  }
  parse_instruction(parse_opcode(first));
}

bool Parser::parse_body_directive() {
  if (accept(".loc")) return parse_loc(), true;
  if (accept(".reg")) return parse_registers(), true;
  if (accept(".pragma")) return skip_statement(), true;
  if (accept(".file")) return parse_file(), true;
  if (accept(".local")) return parse_variables(Space::local, false, function_->variables, false), true;
  if (accept(".shared")) return parse_variables(Space::shared, false, function_->variables, false), true;
  if (accept(".param")) return parse_variables(Space::param, false, function_->variables, false), true;
  if (accept(".global")) return parse_variables(Space::global, false, function_->variables, false), true;
  if (accept(".branchtargets")) return parse_branch_targets(), true;
  if (accept(".const")) return parse_variables(Space::constant, false, function_->variables, false), true;
  return false;
}

// .loc 1 20 5, function_name $L__info_string0, inlined_at 1 40 9
void Parser::parse_loc() {
  Loc loc;
  const uint32_t at = peek().line;
  loc.file = static_cast<uint32_t>(expect_integer("a file number"));
  loc.line = static_cast<uint32_t>(expect_integer("a line"));
  loc.column = static_cast<uint32_t>(expect_integer("a column"));
  while (accept(',')) {
    const std::string_view what = expect_word("function_name or inlined_at");
    if (what == "function_name") {
      expect_word("a label");
      if (accept('+')) expect_integer("an offset");
    } else if (what == "inlined_at") {
      Loc outer;
      outer.file = static_cast<uint32_t>(expect_integer("a file number"));
      outer.line = static_cast<uint32_t>(expect_integer("a line"));
      outer.column = static_cast<uint32_t>(expect_integer("a column"));
      // nvcc names the call site only; where that was inlined itself is the last .loc seen for that very place.
      for (auto i = static_cast<int32_t>(module_.locs.size()) - 1, seen = 0; i >= 0 && seen < 256; --i, ++seen) {
        const Loc& l = module_.locs[static_cast<size_t>(i)];
        if (l.file != outer.file || l.line != outer.line || l.column != outer.column) continue;
        outer.inlined_at = l.inlined_at;
        break;
      }
      loc.inlined_at = static_cast<int32_t>(module_.locs.size());
      module_.locs.push_back(outer);
    } else {
      return fail(at, "malformed .loc");
    }
  }
  loc_ = static_cast<int32_t>(module_.locs.size());
  module_.locs.push_back(loc);
}

std::string_view Parser::parse_opcode(const Token& first) {
  const char* end = first.text.data() + first.text.size();
  while (at_directive() && peek().glued) {
    const Token part = take();
    end = part.text.data() + part.text.size();
  }
  return {first.text.data(), static_cast<size_t>(end - first.text.data())};
}

void Parser::parse_instruction(std::string_view opcode) {
  Instruction in;
  in.line = peek().line;
  in.loc = loc_;
  if (accept('@')) {
    in.guard_negated = accept('!');
    Operand p;
    const std::string_view name = expect_word("a predicate");
    if (!lookup(name, p) || p.kind != Operand::Kind::reg) return fail("undefined guard predicate");
    in.guard = p.reg;
    if (function_->registers[static_cast<size_t>(p.reg)].type != Type::pred) return fail("the guard is not a predicate");
    if (peek().kind != TokenKind::word) return fail("expected an instruction");
    opcode = parse_opcode(take());
  }
  in.opcode = opcode;
  while (!failed_ && !accept(';')) {
    in.operands.push_back(parse_operand());
    const Operand& o = in.operands.back();
    if (o.kind == Operand::Kind::label) pending_.push_back({function_->body.size(), in.operands.size() - 1, scope_, in.line});
    if (!peek().is(';')) expect(',', "between operands");
  }
  if (failed_) return;
  if (opcode.starts_with("brx.idx")) return expand_indexed_branch(in);
  function_->body.push_back(std::move(in));
}

// list: .branchtargets A, B, C;
void Parser::parse_branch_targets() {
  if (last_label_.empty()) return fail(".branchtargets needs a label before it");
  std::vector<std::string>& list = scopes_[static_cast<size_t>(scope_)].branch_targets[last_label_];
  while (!failed_ && !accept(';')) {
    list.emplace_back(expect_word("a label"));
    if (list.size() > kMaxTargets) return fail("too many branch targets");
    if (!peek().is(';')) expect(',', "between labels");
  }
}

void Parser::push_branch(const Instruction& like, int32_t guard, bool negated, const std::string& label, int32_t target) {
  Instruction bra;
  bra.opcode = "bra", bra.line = like.line, bra.loc = like.loc, bra.guard = guard, bra.guard_negated = negated;
  Operand to;
  to.kind = Operand::Kind::label, to.name = label, to.index = target;
  if (target < 0) pending_.push_back({function_->body.size(), 0, scope_, like.line});
  bra.operands.push_back(std::move(to));
  function_->body.push_back(std::move(bra));
}

// brx.idx index, list: a chain of comparisons. An index beyond the list, which PTX leaves undefined, goes to the last label.
void Parser::expand_indexed_branch(const Instruction& in) {
  const std::vector<std::string>* list = nullptr;
  if (in.operands.size() == 2 && in.operands[1].kind == Operand::Kind::label) {
    pending_.pop_back();  // the list's name, which is no operand of what comes out
    for (int s = scope_; s >= 0 && list == nullptr; s = scopes_[static_cast<size_t>(s)].parent) {
      const auto& lists = scopes_[static_cast<size_t>(s)].branch_targets;
      if (const auto it = lists.find(in.operands[1].name); it != lists.end()) list = &it->second;
    }
  }
  if (list == nullptr || list->empty()) return fail(in.line, "brx.idx needs an index and a list of .branchtargets above it");
  const auto chosen = static_cast<int32_t>(function_->registers.size());
  function_->registers.push_back({"%brx" + std::to_string(chosen), Type::pred});
  const size_t n = list->size();
  if (in.guard >= 0) push_branch(in, in.guard, !in.guard_negated, {}, static_cast<int32_t>(function_->body.size() + 2 * n));
  for (size_t i = 0; i + 1 < n; ++i) {
    Instruction compare;
    compare.opcode = "setp.eq.u32", compare.line = in.line, compare.loc = in.loc;
    Operand result, number;
    result.kind = Operand::Kind::reg, result.reg = chosen;
    number.kind = Operand::Kind::integer, number.bits = i;
    compare.operands = {result, in.operands[0], number};
    function_->body.push_back(std::move(compare));
    push_branch(in, chosen, false, (*list)[i], -1);
  }
  push_branch(in, -1, false, list->back(), -1);
}

void Parser::resolve_pending() {
  for (const PendingName& p : pending_) {
    if (failed_) return;
    Operand& o = function_->body[p.instruction].operands[p.operand];
    for (int s = p.scope; s >= 0 && o.index < 0; s = scopes_[static_cast<size_t>(s)].parent) {
      const auto& labels = scopes_[static_cast<size_t>(s)].labels;
      if (const auto it = labels.find(o.name); it != labels.end()) o.index = it->second;
    }
    if (o.index >= 0) continue;
    o.kind = Operand::Kind::function;
    bool found = o.name == function_->name;
    for (const Function& f : module_.functions) found = found || f.name == o.name;
    if (!found) fail(p.line, "undefined name '" + o.name + "'");
  }
}

}  // namespace cutegen::vgpu::ptx
