// Names and sentences of the CUDA runtime's error codes.
#pragma once

namespace cutegen::sim {

const char* error_name(int code);  // "cudaErrorIllegalAddress"; "unrecognized error code" for others, as the runtime says
const char* error_text(int code);

}  // namespace cutegen::sim
