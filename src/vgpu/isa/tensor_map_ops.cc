// PTX ISA 9.7.9.28 and 9.7.13.4: tensormap.replace, tensormap.cp_fenceproxy.
#include <fmt/format.h>

#include "vgpu/isa/async.h"
#include "vgpu/isa/registry.h"
#include "vgpu/tensor_map.h"

namespace cutegen::vgpu {
namespace {

// Writes `value` to one field of a map. False when it cannot be a value of that field.
using Setter = bool (*)(TensorMap& map, u32 ordinal, u64 value);

struct Field {
  const char* name;
  Setter set;
  bool ordinal;  // tensormap.replace.tile.FIELD [map], ord, value
  bool wide;     // .b64
  bool literal;  // the value is an immediate
};

// Numbers of element types in this instruction (PTX ISA, table of .elemtype) are not those of the driver's API.
bool set_type(TensorMap& m, u32, u64 v) {
  constexpr TensorType kTypes[] = {TensorType::uint8,       TensorType::uint16,  TensorType::uint32,   TensorType::int32,
                                   TensorType::uint64,      TensorType::int64,   TensorType::float16,  TensorType::float32,
                                   TensorType::float32_ftz, TensorType::float64, TensorType::bfloat16, TensorType::tfloat32,
                                   TensorType::tfloat32_ftz};
  if (v >= std::size(kTypes)) return false;
  m.type = kTypes[v];
  return true;
}

constexpr Field kFields[] = {
    {"global_address", [](TensorMap& m, u32, u64 v) { return m.address = v, true; }, false, true, false},
    {"rank", [](TensorMap& m, u32, u64 v) { return m.rank = static_cast<u8>(v + 1), v < 5; }, false, false, false},
    {"box_dim", [](TensorMap& m, u32 i, u64 v) { return m.box[i] = static_cast<u16>(v), v <= 256; }, true, false, false},
    {"global_dim", [](TensorMap& m, u32 i, u64 v) { return m.dims[i] = static_cast<u32>(v), true; }, true, false, false},
    {"global_stride", [](TensorMap& m, u32 i, u64 v) { return i < 4 && (m.strides[i] = v, true); }, true, true, false},
    {"element_stride", [](TensorMap& m, u32 i, u64 v) { return m.element_strides[i] = static_cast<u8>(v), v <= 8; }, true, false, false},
    {"elemtype", set_type, false, false, true},
    {"interleave_layout", [](TensorMap& m, u32, u64 v) { return m.interleave = static_cast<TensorInterleave>(v & 3), v < 3; }, false, false,
     true},
    {"swizzle_mode", [](TensorMap& m, u32, u64 v) { return m.swizzle = static_cast<TensorSwizzle>(v & 3), v < 4; }, false, false, true},
    {"fill_mode", [](TensorMap& m, u32, u64 v) { return m.fill = static_cast<TensorFill>(v & 1), v < 2; }, false, false, true},
};

u64 value_of_operand(const Warp& w, const Inst& in, const Field& f, int at, u32 lane) {
  if (f.literal) return in.op[at];
  return f.wide ? w.lanes<u64>(in.op[at])[lane] : w.lanes<u32>(in.op[at])[lane];
}

template <Space S>
void replace(Warp& w, const Inst& in, u32 mask) {  // Inst::param: index in kFields
  const Field& f = kFields[in.param];
  alignas(64) u64 ea[kLanes];
  Port::addresses(w, in, 0, ea);
  each_lane(mask, [&](u32 lane) {
    char* at = w.port->at(w, S, ea[lane], sizeof(TensorMap), 64, Access::store, lane);
    TensorMap map;
    std::memcpy(&map, at, sizeof map);
    const u32 ordinal = f.ordinal ? in.op[2] : 0;
    const u64 value = value_of_operand(w, in, f, f.ordinal ? 3 : 2, lane);
    if (map.magic != TensorMap::kMagic) w.port->fault(FaultKind::illegal_instruction, "tensormap.replace of what is no tensor map", lane);
    if (ordinal >= 5 || !f.set(map, ordinal, value))
      w.port->fault(FaultKind::illegal_instruction, fmt::format("tensormap.replace: {} cannot be {}", f.name, value), lane);
    std::memcpy(at, &map, sizeof map);
  });
}

void replace_forms(Section& s) {
  for (u32 i = 0; i < std::size(kFields); ++i) {
    const Field& f = kFields[i];
    std::vector<OperandSpec> operands{{Role::address, Value::U64}};
    if (f.ordinal) operands.push_back({Role::imm});
    operands.push_back(f.literal ? OperandSpec{Role::imm} : OperandSpec{Role::src, f.wide ? Value::U64 : Value::U32});
    const std::string field = std::string("tensormap.replace.tile.") + f.name, type = f.wide ? ".b1024.b64" : ".b1024.b32";
    s.whole<[](Warp& w, const Inst& in, u32 mask) { replace<Space::generic>(w, in, mask); }>(field + type, operands, Pipe::lsu).param = i;
    s.whole<[](Warp& w, const Inst& in, u32 mask) { replace<Space::global>(w, in, mask); }>(field + ".global" + type, operands, Pipe::lsu)
        .param = i;
    s.whole<[](Warp& w, const Inst& in, u32 mask) { replace<Space::shared>(w, in, mask); }>(field + ".shared" + type, operands, Pipe::lsu)
        .param = i;
  }
}

// tensormap.cp_fenceproxy [dst], [src], 128: a warp copies a map from shared to global memory.
void copy_map(Warp& w, const Inst& in, u32 mask) {
  const auto lane = static_cast<u32>(std::countr_zero(mask));
  const char* from = w.port->at(w, Space::shared, lane_address(w, in, 2, lane), 128, 128, Access::load, lane);
  std::memcpy(w.port->at(w, Space::global, lane_address(w, in, 0, lane), 128, 128, Access::store, lane), from, 128);
  w.fenced |= mask;
}

}  // namespace

std::vector<Form> tensor_map_forms() {
  Section s("Tensor maps");
  replace_forms(s);
  s.whole<[](Warp& w, const Inst& in, u32 mask) { copy_map(w, in, mask); }>(
      "tensormap.cp_fenceproxy", {{Role::address, Value::U64}, {Role::address, Value::U64}, {Role::imm}}, Pipe::lsu);
  // fence.proxy.tensormap::generic: the acquiring form has an address and a size.
  s.whole<[](Warp&, const Inst&, u32) {}>("fence.proxy.tensormap", {{Role::address, Value::U64, 1, true}, {Role::imm, Value::U32, 1, true}},
                                          Pipe::control);
  return s.take();
}

}  // namespace cutegen::vgpu
