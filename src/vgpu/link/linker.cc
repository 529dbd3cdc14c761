#include "vgpu/link/linker.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "vgpu/isa/registry.h"
#include "vgpu/mem/port.h"

namespace cutegen::vgpu {
namespace {

constexpr u64 kMaxFunctionVariable = 1 << 20;  // local and shared memory are smaller

u64 align_up(u64 n, u64 to) { return (n + to - 1) / to * to; }

bool is_builtin(const std::string& name) { return name == "vprintf" || name == "__assertfail"; }

const std::string* callee_of(const ptx::Instruction& in) {
  for (const ptx::Operand& o : in.operands)
    if (o.kind == ptx::Operand::Kind::function) return &o.name;
  return nullptr;
}

}  // namespace

Result<std::shared_ptr<const ModuleLayout>> lay_out(const ptx::Module& module, VariableSpace space) {
  auto layout = std::make_shared<ModuleLayout>();
  static std::atomic<u64> last_id{0};
  layout->id = ++last_id;
  layout->shared_end = kSharedStart;
  layout->host = space.host;
  layout->base = space.host == nullptr ? kModuleBase : reinterpret_cast<uintptr_t>(space.host);
  for (const ptx::Variable& v : module.variables) {
    u64 address = 0;
    if (v.space == ptx::Space::shared) {
      if (v.bytes != 0) {
        address = align_up(layout->shared_end, v.align);
        layout->shared_end = static_cast<u32>(address + v.bytes);
      }
    } else {
      if (v.is_extern)
        return Error{Errc::invalid_input, module.name + ": extern variable '" + v.name + "' is defined in no module", "", ""};
      address = align_up(layout->base + layout->bytes, std::max<u64>(v.align, 256));  // apart, so that an overrun shows
      layout->bytes = address + v.bytes - layout->base;
    }
    layout->address.push_back(address);
  }
  if (space.host != nullptr && layout->bytes > space.bytes)
    return Error{Errc::invalid_input,
                 fmt::format("{}: {} bytes of variables; there is room for {}", module.name, layout->bytes, space.bytes), "", ""};
  return std::shared_ptr<const ModuleLayout>(std::move(layout));
}

Error Linker::error(const ptx::Instruction& in, const std::string& what) const {
  return Error{Errc::invalid_input, fmt::format("{}:{}: {}: `{}`", module_.name, in.line, what, module_.line_text(in.line)), "", ""};
}

const ptx::Function* Linker::find_function(const std::string& name) const {
  const ptx::Function* declaration = nullptr;
  for (const ptx::Function& f : module_.functions) {
    if (f.name != name) continue;
    if (!f.is_declaration) return &f;
    declaration = &f;
  }
  return declaration;
}

Result<void> Linker::collect(const ptx::Function& f, std::vector<std::string>& stack) {
  index_[f.name] = functions_.size();
  functions_.emplace_back();
  functions_.back().function = &f;
  stack.push_back(f.name);
  for (const ptx::Instruction& in : f.body) {
    if (!in.opcode.starts_with("call")) continue;
    const std::string* callee = callee_of(in);
    if (callee == nullptr) return error(in, "indirect calls are not supported");
    if (in.guard >= 0) return error(in, "predicated calls are not supported");
    if (is_builtin(*callee)) continue;
    if (std::find(stack.begin(), stack.end(), *callee) != stack.end()) return error(in, "recursion is not supported");
    if (index_.count(*callee) != 0) continue;
    const ptx::Function* target = find_function(*callee);
    if (target == nullptr || target->is_declaration) return error(in, "call of '" + *callee + "', which has no body");
    CUTEGEN_CHECK(collect(*target, stack));
  }
  stack.pop_back();
  return {};
}

Result<void> Linker::lay_out_kernel_parameters(Linked& l) {
  u32 at = 0;
  for (int32_t p : l.function->parameters) {
    const ptx::Variable& v = l.function->variables[static_cast<size_t>(p)];
    at = static_cast<u32>(align_up(at, v.align));
    l.variable[static_cast<size_t>(p)] = at;
    image_.info.parameters.push_back({v.name, at, static_cast<u32>(v.bytes), v.align});
    at += static_cast<u32>(v.bytes);
    if (at > 32764)
      return Error{Errc::invalid_input, module_.name + ": kernel '" + l.function->name + "' has more than 32764 bytes of parameters", "",
                   ""};
  }
  image_.info.argument_bytes = at;
  return {};
}

Result<void> Linker::lay_out_variables(Linked& l) {
  const ptx::Function& f = *l.function;
  for (size_t i = 0; i < f.variables.size(); ++i) {
    const ptx::Variable& v = f.variables[i];
    const bool kernel_parameter =
        f.is_entry && std::find(f.parameters.begin(), f.parameters.end(), static_cast<int32_t>(i)) != f.parameters.end();
    if (kernel_parameter) continue;
    if (v.bytes > kMaxFunctionVariable)
      return Error{Errc::invalid_input,
                   fmt::format("{}: variable '{}' of {} bytes is too large for its space", module_.name, v.name, v.bytes), "", ""};
    u32& top = v.space == ptx::Space::shared ? shared_top_ : local_top_;
    top = static_cast<u32>(align_up(top, std::max<u32>(v.align, 4)));
    l.variable[i] = top;
    top += static_cast<u32>(v.bytes);
  }
  return {};
}

void Linker::note_properties(const ptx::Instruction& in, const Form& form) {
  const std::string_view name = form.name;
  const bool shared = name.find(".shared") != std::string_view::npos;
  const bool floating = name.ends_with("f32") || name.ends_with("f64") || name.ends_with("16") || name.ends_with("16x2");
  if (name.starts_with("atom") && !shared) image_.order_sensitive = true;
  if ((name.starts_with("red") && !name.starts_with("redux") && !shared && floating) || name.starts_with("cp.reduce"))
    image_.order_sensitive = true;
  if (polls_memory(in.opcode) && !shared) image_.order_sensitive = true;
  for (const ptx::Operand& o : in.operands)
    if (o.kind == ptx::Operand::Kind::special && o.name.starts_with("%envreg")) image_.uses_grid_barrier = true;
}

// Registers that an instruction reads and writes, by the roles of its record.
Result<Accesses> Linker::accesses(const ptx::Function& f, const ptx::Instruction& in) const {
  Accesses a;
  a.conditional = in.guard >= 0;
  if (in.guard >= 0) a.reads.push_back(in.guard);
  const Form* form = select_form(module_, f, in);
  if (form == nullptr && in.opcode.starts_with("multimem"))
    return error(in, "multimem reaches the memory of several GPUs at once; the virtual GPU is one: " + std::string(in.opcode));
  if (form == nullptr) return error(in, "unsupported instruction " + std::string(in.opcode));
  auto reads = [&](auto&& self, const ptx::Operand& o) -> void {
    if (o.kind == ptx::Operand::Kind::reg && o.reg >= 0) a.reads.push_back(o.reg);
    for (const ptx::Operand& i : o.items) self(self, i);
  };
  auto writes = [&](const ptx::Operand& o) {
    if (o.kind == ptx::Operand::Kind::reg && o.reg >= 0) a.writes.push_back(o.reg);
    if (o.kind == ptx::Operand::Kind::reg && o.reg2 >= 0) a.writes.push_back(o.reg2);
    for (const ptx::Operand& i : o.items)
      if (i.kind == ptx::Operand::Kind::reg) a.writes.push_back(i.reg);
  };
  for (size_t i = 0; i < in.operands.size(); ++i) {
    const Role role = i < form->operands.size() ? form->operands[i].role : Role::src;
    const bool written = role == Role::dst || role == Role::pair_dst || role == Role::reg_pred || role == Role::vec_dst;
    const bool accumulates = i == 0 && form->name.starts_with("wgmma.mma_async");  // D is read as well
    if (written) writes(in.operands[i]);
    if (!written || accumulates) reads(reads, in.operands[i]);
  }
  return a;
}

Result<void> Linker::prepare(Linked& l) {
  const ptx::Function& f = *l.function;
  for (const ptx::Register& r : f.registers)
    if (r.type == ptx::Type::b128)
      return Error{Errc::invalid_input, module_.name + ": 128-bit registers are not supported (" + f.name + ")", "", ""};
  std::vector<Accesses> all;
  for (const ptx::Instruction& in : f.body) {
    CUTEGEN_TRY(Accesses a, accesses(f, in));
    all.push_back(std::move(a));
    l.forms.push_back(select_form(module_, f, in));
    const Form& form = *l.forms.back();
    if (form.kind == Kind::bra && (in.operands.size() != 1 || in.operands[0].kind != ptx::Operand::Kind::label))
      return error(in, "a branch needs a label");
    note_properties(in, form);
  }
  if (!f.body.empty()) l.cfg = build_cfg(f, l.forms);
  l.slots = allocate_registers(f, l.cfg, all, register_top_);
  register_top_ = l.slots.bytes;
  for (int r : l.slots.maybe_undefined)
    image_.maybe_undefined.push_back({f.registers[static_cast<size_t>(r)].name, l.slots.offset[static_cast<size_t>(r)]});
  for (const ptx::Register& r : f.registers) image_.info.ptx_registers += static_cast<u32>((ptx::size_bytes(r.type) + 3) / 4);
  return {};
}

Result<void> Linker::link() {
  std::vector<std::string> stack;
  CUTEGEN_CHECK(collect(kernel_, stack));
  shared_top_ = image_.layout->shared_end;
  register_top_ = kFirstRegister;
  for (Linked& l : functions_) {
    l.variable.assign(l.function->variables.size(), 0);
    if (l.function == &kernel_) CUTEGEN_CHECK(lay_out_kernel_parameters(l));
    CUTEGEN_CHECK(lay_out_variables(l));
    CUTEGEN_CHECK(prepare(l));
  }
  for (const ptx::Variable& v : module_.variables)
    if (v.space == ptx::Space::shared && v.bytes == 0) image_.dynamic_shared_align = std::max(image_.dynamic_shared_align, v.align);
  image_.shared_static_end = shared_top_;
  for (Linked& l : functions_) CUTEGEN_CHECK(emit(l));
  for (const auto& [pc, callee] : call_sites_) image_.code[pc].target = functions_[index_.at(callee)].entry;
  for (const std::vector<Ref>& r : refs_) image_.refs.insert(image_.refs.end(), r.begin(), r.end());
  size_t at = 0;
  for (size_t pc = 0; pc < image_.code.size(); ++pc) image_.code[pc].op = image_.refs.data() + at, at += refs_[pc].size();
  image_.register_bytes = register_top_;
  image_.info.local_bytes = static_cast<u32>(align_up(local_top_, 16));
  image_.info.static_smem_bytes = shared_top_ - kSharedStart;
  image_.info.instructions = static_cast<u32>(image_.code.size());
  return {};
}

Result<std::unique_ptr<const Image>> link_kernel(std::shared_ptr<const ptx::Module> module, std::shared_ptr<const ModuleLayout> layout,
                                                 const ptx::Function& kernel) {
  auto image = std::make_unique<Image>();
  image->module = std::move(module);
  image->layout = std::move(layout);
  image->info.name = kernel.name;
  auto dims = [](const uint32_t(&d)[3]) { return Dim3{d[0], d[1], d[2]}; };
  image->info.max_threads = dims(kernel.max_threads);
  image->info.required_threads = dims(kernel.required_threads);
  image->info.cluster = dims(kernel.cluster);
  CUTEGEN_CHECK(Linker(*image, kernel).link());
  return std::unique_ptr<const Image>(std::move(image));
}

}  // namespace cutegen::vgpu
