#include "vgpu/exec/report.h"

#include <fmt/format.h>

namespace cutegen::vgpu {
namespace {

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

std::string source_of(const Fault& f) {
  std::string where = f.file.empty() ? fmt::format("PTX line {}", f.ptx_line) : fmt::format("{}:{}", f.file, f.line);
  if (!f.inlined_at.empty()) where += " (inlined at " + f.inlined_at + ")";
  return where;
}

}  // namespace

Dim3 thread_of(const Dim3& block, u32 warp, u32 lane) {
  const u64 t = u64{warp} * kLanes + lane;
  return {static_cast<u32>(t % block.x), static_cast<u32>(t / block.x % block.y), static_cast<u32>(t / block.x / block.y)};
}

const char* to_string(FaultKind kind) {
  constexpr const char* kNames[] = {
      "out_of_bounds", "use_after_free", "misaligned",          "read_only",         "barrier_divergence", "deadlock",
      "trap",          "assertion",      "illegal_instruction", "instruction_limit", "time_limit",         "invalid_launch",
      "uninitialised", "race",           "missing_wait",        "missing_fence",     "unfinished_async",   "mbarrier_misuse"};
  return kNames[static_cast<int>(kind)];
}

Fault describe_at(const Image& image, const Place& place, GuestFault guest) {
  Fault f;
  f.kind = guest.kind;
  f.kernel = image.info.name;
  f.address = guest.address;
  f.buffer = std::move(guest.buffer);
  f.distance = guest.distance;
  f.cta = place.cta;
  f.thread = thread_of(place.block, place.warp, guest.lane);
  locate(image, image.pcs[place.pc], f);
  f.message = fmt::format("{}: {}; kernel '{}', CTA ({},{},{}), thread ({},{},{}), {}: `{}`", to_string(f.kind), guest.message, f.kernel,
                          f.cta.x, f.cta.y, f.cta.z, f.thread.x, f.thread.y, f.thread.z, source_of(f), f.instruction);
  return f;
}

Fault describe_fault(const Image& image, const Grid& grid, const Unit& unit, GuestFault guest) {
  const WarpState& w = *unit.faulting_warp();
  return describe_at(image, {grid.block, unit.faulting_cta()->id, w.index, w.pc}, std::move(guest));
}

std::string source_of(const Image& image, u32 pc) {
  Fault f;
  locate(image, image.pcs[pc], f);
  return source_of(f);
}

}  // namespace cutegen::vgpu
