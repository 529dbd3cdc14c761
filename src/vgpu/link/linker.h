// From a parsed kernel to an Image. Private to link/.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "vgpu/link/allocate.h"
#include "vgpu/link/cfg.h"
#include "vgpu/link/image.h"

namespace cutegen::vgpu {

Result<std::shared_ptr<const ModuleLayout>> lay_out(const ptx::Module& module, VariableSpace space);
Result<std::unique_ptr<const Image>> link_kernel(std::shared_ptr<const ptx::Module> module, std::shared_ptr<const ModuleLayout> layout,
                                                 const ptx::Function& kernel);

// The record of an instruction, which for a few depends on its operands: mov with vectors, parameters of functions, optional operands.
const Form* select_form(const ptx::Module& module, const ptx::Function& f, const ptx::Instruction& in);

class Linker {
 public:
  Linker(Image& image, const ptx::Function& kernel) : image_(image), module_(*image.module), kernel_(kernel) {}
  Result<void> link();

 private:
  struct Linked {  // a function that is part of the kernel
    const ptx::Function* function = nullptr;
    std::vector<const Form*> forms;
    Cfg cfg;
    Slots slots;
    std::vector<u32> variable;  // by ptx::Function::variables: offset in local memory, parameter offset or shared address
    int entry = -1;             // pc
  };

  Error error(const ptx::Instruction& in, const std::string& what) const;
  // functions and storage: linker.cc
  Result<void> collect(const ptx::Function& f, std::vector<std::string>& stack);
  const ptx::Function* find_function(const std::string& name) const;
  Result<void> lay_out_kernel_parameters(Linked& l);
  Result<void> lay_out_variables(Linked& l);
  Result<void> prepare(Linked& l);
  Result<Accesses> accesses(const ptx::Function& f, const ptx::Instruction& in) const;
  void note_properties(const ptx::Instruction& in, const Form& form);

  // code: emit.cc
  Result<void> emit(Linked& l);
  Result<void> emit_call(Linked& l, const ptx::Instruction& in);
  Result<void> emit_plain(Linked& l, const ptx::Instruction& in, const Form& form);
  Result<void> emit_branch(Linked& l, const ptx::Instruction& in, const Form& form, const Block& block);
  Inst& push(const Form& form, const ptx::Instruction* in, const std::vector<Ref>& refs);
  void push_conversion(const char* name, Ref d, Ref s, const ptx::Instruction& in, const Linked& l);
  void guard(Inst& inst, const ptx::Instruction& in, const Linked& l) const;

  // operands: operands.cc
  struct Binding {
    std::vector<Ref> refs;
    struct Convert {
      const char* name;
      Ref d, s;
    };
    std::vector<Convert> before, after;
    int temps = 0;
  };
  Result<void> bind(const Linked& l, const ptx::Instruction& in, const Form& form, Binding& b);
  Result<void> bind_one(const Linked& l, const ptx::Instruction& in, const OperandSpec& spec, const ptx::Operand& o, Binding& b);
  Result<Ref> bind_source(const Linked& l, const ptx::Instruction& in, Value type, const ptx::Operand& o, Binding& b);
  Result<Ref> bind_destination(const Linked& l, const ptx::Instruction& in, Value type, const ptx::Operand& o, Binding& b);
  Result<void> bind_address(const Linked& l, const ptx::Instruction& in, const ptx::Operand& o, Binding& b);
  Result<u64> variable_address(const Linked& l, const ptx::Instruction& in, const ptx::Operand& o) const;
  Ref constant(u64 bits, bool wide);
  Ref predicate_constant(bool value);
  Result<Ref> special(const ptx::Instruction& in, const std::string& name, bool wide);
  Ref temp(Binding& b) const;

  Image& image_;
  const ptx::Module& module_;
  const ptx::Function& kernel_;
  std::vector<Linked> functions_;
  std::unordered_map<std::string, size_t> index_;
  std::map<std::pair<u64, int>, Ref> constants_;
  std::vector<std::vector<Ref>> refs_;                      // by pc, until Image::refs is final
  std::vector<std::pair<size_t, std::string>> call_sites_;  // pc, callee
  u32 register_top_ = 0, local_top_ = 0, shared_top_ = 0;
};

// Start of every warp's registers: "all lanes", a predicate nobody reads, a register nobody reads, temporaries of width conversions.
inline constexpr u32 kAllLanes = 0, kSinkPredicate = 64, kSinkRegister = 128, kTemporaries = 512, kTemporaryCount = 20,
                     kFirstRegister = kTemporaries + kTemporaryCount * 256;

}  // namespace cutegen::vgpu
