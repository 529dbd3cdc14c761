#include <bit>
#include <cstring>

#include "vgpu/link/linker.h"

namespace cutegen::vgpu {
namespace {

using ptx::Operand;

bool is_wide_register(ptx::Type t) { return ptx::size_bytes(t) == 8; }

// The bits of an immediate as a value of `type`, in that type's lanes.
u64 immediate_bits(const Operand& o, Value type) {
  const bool real = o.kind == Operand::Kind::real;
  f64 value = 0;
  if (real && o.is_f32)
    value = std::bit_cast<f32>(static_cast<u32>(o.bits));
  else if (real)
    value = std::bit_cast<f64>(o.bits);
  if (type == Value::F32 && !(real && o.is_f32))
    return std::bit_cast<u32>(static_cast<f32>(real ? value : static_cast<f64>(static_cast<s64>(o.bits))));
  if (type == Value::F64 && (!real || o.is_f32)) return std::bit_cast<u64>(real ? value : static_cast<f64>(static_cast<s64>(o.bits)));
  return is_wide(type) ? o.bits : o.bits & 0xffffffffu;
}

}  // namespace

Ref Linker::constant(u64 bits, bool wide) {
  const auto [it, fresh] = constants_.try_emplace({bits, wide ? 8 : 4}, 0);
  if (fresh) {
    it->second = kConstRef | static_cast<Ref>(image_.constants.size() * 8);
    const u64 word = wide ? bits : (bits & 0xffffffffu) * 0x1'0000'0001ull;
    image_.constants.insert(image_.constants.end(), wide ? kLanes : kLanes / 2, word);
  }
  return it->second;
}
Ref Linker::predicate_constant(bool value) { return constant(value ? 0xffffffffu : 0, false); }

Ref Linker::temp(Binding& b) const { return kTemporaries + static_cast<u32>(b.temps++ % static_cast<int>(kTemporaryCount)) * 256; }

Result<Ref> Linker::special(const ptx::Instruction& in, const std::string& special_name, bool wide) {
  const std::string name = special_name + (wide ? "#64" : "");  // as 64-bit lanes
  if (special_name == "WARP_SZ") return constant(kLanes, wide);
  for (const SpecialSlot& s : image_.specials)
    if (s.name == name) return s.slot;
  if (name.starts_with("%clock") || name.starts_with("%globaltimer")) return error(in, name + " can only be read by mov");
  const Ref slot = register_top_;
  register_top_ += 256;
  image_.specials.push_back({name, slot});
  return slot;
}

Result<u64> Linker::variable_address(const Linked& l, const ptx::Instruction& in, const Operand& o) const {
  const ptx::Variable& v =
      o.module_level ? module_.variables[static_cast<size_t>(o.index)] : l.function->variables[static_cast<size_t>(o.index)];
  const bool dynamic_shared = v.space == ptx::Space::shared && v.bytes == 0;
  if (dynamic_shared)
    return (u64{image_.shared_static_end} + image_.dynamic_shared_align - 1) / image_.dynamic_shared_align * image_.dynamic_shared_align;
  if (o.module_level) return image_.layout->address[static_cast<size_t>(o.index)];
  if (v.space == ptx::Space::global || v.space == ptx::Space::constant)
    return error(in, "global variables inside a function are not supported");
  return u64{l.variable[static_cast<size_t>(o.index)]};
}

Result<Ref> Linker::bind_source(const Linked& l, const ptx::Instruction& in, Value type, const Operand& o, Binding& b) {
  switch (o.kind) {
    case Operand::Kind::reg: {
      if (o.reg < 0 || o.reg2 >= 0) return error(in, "a source operand is one register");
      const ptx::Type declared = l.function->registers[static_cast<size_t>(o.reg)].type;
      if ((declared == ptx::Type::pred) != (type == Value::Pred)) return error(in, "predicate and data registers mixed up");
      const Ref r = l.slots.offset[static_cast<size_t>(o.reg)];
      if (type == Value::Pred) return o.negated ? r | kNotRef : r;
      if (o.negated) return error(in, "only predicates can be negated");
      if (is_wide_register(declared) == is_wide(type)) return r;
      const Ref t = temp(b);
      b.before.push_back({is_wide(type) ? (is_signed(type) ? "cvt.s64.s32" : "cvt.u64.u32") : "cvt.u32.u64", t, r});
      return t;
    }
    case Operand::Kind::integer:
    case Operand::Kind::real:
      if (type == Value::Pred) return predicate_constant(o.bits != 0);
      return constant(immediate_bits(o, type), is_wide(type));
    case Operand::Kind::variable: {
      CUTEGEN_TRY(const u64 address, variable_address(l, in, o));
      return constant(address + static_cast<u64>(o.offset), is_wide(type));
    }
    case Operand::Kind::special: return special(in, o.name, is_wide(type));
    default: return error(in, "unexpected operand");
  }
}

Result<Ref> Linker::bind_destination(const Linked& l, const ptx::Instruction& in, Value type, const Operand& o, Binding& b) {
  if (o.kind == Operand::Kind::sink || (o.kind == Operand::Kind::reg && o.reg < 0))
    return Ref{type == Value::Pred ? kSinkPredicate : kSinkRegister};
  if (o.kind != Operand::Kind::reg) return error(in, "the destination is not a register");
  const ptx::Type declared = l.function->registers[static_cast<size_t>(o.reg)].type;
  if ((declared == ptx::Type::pred) != (type == Value::Pred)) return error(in, "predicate and data registers mixed up");
  const Ref r = l.slots.offset[static_cast<size_t>(o.reg)];
  if (type == Value::Pred || is_wide_register(declared) == is_wide(type)) return r;
  const Ref t = temp(b);
  b.after.push_back({is_wide(type) ? "cvt.u32.u64" : (is_signed(type) ? "cvt.s64.s32" : "cvt.u64.u32"), r, t});
  return t;
}

Result<void> Linker::bind_address(const Linked& l, const ptx::Instruction& in, const Operand& o, Binding& b) {
  if (o.kind != Operand::Kind::address) return error(in, "expected an address in brackets");
  const Operand& base = o.items[0];
  s64 offset = o.offset;
  if (base.kind == Operand::Kind::reg) {
    if (base.reg < 0) return error(in, "an address needs a register");
    const ptx::Type declared = l.function->registers[static_cast<size_t>(base.reg)].type;
    if (ptx::size_bytes(declared) < 4) return error(in, "an address register has 32 or 64 bits");
    b.refs.push_back(l.slots.offset[static_cast<size_t>(base.reg)] | (is_wide_register(declared) ? 0 : kNotRef));
  } else if (base.kind == Operand::Kind::variable || base.kind == Operand::Kind::integer) {
    u64 address = base.bits;
    if (base.kind == Operand::Kind::variable) {
      CUTEGEN_TRY(address, variable_address(l, in, base));
    }
    b.refs.push_back(constant(address + static_cast<u64>(offset), true));
    offset = 0;
  } else {
    return error(in, "unsupported address");
  }
  if (offset != static_cast<s32>(offset)) return error(in, "address offset out of range");
  b.refs.push_back(static_cast<u32>(static_cast<s32>(offset)));
  return {};
}

Result<void> Linker::bind_one(const Linked& l, const ptx::Instruction& in, const OperandSpec& spec, const Operand& o, Binding& b) {
  auto add = [&](Result<Ref> r) -> Result<void> {
    CUTEGEN_TRY(const Ref ref, std::move(r));
    b.refs.push_back(ref);
    return {};
  };
  switch (spec.role) {
    case Role::dst: return add(bind_destination(l, in, spec.type, o, b));
    case Role::src: return add(bind_source(l, in, spec.type, o, b));
    case Role::address: return bind_address(l, in, o, b);
    case Role::imm:
      if (o.kind != Operand::Kind::integer) return error(in, "expected an integer literal");
      b.refs.push_back(static_cast<u32>(o.bits));
      return {};
    case Role::vec_dst:
    case Role::vec_src: {
      const bool single = o.kind != Operand::Kind::vector;
      if ((single ? 1u : o.items.size()) != spec.count) return error(in, "wrong number of registers in a vector");
      for (u8 i = 0; i < spec.count; ++i) {
        const Operand& item = single ? o : o.items[i];
        CUTEGEN_CHECK(
            add(spec.role == Role::vec_dst ? bind_destination(l, in, spec.type, item, b) : bind_source(l, in, spec.type, item, b)));
      }
      return {};
    }
    case Role::pair_dst:
    case Role::reg_pred: {
      Operand second = o;
      second.reg = o.reg2, second.reg2 = -1;
      Operand first = o;
      first.reg2 = -1;
      CUTEGEN_CHECK(add(bind_destination(l, in, spec.role == Role::pair_dst ? Value::Pred : spec.type, first, b)));
      if (o.kind != Operand::Kind::reg || o.reg2 < 0)
        b.refs.push_back(kAbsent);
      else
        CUTEGEN_CHECK(add(bind_destination(l, in, Value::Pred, second, b)));
      return {};
    }
    case Role::coords: {
      CUTEGEN_CHECK(bind_address(l, in, o, b));
      if (o.items.size() != 2 || o.items[1].kind != Operand::Kind::vector || o.items[1].items.size() != spec.count)
        return error(in, "wrong number of coordinates");
      for (const Operand& c : o.items[1].items) CUTEGEN_CHECK(add(bind_source(l, in, Value::S32, c, b)));
      return {};
    }
    case Role::label:
    case Role::list: return {};
  }
  return {};
}

Result<void> Linker::bind(const Linked& l, const ptx::Instruction& in, const Form& form, Binding& b) {
  size_t given = in.operands.size();
  if (given == form.operands.size() + 1 && in.opcode.find("cache_hint") != std::string_view::npos)
    --given;  // a cache policy: nothing to do
  if (given > form.operands.size()) return error(in, "too many operands");
  for (size_t i = 0; i < form.operands.size(); ++i) {
    if (i < given)
      CUTEGEN_CHECK(bind_one(l, in, form.operands[i], in.operands[i], b));
    else if (form.operands[i].optional)
      b.refs.push_back(kAbsent);
    else
      return error(in, "too few operands");
  }
  return {};
}

}  // namespace cutegen::vgpu
