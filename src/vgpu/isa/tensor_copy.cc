// PTX ISA 9.7.9.27: cp.async.bulk.tensor, cp.reduce.async.bulk.tensor, their prefetch.
#include <fmt/format.h>

#include <algorithm>

#include "vgpu/isa/async.h"
#include "vgpu/isa/registry.h"
#include "vgpu/isa/tensor_box.h"

namespace cutegen::vgpu {
namespace {

// Inst::param: dimensions, mode; reductions: the operation.
constexpr u32 kDimensions = 7, kIm2col = 8, kOperation = 8;  // kOperation: shift
constexpr const char* kOperations[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
constexpr u32 kMaxRowBytes = 256 * 8;

// Operands of every form: [dst] or nothing, [map, {coordinates}], ...
struct Operands {
  TensorMap map;
  std::array<s32, 5> start{};
  int next = 0;  // first reference after the coordinates
};

Operands read_operands(Warp& w, const Inst& in, int at, u32 lane) {
  Operands o;
  const u64 address = lane_address(w, in, at, lane);
  std::memcpy(&o.map, w.port->at(w, Space::generic, address, sizeof(TensorMap), 64, Access::load, lane), sizeof(TensorMap));
  const u32 dims = in.param & kDimensions;
  std::string problem = check(o.map);
  if (problem.empty() && o.map.rank != dims) problem = fmt::format("rank {}, but the instruction has {} dimensions", o.map.rank, dims);
  if (problem.empty() && (o.map.im2col != 0) != ((in.param & kIm2col) != 0))
    problem = o.map.im2col != 0 ? "an im2col map in a tiled copy" : "a tiled map in an im2col copy";
  if (problem.empty() && o.map.interleave != TensorInterleave::none) problem = "interleaved layouts are not supported";
  if (!problem.empty()) w.port->fault(FaultKind::illegal_instruction, fmt::format("tensor map at {:#x}: {}", address, problem), lane);
  for (u32 i = 0; i < dims; ++i) o.start[i] = static_cast<s32>(w.lanes<u32>(in.op[at + 2 + static_cast<int>(i)])[lane]);
  if (o.start[0] * static_cast<s64>(size_bytes(o.map.type)) % 16 != 0)  // measured on an H200: an illegal instruction there too
    w.port->fault(FaultKind::illegal_instruction,
                  fmt::format("coordinate {} of dimension 0 is {} bytes from the tensor's start: not a multiple of 16", o.start[0],
                              o.start[0] * static_cast<s64>(size_bytes(o.map.type))),
                  lane);
  o.next = at + 2 + static_cast<int>(dims);
  return o;
}

// What reading an element does to its bits: TF32 types round to nearest even, with one NaN. Subnormals stay whatever the type's name says
// (measured on an H200).
void convert(TensorType type, char* row, u32 bytes) {
  if (type != TensorType::tfloat32 && type != TensorType::tfloat32_ftz) return;
  for (u32 i = 0; i < bytes; i += 4) {
    u32 v = 0;
    std::memcpy(&v, row + i, 4);
    if ((v & 0x7fffffffu) > 0x7f800000u)
      v = 0x7fffe000u;
    else if ((v & 0x7f800000u) != 0x7f800000u)
      v = (v + 0xfffu + ((v >> 13) & 1)) & ~0x1fffu;
    std::memcpy(row + i, &v, 4);
  }
}

void fill(const TensorMap& map, char* row, u32 bytes) {
  std::memset(row, 0, bytes);
  if (map.fill != TensorFill::nan) return;
  constexpr u16 nan = 0x7ff7;  // of every type, as often as its size holds it (measured on an H200)
  for (u32 i = 0; i < bytes; i += sizeof nan) std::memcpy(row + i, &nan, sizeof nan);
}

// One CTA's copy of the box at `to`. Global rows are announced in any case.
void load_box(Warp& w, const Operands& o, TensorBox box, u64 to, u32 lane, Announcement& copy) {
  const u32 bytes = box.row_bytes(), size = size_bytes(o.map.type);
  copy.range(Access::store, Space::shared_cluster, to, box.shared_bytes());
  w.port->at(w, Space::shared_cluster, to, box.shared_bytes(), 128, Access::store, lane);
  alignas(16) char row[kMaxRowBytes];
  for (u32 r = 0; r < box.rows(); ++r) {
    const TensorRow from = box.next();
    if (!from.inside || from.first != 0 || from.end != box.row_elements()) fill(o.map, row, bytes);
    if (from.inside) {
      const u32 inner = (from.end - from.first) * size;
      copy.range(Access::load, Space::global, from.address, inner);
      std::memcpy(row + from.first * size, w.port->at(w, Space::global, from.address, inner, size, Access::load, lane), inner);
      convert(o.map.type, row + from.first * size, inner);
    }
    for (u32 c = 0; c < bytes; c += 16)
      std::memcpy(w.port->at(w, Space::shared_cluster, box.swizzled(to + r * box.row_pitch() + c), 16, 16, Access::store, lane), row + c,
                  16);
  }
}

std::array<u32, 3> im2col_offsets(const Warp& w, const Inst& in, const Operands& o, int at, u32 lane) {
  std::array<u32, 3> offsets{};
  if ((in.param & kIm2col) != 0)
    for (int i = 0; i + 2 < o.map.rank; ++i) offsets[static_cast<size_t>(i)] = w.lanes<u32>(in.op[at + i])[lane] & 0xffffu;
  return offsets;
}

// [dst], [map, {coordinates}], [mbar]{, {offsets}}{, CTA mask}
void load(Warp& w, const Inst& in, u32 mask) {
  each_lane(mask, [&](u32 lane) {
    const u64 to = lane_address(w, in, 0, lane);
    const Operands o = read_operands(w, in, 2, lane);
    const u64 barrier = lane_address(w, in, o.next, lane);
    const TensorBox box(o.map, o.start, im2col_offsets(w, in, o, o.next + 2, lane));
    auto one = [&](u64 dst, u64 bar) {
      Announcement copy(w, in, lane);
      load_box(w, o, box, dst, lane, copy);
      copy.completes_on_barrier(bar);
      complete_bytes(w, bar, box.bytes(), lane);
    };
    if ((in.param & kMulticast) == 0) {
      one(to, barrier);
    } else {
      const int ctas = o.next + 2 + ((in.param & kIm2col) != 0 ? o.map.rank - 2 : 0);
      each_lane(w.lanes<u32>(in.op[ctas])[lane] & 0xffffu, [&](u32 rank) { one(in_cta(to, rank), in_cta(barrier, rank)); });
    }
    if (w.port->observer != nullptr) w.port->observer->bulk(box.bytes());
  });
}

// F(global address, bytes in shared memory, bytes) for each piece of the box inside the tensor.
template <class F>
void store_box(Warp& w, const Inst& in, u32 lane, Access access, F piece) {
  const Operands o = read_operands(w, in, 0, lane);
  const u64 from = lane_address(w, in, o.next, lane);
  TensorBox box(o.map, o.start, {});
  Announcement copy(w, in, lane);
  copy.range(Access::load, Space::shared, from, box.shared_bytes());
  w.port->at(w, Space::shared, from, box.shared_bytes(), 128, Access::load, lane);
  const u32 bytes = box.row_bytes(), size = size_bytes(o.map.type);
  alignas(16) char row[kMaxRowBytes];
  for (u32 r = 0; r < box.rows(); ++r) {
    const TensorRow to = box.next();
    if (!to.inside) continue;
    for (u32 c = 0; c < bytes; c += 16)
      std::memcpy(row + c, w.port->at(w, Space::shared, box.swizzled(from + r * box.row_pitch() + c), 16, 16, Access::load, lane), 16);
    const u32 inner = (to.end - to.first) * size;
    copy.range(access, Space::global, to.address, inner);
    piece(o.map, w.port->at(w, Space::global, to.address, inner, size, access, lane), row + to.first * size, inner);
  }
  copy.copied(box.bytes());
  copy.completes_with_group();
}

void store(Warp& w, const Inst& in, u32 mask) {  // [map, {coordinates}], [src]
  each_lane(mask, [&](u32 lane) {
    store_box(w, in, lane, Access::store, [](const TensorMap&, char* to, const char* from, u32 bytes) { std::memcpy(to, from, bytes); });
  });
}

std::string reduction_type(TensorType type, const std::string& op) {
  constexpr const char* kNames[] = {"u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16", "f32", "f32", "f32"};
  const std::string name = kNames[static_cast<size_t>(type)];
  if (op == "and" || op == "or" || op == "xor") return name.ends_with("64") ? "b64" : "b32";
  return name;
}
void reduce(Warp& w, const Inst& in, u32 mask) {
  const std::string op = kOperations[in.param >> kOperation & 7];
  each_lane(mask, [&](u32 lane) {
    store_box(w, in, lane, Access::atomic, [&](const TensorMap& map, char* to, const char* from, u32 bytes) {
      const Reduction* r = find_reduction(op, reduction_type(map.type, op));
      if (r == nullptr || r->element_bytes != size_bytes(map.type))
        w.port->fault(FaultKind::illegal_instruction, "the tensor's element type has no reduction ." + op, lane);
      r->apply(to, from, bytes);
    });
  });
}

constexpr auto nothing = [](Warp&, const Inst&, u32) {};

void forms_of(Section& s, u8 dims, bool im2col) {
  const OperandSpec address{Role::address, Value::U64}, map{Role::coords, Value::S32, dims}, ctas{Role::src, Value::U16};
  const std::string prefix = "bulk.tensor." + std::to_string(dims) + "d", mode = im2col ? ".im2col" : "";
  const u32 param = dims | (im2col ? kIm2col : 0);
  std::vector<OperandSpec> load_operands{address, map, address}, prefetch_operands{map};
  if (im2col) {
    const OperandSpec offsets{Role::vec_src, Value::U16, static_cast<u8>(dims - 2)};
    load_operands.push_back(offsets), prefetch_operands.push_back(offsets);
  }
  for (const char* space : {".shared::cluster", ".shared"})
    completes_on(s.whole<[](Warp& w, const Inst& in, u32 mask) { load(w, in, mask); }>(
                     "cp.async." + prefix + space + ".global" + mode + ".mbarrier::complete_tx::bytes", load_operands, Pipe::tma),
                 2)
        .param = param;
  load_operands.push_back(ctas);
  completes_on(s.whole<[](Warp& w, const Inst& in, u32 mask) { load(w, in, mask); }>(
                   "cp.async." + prefix + ".shared::cluster.global" + mode + ".mbarrier::complete_tx::bytes.multicast::cluster",
                   load_operands, Pipe::tma),
               2)
      .param = param | kMulticast;
  s.whole<nothing>("cp.async.bulk.prefetch.tensor." + std::to_string(dims) + "d.L2.global" + mode, prefetch_operands, Pipe::tma);

  const std::string store_mode = im2col ? ".im2col_no_offs" : "";
  completes_with(s.whole<[](Warp& w, const Inst& in, u32 mask) { store(w, in, mask); }>(
                     "cp.async." + prefix + ".global.shared" + store_mode + ".bulk_group", {map, address}, Pipe::tma),
                 Completion::bulk_group)
      .param = param;
  for (u32 op = 0; op < std::size(kOperations); ++op)
    completes_with(
        s.whole<[](Warp& w, const Inst& in, u32 mask) { reduce(w, in, mask); }>(
            "cp.reduce.async." + prefix + ".global.shared." + kOperations[op] + store_mode + ".bulk_group", {map, address}, Pipe::tma),
        Completion::bulk_group)
        .param = param | op << kOperation;
}

}  // namespace

std::vector<Form> tensor_copy_forms() {
  Section s("Tensor copies (TMA)");
  for (u8 dims = 1; dims <= 5; ++dims) {
    forms_of(s, dims, false);
    if (dims >= 3) forms_of(s, dims, true);
  }
  return s.take();
}

}  // namespace cutegen::vgpu
