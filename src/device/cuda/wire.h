// What the parent and the executor say to each other: one JSON object a frame.
//
//   parent:   {"op": "hello", "ordinal": 0}
//   executor: {"info": {...}, "pid": 4711} | {"error": {...}}
//   parent:   {"op": "run"|"time", ...request..., "export": {"where", "shm_prefix"}}
//   executor: any number of {"progress": "launch 0 'scale'"}, then
//             {"outcome": {...}, ...result..., "fatal": bool} | {"error": {...}, "fatal": bool}
// "fatal": the executor's context is lost; it ends after this answer.
#pragma once

#include "base/json.h"
#include "device/cuda/transfer.h"
#include "device/device.h"

namespace cutegen::cuda {

Json to_wire(const Error& error);
Error error_from_wire(const Json& j);

Json to_wire(const DeviceInfo& info);
Result<DeviceInfo> device_info_from_wire(const Json& j);

Json to_wire(const Build& build);  // what an executor needs of it: key, files, plan
Result<std::shared_ptr<const Build>> build_from_wire(const Json& j);

Json to_wire(const ExportTo& to);
Result<ExportTo> export_from_wire(const Json& j);

Json to_wire(const RunRequest& request);
Result<RunRequest> run_request_from_wire(const Json& j);
Json to_wire(const TimeRequest& request);
Result<TimeRequest> time_request_from_wire(const Json& j);

Json to_wire(const RunResult& result);
Result<RunResult> run_result_from_wire(const Json& j);
Json to_wire(const TimeResult& result);
Result<TimeResult> time_result_from_wire(const Json& j);

}  // namespace cutegen::cuda
