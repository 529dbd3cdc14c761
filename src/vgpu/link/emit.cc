#include <algorithm>

#include "vgpu/isa/registry.h"
#include "vgpu/link/linker.h"

namespace cutegen::vgpu {
namespace {

using ptx::Operand;

struct Call {
  const Operand *results = nullptr, *parameters = nullptr;
  std::string callee;
};
Call parse_call(const ptx::Instruction& in) {  // call (results), name, (parameters)
  Call c;
  for (const Operand& o : in.operands) {
    if (o.kind == Operand::Kind::function)
      c.callee = o.name;
    else if (o.kind == Operand::Kind::vector && c.callee.empty())
      c.results = &o;
    else if (o.kind == Operand::Kind::vector)
      c.parameters = &o;
  }
  return c;
}

// The index among the references of the first address, or of the mbarrier's.
s8 address_reference(const Form& form) {
  size_t at = 0;
  for (size_t i = 0; i < form.operands.size(); ++i) {
    const OperandSpec& o = form.operands[i];
    if (form.barrier_operand >= 0 ? i == static_cast<size_t>(form.barrier_operand) : o.role == Role::address) return static_cast<s8>(at);
    const bool two = o.role == Role::address || o.role == Role::pair_dst || o.role == Role::reg_pred;
    at += o.role == Role::coords ? 2u + o.count : o.role == Role::vec_dst || o.role == Role::vec_src ? o.count : two ? 2u : 1u;
  }
  return -1;
}

}  // namespace

Inst& Linker::push(const Form& form, const ptx::Instruction* in, const std::vector<Ref>& refs) {
  Inst inst;
  inst.body = choose_body(form.bodies);
  inst.kind = form.kind;
  inst.pipe = form.pipe;
  inst.collective = form.collective;
  inst.mask_op = form.mask_operand;
  inst.param = form.param;
  inst.id = static_cast<u32>(image_.code.size());
  inst.count = static_cast<u8>(std::min<size_t>(refs.size(), 255));
  inst.async = form.async;
  inst.completion = form.completion;
  if (in != nullptr && inst.kind == Kind::plain && !inst.collective) {
    inst.order = address_reference(form) >= 0 ? memory_order(in->opcode) : 0;
    if (inst.order != 0) inst.kind = polls_memory(in->opcode) ? Kind::yield : Kind::ordered;
  }
  if (inst.order != 0 || form.barrier_operand >= 0) inst.address_op = address_reference(form);
  image_.code.push_back(inst);
  PcInfo pc;
  pc.form = &form;
  if (in != nullptr) pc.opcode = in->opcode, pc.ptx_line = in->line, pc.loc = in->loc;
  image_.pcs.push_back(pc);
  refs_.push_back(refs);
  return image_.code.back();
}

void Linker::guard(Inst& inst, const ptx::Instruction& in, const Linked& l) const {
  if (in.guard < 0) return;
  inst.guard = l.slots.offset[static_cast<size_t>(in.guard)];
  inst.guard_flip = in.guard_negated ? ~0u : 0u;
}

void Linker::push_conversion(const char* name, Ref d, Ref s, const ptx::Instruction& in, const Linked& l) {
  guard(push(*find_form(name), &in, {d, s}), in, l);
}

Result<void> Linker::emit_plain(Linked& l, const ptx::Instruction& in, const Form& form) {
  Binding b;
  CUTEGEN_CHECK(bind(l, in, form, b));
  for (const auto& c : b.before) push_conversion(c.name, c.d, c.s, in, l);
  guard(push(form, &in, b.refs), in, l);
  for (const auto& c : b.after) push_conversion(c.name, c.d, c.s, in, l);
  return {};
}

Result<void> Linker::emit_call(Linked& l, const ptx::Instruction& in) {
  const Call call = parse_call(in);
  auto offset_of = [&](const Operand* list, size_t i) -> Ref {
    if (list == nullptr || i >= list->items.size() || list->items[i].kind != Operand::Kind::variable || list->items[i].module_level)
      return kAbsent;
    return l.variable[static_cast<size_t>(list->items[i].index)];
  };
  if (call.callee == "vprintf" || call.callee == "__assertfail") {
    const bool print = call.callee == "vprintf";
    std::vector<Ref> refs{offset_of(call.parameters, 0), offset_of(call.parameters, 1)};
    refs.push_back(print ? offset_of(call.results, 0) : offset_of(call.parameters, 2));
    if (!print) refs.push_back(offset_of(call.parameters, 3));
    for (size_t i = 0; i < refs.size(); ++i)
      if (refs[i] == kAbsent && !(print && i == 2)) return error(in, "malformed call of " + call.callee);
    push(*find_form("vgpu." + call.callee), &in, refs);
    return {};
  }
  const Linked& target = functions_[index_.at(call.callee)];
  auto copy = [&](const Operand* list, const std::vector<int32_t>& formals, bool into) -> Result<void> {
    if ((list == nullptr ? 0 : list->items.size()) != formals.size()) return error(in, "wrong number of parameters");
    for (size_t i = 0; i < formals.size(); ++i) {
      const Ref here = offset_of(list, i), there = target.variable[static_cast<size_t>(formals[i])];
      if (here == kAbsent) return error(in, "parameters of calls must be .param variables");
      const auto bytes = static_cast<u32>(target.function->variables[static_cast<size_t>(formals[i])].bytes);
      push(*find_form("vgpu.copy_local"), &in, {into ? there : here, into ? here : there, bytes});
    }
    return {};
  };
  CUTEGEN_CHECK(copy(call.parameters, target.function->parameters, true));
  call_sites_.push_back({image_.code.size(), call.callee});
  push(*find_form("call"), &in, {});
  return copy(call.results, target.function->results, false);
}

Result<void> Linker::emit_branch(Linked& l, const ptx::Instruction& in, const Form& form, const Block& block) {
  Inst& inst = push(form, &in, {});
  guard(inst, in, l);
  inst.target = in.operands[0].index;      // of the function's body; made a pc by emit()
  inst.reconverge = block.post_dominator;  // a block; made a pc by emit()
  return {};
}

Result<void> Linker::emit(Linked& l) {
  const ptx::Function& f = *l.function;
  std::vector<bool> meets(l.cfg.blocks.size(), false);
  for (const Block& b : l.cfg.blocks)
    if (b.next.size() > 1 && b.post_dominator >= 0) meets[static_cast<size_t>(b.post_dominator)] = true;
  l.entry = static_cast<int>(image_.code.size());
  std::vector<int> pc_of_block;
  const size_t first_pc = image_.code.size();
  for (size_t b = 0; b < l.cfg.blocks.size(); ++b) {
    const Block& block = l.cfg.blocks[b];
    pc_of_block.push_back(static_cast<int>(image_.code.size()));
    if (meets[b]) push(*find_form("vgpu.join"), &f.body[static_cast<size_t>(block.first)], {});
    for (int i = block.first; i < block.last; ++i) {
      const ptx::Instruction& in = f.body[static_cast<size_t>(i)];
      const Form& form = *l.forms[static_cast<size_t>(i)];
      if (form.kind == Kind::call)
        CUTEGEN_CHECK(emit_call(l, in));
      else if (form.kind == Kind::bra)
        CUTEGEN_CHECK(emit_branch(l, in, form, block));
      else
        CUTEGEN_CHECK(emit_plain(l, in, form));
      if (form.kind == Kind::ret && f.is_entry) image_.code.back().kind = Kind::exit;
    }
  }
  const auto end_pc = static_cast<int>(image_.code.size());
  push(*find_form(f.is_entry ? "exit" : "ret"), f.body.empty() ? nullptr : &f.body.back(), {});
  for (size_t pc = first_pc; pc < image_.code.size(); ++pc) {
    Inst& inst = image_.code[pc];
    if (inst.kind != Kind::bra) continue;
    const auto target = static_cast<size_t>(inst.target);
    inst.target = target >= f.body.size() ? end_pc : pc_of_block[static_cast<size_t>(l.cfg.block_of[target])];
    if (inst.reconverge >= 0) inst.reconverge = pc_of_block[static_cast<size_t>(inst.reconverge)];
  }
  return {};
}

}  // namespace cutegen::vgpu
