// PTX ISA 9.7.9.25.3: cp.async, and the groups of all asynchronous copies. When an operation takes effect is the machine's affair
// (exec/async.h).
#include "vgpu/isa/async.h"

#include <algorithm>

#include "vgpu/isa/registry.h"

namespace cutegen::vgpu {
namespace {

// cp.async [dst], [src], size{, src_size}{, policy}: op = dst, offset, src, offset, size, src_size. Bytes beyond src_size become zero.
void copy_small(Warp& w, const Inst& in, u32 mask) {
  alignas(64) u64 dst[kLanes], src[kLanes];
  Port::addresses(w, in, 0, dst);
  Port::addresses(w, in, 2, src);
  const u32 size = in.op[4];
  const u32* given = in.op[5] == kAbsent ? nullptr : w.lanes<u32>(in.op[5]);
  auto read_bytes = [&](u32 lane) { return given == nullptr ? size : std::min(size, given[lane]); };
  u32 reads = mask;  // lanes that read anything
  each_lane(mask, [&](u32 i) { reads &= ~(u32{read_bytes(i) == 0} << i); });
  if (w.port->observer != nullptr)
    each_lane(mask, [&](u32 i) {
      Announcement copy(w, in, i, false);
      copy.range(Access::load, Space::global, src[i], read_bytes(i));
      copy.range(Access::store, Space::shared, dst[i], size);
      copy.completes_with_group();
    });
  char buffer[kLanes][16] = {};
  if (reads != 0) {
    const Resolved from = w.port->resolve<Space::global>(w, in, src, reads, size, Access::load);
    each_lane(reads, [&](u32 i) { std::memcpy(buffer[i], from.delta + from.ea[i], read_bytes(i)); });
  }
  const Resolved to = w.port->resolve<Space::shared>(w, in, dst, mask, size, Access::store);
  each_lane(mask, [&](u32 i) { std::memcpy(to.delta + to.ea[i], buffer[i], size); });
}

constexpr auto nothing = [](Warp&, const Inst&, u32) {};

}  // namespace

std::vector<Form> async_forms() {
  Section s("Asynchronous copies");
  const OperandSpec address{Role::address, Value::U64}, literal{Role::imm};
  completes_with(s.whole<[](Warp& w, const Inst& in, u32 mask) { copy_small(w, in, mask); }>(
                     "cp.async.shared.global", {address, address, literal, {Role::src, Value::U32, 1, true}}, Pipe::lsu),
                 Completion::copy_group);
  struct Group {
    const char* name;
    Completion completion;
    Async async;
  };
  for (const Group& g : {Group{"cp.async.commit_group", Completion::copy_group, Async::commit},
                         {"cp.async.wait_all", Completion::copy_group, Async::wait_all},
                         {"cp.async.wait_group", Completion::copy_group, Async::wait},
                         {"cp.async.bulk.commit_group", Completion::bulk_group, Async::commit},
                         {"cp.async.bulk.wait_group", Completion::bulk_group, Async::wait},
                         {"cp.async.bulk.wait_group.read", Completion::bulk_group, Async::wait}}) {
    std::vector<OperandSpec> operands;
    if (g.async == Async::wait) operands.push_back(literal);
    completes_with(s.whole<nothing>(g.name, operands, Pipe::control), g.completion).async = g.async;
  }
  return s.take();
}

}  // namespace cutegen::vgpu
