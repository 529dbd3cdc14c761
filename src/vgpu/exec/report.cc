#include "vgpu/exec/report.h"

#include <fmt/format.h>

namespace cutegen::vgpu {
namespace {

Dim3 thread_of(const Grid& grid, const WarpState& w, u32 lane) {
  const u64 t = u64{w.index} * kLanes + lane;
  return {static_cast<u32>(t % grid.block.x), static_cast<u32>(t / grid.block.x % grid.block.y),
          static_cast<u32>(t / grid.block.x / grid.block.y)};
}

void locate(const Image& image, const PcInfo& pc, Fault& f) {
  f.ptx_line = pc.ptx_line;
  f.instruction = std::string(image.module->line_text(pc.ptx_line));
  if (pc.loc < 0) return;
  const ptx::Loc* loc = &image.module->locs[static_cast<size_t>(pc.loc)];
  f.file = image.module->file_path(loc->file);
  f.line = loc->line;
  const ptx::Loc* outer = loc;
  for (int depth = 0; outer->inlined_at >= 0 && depth < 64; ++depth) outer = &image.module->locs[static_cast<size_t>(outer->inlined_at)];
  if (outer != loc) f.inlined_at = fmt::format("{}:{}", image.module->file_path(outer->file), outer->line);
}

}  // namespace

const char* to_string(FaultKind kind) {
  constexpr const char* kNames[] = {"out_of_bounds",       "use_after_free",    "misaligned", "read_only",
                                    "barrier_divergence",  "deadlock",          "trap",       "assertion",
                                    "illegal_instruction", "instruction_limit", "time_limit", "invalid_launch"};
  return kNames[static_cast<int>(kind)];
}

Fault describe_fault(const Image& image, const Grid& grid, const Unit& unit, GuestFault guest) {
  Fault f;
  f.kind = guest.kind;
  f.kernel = image.info.name;
  f.address = guest.address;
  f.buffer = std::move(guest.buffer);
  f.distance = guest.distance;
  const WarpState& w = *unit.faulting_warp();
  f.cta = unit.faulting_cta()->id;
  f.thread = thread_of(grid, w, guest.lane);
  locate(image, image.pcs[w.pc], f);
  std::string where = f.file.empty() ? fmt::format("PTX line {}", f.ptx_line) : fmt::format("{}:{}", f.file, f.line);
  if (!f.inlined_at.empty()) where += " (inlined at " + f.inlined_at + ")";
  f.message = fmt::format("{}: {}; kernel '{}', CTA ({},{},{}), thread ({},{},{}), {}: `{}`", to_string(f.kind), guest.message, f.kernel,
                          f.cta.x, f.cta.y, f.cta.z, f.thread.x, f.thread.y, f.thread.z, where, f.instruction);
  return f;
}

}  // namespace cutegen::vgpu
