// PTX ISA 9.7.15: wgmma.
#include "vgpu/isa/builder.h"
#include "vgpu/isa/registry.h"

namespace cutegen::vgpu {

std::vector<Form> wgmma_forms() {
  Section s("Matrix: wgmma");
  return s.take();
}

}  // namespace cutegen::vgpu
