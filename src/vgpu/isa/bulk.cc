// PTX ISA 9.7.9.25.4-5: bulk copies and reductions; st.async and red.async (9.7.9.12, 9.7.13.8), which write to shared memory of the
// cluster.
#include <fmt/format.h>

#include "vgpu/isa/async.h"
#include "vgpu/isa/registry.h"

namespace cutegen::vgpu {
namespace {

u32 bulk_size(Warp& w, const Inst& in, u32 lane) {
  const u32 size = w.lanes<u32>(in.op[4])[lane];
  if (size % 16 != 0) w.port->fault(FaultKind::misaligned, fmt::format("bulk copy of {} bytes: not a multiple of 16", size), lane);
  return size;
}

// cp.async.bulk.DST.SRC.mbarrier::complete_tx::bytes [dst], [src], size, [mbar]
template <Space Dst, Space Src>
void to_shared(Warp& w, const Inst& in, u32 mask) {
  each_lane(mask, [&](u32 lane) {
    const u32 size = bulk_size(w, in, lane);
    const u64 to = lane_address(w, in, 0, lane), from = lane_address(w, in, 2, lane), barrier = lane_address(w, in, 5, lane);
    Announcement copy(w, in, lane);
    copy.range(Access::load, Src, from, size);
    copy.range(Access::store, Dst, to, size);
    const char* src = w.port->at(w, Src, from, size, 16, Access::load, lane);
    std::memmove(w.port->at(w, Dst, to, size, 16, Access::store, lane), src, size);
    copy.copied(size);
    copy.completes_on_barrier(barrier);
    complete_bytes(w, barrier, size, lane);
  });
}
// The same to several CTAs of the cluster: offsets of data and barrier are the same in each.
void multicast(Warp& w, const Inst& in, u32 mask) {
  each_lane(mask, [&](u32 lane) {
    const u32 size = bulk_size(w, in, lane);
    const u64 to = lane_address(w, in, 0, lane), from = lane_address(w, in, 2, lane), barrier = lane_address(w, in, 5, lane);
    const char* src = w.port->at(w, Space::global, from, size, 16, Access::load, lane);
    each_lane(w.lanes<u32>(in.op[7])[lane] & 0xffffu, [&](u32 rank) {
      Announcement copy(w, in, lane);
      copy.range(Access::load, Space::global, from, size);
      copy.range(Access::store, Space::shared_cluster, in_cta(to, rank), size);
      std::memcpy(w.port->at(w, Space::shared_cluster, in_cta(to, rank), size, 16, Access::store, lane), src, size);
      copy.completes_on_barrier(in_cta(barrier, rank));
      complete_bytes(w, in_cta(barrier, rank), size, lane);
    });
    if (w.port->observer != nullptr) w.port->observer->bulk(size);
  });
}
void to_global(Warp& w, const Inst& in, u32 mask) {  // [dst], [src], size
  each_lane(mask, [&](u32 lane) {
    const u32 size = bulk_size(w, in, lane);
    const u64 to = lane_address(w, in, 0, lane), from = lane_address(w, in, 2, lane);
    Announcement copy(w, in, lane);
    copy.range(Access::load, Space::shared, from, size);
    copy.range(Access::store, Space::global, to, size);
    const char* src = w.port->at(w, Space::shared, from, size, 16, Access::load, lane);
    std::memcpy(w.port->at(w, Space::global, to, size, 16, Access::store, lane), src, size);
    copy.copied(size);
    copy.completes_with_group();
  });
}
// cp.reduce.async.bulk [dst], [src], size{, [mbar]}; Inst::param: index in reductions().
template <bool ToGlobal>
void reduce(Warp& w, const Inst& in, u32 mask) {
  constexpr Space to_space = ToGlobal ? Space::global : Space::shared_cluster;
  const Reduction& r = reductions()[in.param];
  each_lane(mask, [&](u32 lane) {
    const u32 size = bulk_size(w, in, lane);
    const u64 to = lane_address(w, in, 0, lane), from = lane_address(w, in, 2, lane);
    Announcement copy(w, in, lane);
    copy.range(Access::load, Space::shared, from, size);
    copy.range(Access::atomic, to_space, to, size);
    const char* src = w.port->at(w, Space::shared, from, size, 16, Access::load, lane);
    r.apply(w.port->at(w, to_space, to, size, 16, Access::atomic, lane), src, size);
    copy.copied(size);
    if (ToGlobal) return copy.completes_with_group();
    copy.completes_on_barrier(lane_address(w, in, 5, lane));
    complete_bytes(w, lane_address(w, in, 5, lane), size, lane);
  });
}

// st.async [dst], b, [mbar]: op = dst, offset, N values, mbar, offset
template <class T, int N>
void store(Warp& w, const Inst& in, u32 mask) {
  each_lane(mask, [&](u32 lane) {
    const u64 to = lane_address(w, in, 0, lane), barrier = lane_address(w, in, 2 + N, lane);
    Announcement write(w, in, lane);
    write.range(Access::store, Space::shared_cluster, to, sizeof(T) * N);
    char* p = w.port->at(w, Space::shared_cluster, to, sizeof(T) * N, sizeof(T) * N, Access::store, lane);
    for (int i = 0; i < N; ++i) std::memcpy(p + i * sizeof(T), &w.lanes<T>(in.op[2 + i])[lane], sizeof(T));
    write.completes_on_barrier(barrier);
    complete_bytes(w, barrier, sizeof(T) * N, lane);
  });
}
template <class T, int N>
void store_form(Section& s, const char* type) {
  const OperandSpec address{Role::address, Value::U64};
  completes_on(s.whole<[](Warp& w, const Inst& in, u32 mask) { store<T, N>(w, in, mask); }>(
                   fmt::format("st.async.shared::cluster.mbarrier::complete_tx::bytes{}.{}", N == 1 ? "" : fmt::format(".v{}", N), type),
                   {address, {Role::vec_src, value_of<T>(), N}, address}, Pipe::lsu),
               2);
}
// red.async [dst], b, [mbar]; Inst::param: index in reductions()
template <class T>
void remote_reduce(Warp& w, const Inst& in, u32 mask) {
  const Reduction& r = reductions()[in.param];
  each_lane(mask, [&](u32 lane) {
    const u64 to = lane_address(w, in, 0, lane), barrier = lane_address(w, in, 3, lane);
    Announcement write(w, in, lane);
    write.range(Access::atomic, Space::shared_cluster, to, sizeof(T));
    const T value = w.lanes<T>(in.op[2])[lane];
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    r.apply(w.port->at(w, Space::shared_cluster, to, sizeof(T), sizeof(T), Access::atomic, lane), bytes, sizeof(T));
    write.completes_on_barrier(barrier);
    complete_bytes(w, barrier, sizeof(T), lane);
  });
}

void reduction_forms(Section& s) {
  const OperandSpec address{Role::address, Value::U64}, size{Role::src};
  for (u32 i = 0; i < reductions().size(); ++i) {
    const Reduction& r = reductions()[i];
    const std::string op = "." + r.op + (r.op == "add" && r.element_bytes == 2 ? ".noftz." : ".") + r.type;
    completes_with(s.whole<[](Warp& w, const Inst& in, u32 mask) { reduce<true>(w, in, mask); }>(
                       "cp.reduce.async.bulk.global.shared.bulk_group" + op, {address, address, size}, Pipe::tma),
                   Completion::bulk_group)
        .param = i;
    if (r.type[0] == 'f' || r.type == "bf16") continue;  // integers only in shared memory
    completes_on(
        s.whole<[](Warp& w, const Inst& in, u32 mask) { reduce<false>(w, in, mask); }>(
            "cp.reduce.async.bulk.shared::cluster.shared.mbarrier::complete_tx::bytes" + op, {address, address, size, address}, Pipe::tma),
        3)
        .param = i;
    const bool wide = r.element_bytes == 8;
    const std::vector<OperandSpec> operands{address, {Role::src, wide ? Value::U64 : Value::U32}, address};
    const std::string name = "red.async.shared::cluster.mbarrier::complete_tx::bytes" + op;
    Form& f = wide ? s.whole<[](Warp& w, const Inst& in, u32 mask) { remote_reduce<u64>(w, in, mask); }>(name, operands, Pipe::lsu)
                   : s.whole<[](Warp& w, const Inst& in, u32 mask) { remote_reduce<u32>(w, in, mask); }>(name, operands, Pipe::lsu);
    completes_on(f, 2).param = i;
  }
}

}  // namespace

std::vector<Form> bulk_forms() {
  Section s("Bulk copies");
  const OperandSpec address{Role::address, Value::U64}, size{Role::src};
  for (const char* name :
       {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", "cp.async.bulk.shared.global.mbarrier::complete_tx::bytes"})
    completes_on(s.whole<[](Warp& w, const Inst& in, u32 mask) { to_shared<Space::shared_cluster, Space::global>(w, in, mask); }>(
                     name, {address, address, size, address}, Pipe::tma),
                 3);
  completes_on(s.whole<[](Warp& w, const Inst& in, u32 mask) { to_shared<Space::shared_cluster, Space::shared>(w, in, mask); }>(
                   "cp.async.bulk.shared::cluster.shared.mbarrier::complete_tx::bytes", {address, address, size, address}, Pipe::tma),
               3);
  completes_on(s.whole<[](Warp& w, const Inst& in, u32 mask) { multicast(w, in, mask); }>(
                   "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster",
                   {address, address, size, address, {Role::src, Value::U16}}, Pipe::tma),
               3)
      .param = kMulticast;
  completes_with(s.whole<[](Warp& w, const Inst& in, u32 mask) { to_global(w, in, mask); }>("cp.async.bulk.global.shared.bulk_group",
                                                                                            {address, address, size}, Pipe::tma),
                 Completion::bulk_group);
  s.whole<[](Warp&, const Inst&, u32) {}>("cp.async.bulk.prefetch.L2.global", {address, size}, Pipe::tma);
  reduction_forms(s);
  store_form<u32, 1>(s, "u32"), store_form<u32, 2>(s, "u32"), store_form<u32, 4>(s, "u32");
  store_form<u64, 1>(s, "u64"), store_form<u64, 2>(s, "u64");
  return s.take();
}

}  // namespace cutegen::vgpu
