#include "device/cuda/wire.h"

namespace cutegen::cuda {
namespace {

constexpr Errc kErrcs[] = {Errc::invalid_input, Errc::missing_dependency, Errc::io,        Errc::timeout,     Errc::compile_failed,
                           Errc::device,        Errc::protocol,           Errc::cancelled, Errc::unsupported, Errc::internal};

Json tensors_to_wire(const std::vector<SharedTensor>& tensors) {
  Json list = Json::array();
  for (const SharedTensor& t : tensors) list.push_back(t);
  return list;
}

Json specs_to_wire(const std::vector<TensorSpec>& specs) {
  Json list = Json::array();
  for (const TensorSpec& s : specs) list.push_back(s);
  return list;
}

Result<std::vector<SharedTensor>> tensors_from_wire(const Json& list) {
  std::vector<SharedTensor> tensors;
  for (const Json& entry : list) {
    CUTEGEN_TRY(SharedTensor tensor, shared_tensor_from_json(entry));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Result<std::vector<SharedTensor>> tensors_at(const Json& j, const char* key) {
  CUTEGEN_TRY(const Json list, json_get<Json>(j, key));
  return tensors_from_wire(list);
}

Result<std::vector<TensorSpec>> specs_at(const Json& j, const char* key) {
  CUTEGEN_TRY(const Json list, json_get<Json>(j, key));
  std::vector<TensorSpec> specs;
  for (const Json& entry : list) {
    CUTEGEN_TRY(TensorSpec spec, tensor_spec_from_json(entry));
    specs.push_back(std::move(spec));
  }
  return specs;
}

Result<std::shared_ptr<const Build>> build_at(const Json& j) {
  CUTEGEN_TRY(const Json build, json_get<Json>(j, "build"));
  return build_from_wire(build);
}

Json outcome_to_wire(const Outcome& outcome) { return {{"kind", to_string(outcome.kind)}, {"detail", outcome.detail}}; }

Result<Outcome> outcome_at(const Json& j) {
  CUTEGEN_TRY(const Json o, json_get<Json>(j, "outcome"));
  CUTEGEN_TRY(const std::string kind, json_get<std::string>(o, "kind"));
  CUTEGEN_TRY(std::string detail, json_get<std::string>(o, "detail"));
  const auto parsed = parse_outcome_kind(kind);
  if (!parsed) return Error{Errc::protocol, "unknown outcome '" + kind + "'", "", ""};
  return Outcome{*parsed, std::move(detail)};
}

Json clocks_to_wire(const ClockReading& c) {
  return {{"sm_mhz", c.sm_mhz},
          {"memory_mhz", c.memory_mhz},
          {"temperature_c", c.temperature_c},
          {"power_w", c.power_w},
          {"throttle_reasons", c.throttle_reasons}};
}

ClockReading clocks_at(const Json& j, const char* key) {
  const Json c = json_or(j, key, Json::object());
  return {json_or(c, "sm_mhz", 0.0), json_or(c, "memory_mhz", 0.0), json_or(c, "temperature_c", 0.0), json_or(c, "power_w", 0.0),
          json_or(c, "throttle_reasons", uint64_t{0})};
}

}  // namespace

Json to_wire(const Error& error) {
  return {{"code", to_string(error.code)}, {"message", error.message}, {"hint", error.hint}, {"detail", error.detail}};
}

Error error_from_wire(const Json& j) {
  Error error{Errc::protocol, json_or(j, "message", std::string("the executor failed")), json_or(j, "hint", std::string()),
              json_or(j, "detail", std::string())};
  const std::string code = json_or(j, "code", std::string());
  for (const Errc e : kErrcs)
    if (code == to_string(e)) error.code = e;
  return error;
}

Json to_wire(const DeviceInfo& info) {
  return {{"name", info.name},        {"uuid", info.uuid},         {"driver", info.driver},
          {"arch", info.arch},        {"sm_count", info.sm_count}, {"memory_bytes", info.memory_bytes},
          {"l2_bytes", info.l2_bytes}};
}

Result<DeviceInfo> device_info_from_wire(const Json& j) {
  DeviceInfo info;
  info.kind = DeviceKind::cuda;
  CUTEGEN_TRY(info.name, json_get<std::string>(j, "name"));
  CUTEGEN_TRY(info.uuid, json_get<std::string>(j, "uuid"));
  CUTEGEN_TRY(info.driver, json_get<std::string>(j, "driver"));
  CUTEGEN_TRY(info.arch, json_get<std::string>(j, "arch"));
  CUTEGEN_TRY(info.sm_count, json_get<int>(j, "sm_count"));
  CUTEGEN_TRY(info.memory_bytes, json_get<int64_t>(j, "memory_bytes"));
  CUTEGEN_TRY(info.l2_bytes, json_get<int64_t>(j, "l2_bytes"));
  return info;
}

Json to_wire(const ExportTo& to) {
  return {{"where", to.where == SharedTensor::Where::shm ? "shm" : "cuda_ipc"}, {"shm_prefix", to.shm_prefix}};
}

Result<ExportTo> export_from_wire(const Json& j) {
  CUTEGEN_TRY(const Json e, json_get<Json>(j, "export"));
  CUTEGEN_TRY(const std::string where, json_get<std::string>(e, "where"));
  CUTEGEN_TRY(std::string prefix, json_get<std::string>(e, "shm_prefix"));
  return ExportTo{where == "shm" ? SharedTensor::Where::shm : SharedTensor::Where::cuda_ipc, std::move(prefix)};
}

Json to_wire(const RunRequest& request) {
  return {{"op", "run"},
          {"build", to_wire(*request.build)},
          {"inputs", tensors_to_wire(request.inputs)},
          {"params", tensors_to_wire(request.params)},
          {"outputs", specs_to_wire(request.outputs)},
          {"poison", request.poison},
          {"time_limit_s", request.time_limit.count()},
          {"graph", request.graph}};
}

Result<RunRequest> run_request_from_wire(const Json& j) {
  RunRequest request;
  CUTEGEN_TRY(request.build, build_at(j));
  CUTEGEN_TRY(request.inputs, tensors_at(j, "inputs"));
  CUTEGEN_TRY(request.params, tensors_at(j, "params"));
  CUTEGEN_TRY(request.outputs, specs_at(j, "outputs"));
  CUTEGEN_TRY(request.poison, json_get<uint32_t>(j, "poison"));
  CUTEGEN_TRY(const double limit, json_get<double>(j, "time_limit_s"));
  CUTEGEN_TRY(request.graph, json_get<bool>(j, "graph"));
  request.time_limit = Seconds(limit);
  return request;
}

Json to_wire(const TimeRequest& request) {
  Json sets = Json::array();
  for (const auto& set : request.input_sets) sets.push_back(tensors_to_wire(set));
  return {{"op", "time"},
          {"build", to_wire(*request.build)},
          {"input_sets", std::move(sets)},
          {"params", tensors_to_wire(request.params)},
          {"outputs", specs_to_wire(request.outputs)},
          {"warmup", request.warmup},
          {"repeats", request.repeats},
          {"cold_l2", request.cold_l2},
          {"time_limit_s", request.time_limit.count()}};
}

Result<TimeRequest> time_request_from_wire(const Json& j) {
  TimeRequest request;
  CUTEGEN_TRY(request.build, build_at(j));
  CUTEGEN_TRY(const Json sets, json_get<Json>(j, "input_sets"));
  for (const Json& set : sets) {
    CUTEGEN_TRY(auto tensors, tensors_from_wire(set));
    request.input_sets.push_back(std::move(tensors));
  }
  CUTEGEN_TRY(request.params, tensors_at(j, "params"));
  CUTEGEN_TRY(request.outputs, specs_at(j, "outputs"));
  CUTEGEN_TRY(request.warmup, json_get<int>(j, "warmup"));
  CUTEGEN_TRY(request.repeats, json_get<int>(j, "repeats"));
  CUTEGEN_TRY(request.cold_l2, json_get<bool>(j, "cold_l2"));
  CUTEGEN_TRY(const double limit, json_get<double>(j, "time_limit_s"));
  request.time_limit = Seconds(limit);
  return request;
}

Json to_wire(const RunResult& result) {
  return {{"outcome", outcome_to_wire(result.outcome)},
          {"outputs", tensors_to_wire(result.outputs)},
          {"output_hashes", result.output_hashes},
          {"used_graph", result.used_graph}};
}

Result<RunResult> run_result_from_wire(const Json& j) {
  RunResult result;
  CUTEGEN_TRY(result.outcome, outcome_at(j));
  CUTEGEN_TRY(result.outputs, tensors_at(j, "outputs"));
  CUTEGEN_TRY(result.output_hashes, json_get<std::vector<uint64_t>>(j, "output_hashes"));
  CUTEGEN_TRY(result.used_graph, json_get<bool>(j, "used_graph"));
  return result;
}

Json to_wire(const TimeResult& result) {
  return {{"outcome", outcome_to_wire(result.outcome)},
          {"ms", result.ms},
          {"before", clocks_to_wire(result.before)},
          {"after", clocks_to_wire(result.after)}};
}

Result<TimeResult> time_result_from_wire(const Json& j) {
  TimeResult result;
  CUTEGEN_TRY(result.outcome, outcome_at(j));
  CUTEGEN_TRY(result.ms, json_get<std::vector<double>>(j, "ms"));
  result.before = clocks_at(j, "before");
  result.after = clocks_at(j, "after");
  return result;
}

}  // namespace cutegen::cuda
