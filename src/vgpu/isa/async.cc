// PTX ISA 9.7.9.25: asynchronous copies. They complete when they are issued; waiting for them is free. (A missing wait is therefore not
// noticed.)
#include <fmt/format.h>

#include <algorithm>

#include "vgpu/isa/builder.h"
#include "vgpu/isa/mbarrier_word.h"
#include "vgpu/isa/registry.h"
#include "vgpu/mem/port.h"

namespace cutegen::vgpu {
namespace {

// cp.async [dst], [src], size{, src_size}{, policy}: op = dst, offset, src, offset, size, src_size. Bytes beyond src_size become zero.
void copy_small(Warp& w, const Inst& in, u32 mask) {
  alignas(64) u64 dst[kLanes], src[kLanes];
  Port::addresses(w, in, 0, dst);
  Port::addresses(w, in, 2, src);
  const u32 size = in.op[4];
  const u32* given = in.op[5] == kAbsent ? nullptr : w.lanes<u32>(in.op[5]);
  u32 reads = mask;  // lanes that read anything
  for (u32 m = given == nullptr ? 0 : mask; m != 0; m &= m - 1)
    if (given[std::countr_zero(m)] == 0) reads &= ~(m & (~m + 1));
  char buffer[kLanes][16] = {};
  if (reads != 0) {
    const Resolved from = w.port->resolve<Space::global>(w, in, src, reads, size, Access::load);
    for (u32 m = reads; m != 0; m &= m - 1) {
      const int i = std::countr_zero(m);
      std::memcpy(buffer[i], from.delta + from.ea[i], given == nullptr ? size : std::min(size, given[i]));
    }
  }
  const Resolved to = w.port->resolve<Space::shared>(w, in, dst, mask, size, Access::store);
  for (u32 m = mask; m != 0; m &= m - 1) {
    const int i = std::countr_zero(m);
    std::memcpy(to.delta + to.ea[i], buffer[i], size);
  }
}

u64 address_of(const Warp& w, const Inst& in, int operand, u32 lane) {
  alignas(64) u64 ea[kLanes];
  Port::addresses(w, in, operand, ea);
  return ea[lane];
}

void complete(Warp& w, u64 barrier, u64 bytes, u32 lane) {
  char* p = w.port->at(w, Space::shared_cluster, barrier, 8, 8, Access::atomic, lane);
  u64 word = 0;
  std::memcpy(&word, p, 8);
  Mbarrier b(word);
  b.expect(-static_cast<s32>(bytes));
  word = b.word();
  std::memcpy(p, &word, 8);
}

void check_bulk_size(Warp& w, u32 size, u32 lane) {
  if (size % 16 != 0) w.port->fault(FaultKind::misaligned, fmt::format("bulk copy of {} bytes: not a multiple of 16", size), lane);
}

// cp.async.bulk.DST.SRC.mbarrier::complete_tx::bytes [dst], [src], size, [mbar]
template <Space Dst, Space Src>
void bulk_to_shared(Warp& w, const Inst& in, u32 mask) {
  for (u32 m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<u32>(std::countr_zero(m));
    const u32 size = w.lanes<u32>(in.op[4])[lane];
    check_bulk_size(w, size, lane);
    const char* src = w.port->at(w, Src, address_of(w, in, 2, lane), size, 16, Access::load, lane);
    char* dst = w.port->at(w, Dst, address_of(w, in, 0, lane), size, 16, Access::store, lane);
    std::memmove(dst, src, size);
    if (w.port->observer) w.port->observer->bulk(size);
    complete(w, address_of(w, in, 5, lane), size, lane);
  }
}
// The same to several CTAs of the cluster: offsets of data and barrier are the same in each.
void bulk_multicast(Warp& w, const Inst& in, u32 mask) {
  for (u32 m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<u32>(std::countr_zero(m));
    const u32 size = w.lanes<u32>(in.op[4])[lane], ctas = w.lanes<u32>(in.op[7])[lane] & 0xffffu;
    check_bulk_size(w, size, lane);
    const char* src = w.port->at(w, Space::global, address_of(w, in, 2, lane), size, 16, Access::load, lane);
    for (u32 c = ctas; c != 0; c &= c - 1) {
      const u64 rank = static_cast<u64>(std::countr_zero(c) + 1) << kRankShift;
      std::memcpy(w.port->at(w, Space::shared_cluster, (address_of(w, in, 0, lane) & 0xffffff) | rank, size, 16, Access::store, lane), src,
                  size);
      complete(w, (address_of(w, in, 5, lane) & 0xffffff) | rank, size, lane);
    }
    if (w.port->observer) w.port->observer->bulk(size);
  }
}
void bulk_to_global(Warp& w, const Inst& in, u32 mask) {  // [dst], [src], size
  for (u32 m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<u32>(std::countr_zero(m));
    const u32 size = w.lanes<u32>(in.op[4])[lane];
    check_bulk_size(w, size, lane);
    const char* src = w.port->at(w, Space::shared, address_of(w, in, 2, lane), size, 16, Access::load, lane);
    std::memcpy(w.port->at(w, Space::global, address_of(w, in, 0, lane), size, 16, Access::store, lane), src, size);
    if (w.port->observer) w.port->observer->bulk(size);
  }
}
template <class E, auto F>
void bulk_reduce(Warp& w, const Inst& in, u32 mask) {  // [dst], [src], size: dst = F(dst, src) element by element
  for (u32 m = mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<u32>(std::countr_zero(m));
    const u32 size = w.lanes<u32>(in.op[4])[lane];
    check_bulk_size(w, size, lane);
    const char* src = w.port->at(w, Space::shared, address_of(w, in, 2, lane), size, 16, Access::load, lane);
    char* dst = w.port->at(w, Space::global, address_of(w, in, 0, lane), size, 16, Access::atomic, lane);
    for (u32 i = 0; i + sizeof(E) <= size; i += sizeof(E)) {
      E a, b;
      std::memcpy(&a, dst + i, sizeof a);
      std::memcpy(&b, src + i, sizeof b);
      a = F(a, b);
      std::memcpy(dst + i, &a, sizeof a);
    }
    if (w.port->observer) w.port->observer->bulk(size);
  }
}

}  // namespace

std::vector<Form> async_forms() {
  Section s("Asynchronous copies");
  const OperandSpec address{Role::address, Value::U64}, size{Role::src}, literal{Role::imm};
  s.whole<[](Warp& w, const Inst& in, u32 mask) { copy_small(w, in, mask); }>(
      "cp.async.shared.global", {address, address, literal, {Role::src, Value::U32, 1, true}}, Pipe::lsu);
  constexpr auto nothing = [](Warp&, const Inst&, u32) {};
  for (const char* name : {"cp.async.commit_group", "cp.async.wait_all", "cp.async.bulk.commit_group"})
    s.whole<nothing>(name, {}, Pipe::control);
  for (const char* name : {"cp.async.wait_group", "cp.async.bulk.wait_group", "cp.async.bulk.wait_group.read"})
    s.whole<nothing>(name, {literal}, Pipe::control);
  for (const char* name :
       {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", "cp.async.bulk.shared.global.mbarrier::complete_tx::bytes"})
    s.whole<[](Warp& w, const Inst& in, u32 mask) { bulk_to_shared<Space::shared_cluster, Space::global>(w, in, mask); }>(
        name, {address, address, size, address}, Pipe::tma);
  s.whole<[](Warp& w, const Inst& in, u32 mask) { bulk_to_shared<Space::shared_cluster, Space::shared>(w, in, mask); }>(
      "cp.async.bulk.shared::cluster.shared.mbarrier::complete_tx::bytes", {address, address, size, address}, Pipe::tma);
  s.whole<[](Warp& w, const Inst& in, u32 mask) { bulk_multicast(w, in, mask); }>(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster",
      {address, address, size, address, {Role::src, Value::U16}}, Pipe::tma);
  s.whole<[](Warp& w, const Inst& in, u32 mask) { bulk_to_global(w, in, mask); }>("cp.async.bulk.global.shared.bulk_group",
                                                                                  {address, address, size}, Pipe::tma);
  s.whole<[](Warp& w, const Inst& in, u32 mask) { bulk_reduce<f32, [](f32 a, f32 b) { return canonical(a + b); }>(w, in, mask); }>(
      "cp.reduce.async.bulk.global.shared.bulk_group.add.f32", {address, address, size}, Pipe::tma);
  s.whole<[](Warp& w, const Inst& in, u32 mask) { bulk_reduce<u32, [](u32 a, u32 b) { return a + b; }>(w, in, mask); }>(
      "cp.reduce.async.bulk.global.shared.bulk_group.add.u32", {address, address, size}, Pipe::tma);
  s.whole<nothing>("cp.async.bulk.prefetch.L2.global", {address, size}, Pipe::tma);
  return s.take();
}

}  // namespace cutegen::vgpu
