#include "task/shared_tensor.h"

namespace cutegen {

void to_json(Json& j, const SharedTensor& t) {
  j = Json(t.spec);
  j["where"] = t.where == SharedTensor::Where::cuda_ipc ? "cuda_ipc" : "shm";
  j["handle"] = t.handle;
  j["offset"] = t.offset;
}

Result<SharedTensor> shared_tensor_from_json(const Json& j) {
  SharedTensor t;
  CUTEGEN_TRY(t.spec, tensor_spec_from_json(j));
  CUTEGEN_TRY(const auto where, json_get<std::string>(j, "where"));
  if (where != "cuda_ipc" && where != "shm") return Error{Errc::protocol, "unknown place '" + where + "' of a shared tensor", "", ""};
  t.where = where == "shm" ? SharedTensor::Where::shm : SharedTensor::Where::cuda_ipc;
  CUTEGEN_TRY(t.handle, json_get<std::string>(j, "handle"));
  t.offset = json_or<int64_t>(j, "offset", 0);
  return t;
}

}  // namespace cutegen
