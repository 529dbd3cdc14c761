#include "vgpu/observe/operands.h"

#include "vgpu/link/linker.h"

namespace cutegen::vgpu {

RegisterUse registers_of(const Image& image, u32 pc) {
  const Inst& in = image.code[pc];
  const Form& form = *image.pcs[pc].form;
  RegisterUse use;
  const auto add = [](std::vector<Ref>& to, Ref r) {
    if (r == kAbsent || (r & kConstRef) != 0) return;
    r &= ~kNotRef;
    if (r >= kFirstRegister) to.push_back(r);
  };
  if (in.guard != 0) add(use.reads, in.guard);
  if (form.name.starts_with("vgpu.")) return use;  // their operands are offsets
  u32 at = 0;
  const auto take = [&](std::vector<Ref>& to, u32 n) {
    for (u32 i = 0; i < n && at < in.count; ++i) add(to, in.op[at++]);
  };
  for (const OperandSpec& o : form.operands) {
    switch (o.role) {
      case Role::dst: take(use.writes, 1); break;
      case Role::src: take(use.reads, 1); break;
      case Role::pair_dst:
      case Role::reg_pred: take(use.writes, 2); break;
      case Role::vec_src: take(use.reads, o.count); break;
      case Role::vec_dst: take(use.writes, o.count); break;
      case Role::address: take(use.reads, 1), ++at; break;
      case Role::coords: take(use.reads, 1), ++at, take(use.reads, o.count); break;
      case Role::imm: ++at; break;
      case Role::label:
      case Role::list: break;
    }
  }
  if (form.name.starts_with("wgmma.mma_async")) use.reads.insert(use.reads.end(), use.writes.begin(), use.writes.end());
  return use;
}

}  // namespace cutegen::vgpu
