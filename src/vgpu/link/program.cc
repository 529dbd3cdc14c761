#include "vgpu/isa/registry.h"
#include "vgpu/link/linker.h"
#include "vgpu/ptx/parser.h"

namespace cutegen::vgpu {

Program::Program() = default;
Program::~Program() = default;

const KernelInfo* Program::find_kernel(const std::string& name) const {
  for (const KernelInfo& k : kernels_)
    if (k.name == name) return &k;
  return nullptr;
}

const Image* Program::image(const std::string& kernel) const {
  for (const auto& i : images_)
    if (i->info.name == kernel) return i.get();
  return nullptr;
}

std::vector<ProgramVariable> Program::variables() const {
  std::vector<ProgramVariable> list;
  for (size_t i = 0; i < module_->variables.size(); ++i) {
    const ptx::Variable& v = module_->variables[i];
    if (v.space != ptx::Space::shared) list.push_back({v.name, layout_->address[i], v.bytes});
  }
  return list;
}

Result<std::shared_ptr<const Program>> load_ptx(std::string text, std::string name, VariableSpace variables) {
  CUTEGEN_TRY(ptx::Module parsed, ptx::parse(std::move(text), std::move(name)));
  auto module = std::make_shared<const ptx::Module>(std::move(parsed));
  CUTEGEN_TRY(auto layout, lay_out(*module, variables));
  std::shared_ptr<Program> program(new Program);
  program->module_ = module;
  program->layout_ = layout;
  for (const ptx::Function& f : module->functions) {
    if (!f.is_entry || f.is_declaration) continue;
    CUTEGEN_TRY(auto image, link_kernel(module, layout, f));
    program->kernels_.push_back(image->info);
    program->images_.push_back(std::move(image));
  }
  return std::shared_ptr<const Program>(std::move(program));
}

}  // namespace cutegen::vgpu
