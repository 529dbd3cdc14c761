#include "device/cuda/wire.h"

namespace cutegen::cuda {
namespace {

Json arg_to_wire(const PlanArg& a) { return Json::array({static_cast<uint32_t>(a.kind), a.index, a.offset, a.value, a.size}); }

Json launch_to_wire(const Launch& l) {
  Json args = Json::array();
  for (const PlanArg& a : l.args) args.push_back(arg_to_wire(a));
  return {{"kernel", l.kernel},           {"grid", l.grid}, {"block", l.block},       {"cluster", l.cluster}, {"smem", l.smem_bytes},
          {"cooperative", l.cooperative}, {"pdl", l.pdl},   {"args", std::move(args)}};
}

Json tensor_map_to_wire(const PlanTensorMap& m) {
  return {{"dtype", to_string(m.dtype)},
          {"buffer", static_cast<uint32_t>(m.buffer)},
          {"index", m.index},
          {"offset", m.offset},
          {"shape", m.shape},
          {"strides", m.strides},
          {"box", m.box},
          {"element_strides", m.element_strides},
          {"interleave", m.interleave},
          {"swizzle", m.swizzle},
          {"l2_promotion", m.l2_promotion},
          {"oob_fill", m.oob_fill}};
}

Result<PlanArg> arg_from_wire(const Json& j) {
  using Fields = std::tuple<uint32_t, uint32_t, uint64_t, uint64_t, uint32_t>;
  if (!j.is_array() || j.size() != std::tuple_size_v<Fields>) return Error{Errc::protocol, "a plan argument has five numbers", "", ""};
  for (const Json& field : j)
    if (!field.is_number_unsigned()) return Error{Errc::protocol, "a plan argument has five numbers", "", ""};
  const auto [kind, index, offset, value, size] = j.get<Fields>();
  return PlanArg{static_cast<ArgKind>(kind), index, offset, value, size};
}

Result<Launch> launch_from_wire(const Json& j) {
  using Dim = std::array<uint32_t, 3>;
  Launch l;
  CUTEGEN_TRY(l.kernel, json_get<std::string>(j, "kernel"));
  CUTEGEN_TRY(l.grid, json_get<Dim>(j, "grid"));
  CUTEGEN_TRY(l.block, json_get<Dim>(j, "block"));
  CUTEGEN_TRY(l.cluster, json_get<Dim>(j, "cluster"));
  CUTEGEN_TRY(l.smem_bytes, json_get<uint32_t>(j, "smem"));
  CUTEGEN_TRY(l.cooperative, json_get<bool>(j, "cooperative"));
  CUTEGEN_TRY(l.pdl, json_get<bool>(j, "pdl"));
  CUTEGEN_TRY(const Json args, json_get<Json>(j, "args"));
  for (const Json& entry : args) {
    CUTEGEN_TRY(PlanArg arg, arg_from_wire(entry));
    l.args.push_back(arg);
  }
  return l;
}

Result<PlanTensorMap> tensor_map_from_wire(const Json& j) {
  PlanTensorMap m;
  CUTEGEN_TRY(const std::string dtype, json_get<std::string>(j, "dtype"));
  const auto parsed = parse_dtype(dtype);
  if (!parsed) return Error{Errc::protocol, "unknown dtype '" + dtype + "' in a tensor map", "", ""};
  m.dtype = *parsed;
  CUTEGEN_TRY(const uint32_t buffer, json_get<uint32_t>(j, "buffer"));
  m.buffer = static_cast<ArgKind>(buffer);
  CUTEGEN_TRY(m.index, json_get<uint32_t>(j, "index"));
  CUTEGEN_TRY(m.offset, json_get<uint64_t>(j, "offset"));
  CUTEGEN_TRY(m.shape, json_get<std::vector<uint64_t>>(j, "shape"));
  CUTEGEN_TRY(m.strides, json_get<std::vector<uint64_t>>(j, "strides"));
  CUTEGEN_TRY(m.box, json_get<std::vector<uint32_t>>(j, "box"));
  CUTEGEN_TRY(m.element_strides, json_get<std::vector<uint32_t>>(j, "element_strides"));
  CUTEGEN_TRY(m.interleave, json_get<uint32_t>(j, "interleave"));
  CUTEGEN_TRY(m.swizzle, json_get<uint32_t>(j, "swizzle"));
  CUTEGEN_TRY(m.l2_promotion, json_get<uint32_t>(j, "l2_promotion"));
  CUTEGEN_TRY(m.oob_fill, json_get<uint32_t>(j, "oob_fill"));
  return m;
}

}  // namespace

Json to_wire(const Build& build) {
  Json launches = Json::array();
  for (const Launch& l : build.plan.launches) launches.push_back(launch_to_wire(l));
  Json maps = Json::array();
  for (const PlanTensorMap& m : build.plan.tensor_maps) maps.push_back(tensor_map_to_wire(m));
  return {{"key", build.key},
          {"cubin", build.cubin.string()},
          {"ptx", build.ptx.string()},
          {"launches", std::move(launches)},
          {"tensor_maps", std::move(maps)},
          {"workspace", build.plan.workspace_bytes},
          {"workspace_zeroed", build.plan.workspace_zeroed}};
}

Result<std::shared_ptr<const Build>> build_from_wire(const Json& j) {
  auto build = std::make_shared<Build>();
  CUTEGEN_TRY(build->key, json_get<std::string>(j, "key"));
  CUTEGEN_TRY(build->cubin, json_get<std::string>(j, "cubin"));
  CUTEGEN_TRY(build->ptx, json_get<std::string>(j, "ptx"));
  CUTEGEN_TRY(build->plan.workspace_bytes, json_get<uint64_t>(j, "workspace"));
  CUTEGEN_TRY(build->plan.workspace_zeroed, json_get<bool>(j, "workspace_zeroed"));
  CUTEGEN_TRY(const Json launches, json_get<Json>(j, "launches"));
  for (const Json& entry : launches) {
    CUTEGEN_TRY(Launch launch, launch_from_wire(entry));
    build->plan.launches.push_back(std::move(launch));
  }
  CUTEGEN_TRY(const Json maps, json_get<Json>(j, "tensor_maps"));
  for (const Json& entry : maps) {
    CUTEGEN_TRY(PlanTensorMap map, tensor_map_from_wire(entry));
    build->plan.tensor_maps.push_back(std::move(map));
  }
  return std::shared_ptr<const Build>(std::move(build));
}

}  // namespace cutegen::cuda
