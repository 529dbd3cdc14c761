#include <algorithm>

#include "vgpu/isa/registry.h"
#include "vgpu/link/linker.h"

namespace cutegen::vgpu {
namespace {

using ptx::Operand;

// mov.b32 %r, {%rs1, %rs2} and back; mov from a clock.
const Form* select_mov(const ptx::Instruction& in) {
  if (in.operands.size() != 2) return nullptr;
  const Operand &d = in.operands[0], &s = in.operands[1];
  const std::string name(in.opcode);
  if (s.kind == Operand::Kind::vector) return find_form(name + ".pack" + std::to_string(s.items.size()));
  if (d.kind == Operand::Kind::vector) return find_form(name + ".unpack" + std::to_string(d.items.size()));
  if (s.kind == Operand::Kind::special) {
    if (s.name == "%clock64" || s.name == "%globaltimer") return find_form("mov.clock64");
    if (s.name == "%clock" || s.name == "%globaltimer_lo") return find_form("mov.clock32");
  }
  return find_form(in.opcode);
}

// .param of a device function, or of a call, is the thread's own memory; only a kernel's formal parameters are constant.
bool in_call_frame(const ptx::Function& f, const ptx::Instruction& in) {
  for (const Operand& o : in.operands) {
    if (o.kind != Operand::Kind::address || o.items[0].kind != Operand::Kind::variable || o.items[0].module_level) continue;
    return !f.is_entry || std::find(f.parameters.begin(), f.parameters.end(), o.items[0].index) == f.parameters.end();
  }
  return false;
}

}  // namespace

const Form* select_form(const ptx::Module&, const ptx::Function& f, const ptx::Instruction& in) {
  if (in.opcode.starts_with("mov.")) return select_mov(in);
  if (in.opcode.find(".param") != std::string_view::npos && (in.opcode.starts_with("ld.") || in.opcode.starts_with("st.")) &&
      in_call_frame(f, in)) {
    std::string name = canonical_opcode(in.opcode);
    if (const size_t at = name.find(".param"); at != std::string::npos) name.replace(at, 6, ".local");
    return find_form(name);
  }
  const bool a_in_registers =
      in.opcode.starts_with("wgmma.mma_async") && in.operands.size() > 1 && in.operands[1].kind == Operand::Kind::vector;
  if (a_in_registers) return find_form(canonical_opcode(in.opcode) + ".rs");
  if (const Form* form = find_form(in.opcode)) return form;
  return find_form(canonical_opcode(in.opcode) + "/" + std::to_string(in.operands.size()));
}

}  // namespace cutegen::vgpu
