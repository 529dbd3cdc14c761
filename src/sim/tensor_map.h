// The driver functions that programs reach through cudaGetDriverEntryPoint.
#pragma once

namespace cutegen::sim {

// nullptr when the driver function is not supported.
void* driver_function(const char* name);

}  // namespace cutegen::sim
