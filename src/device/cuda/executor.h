// The executor: the child process in which candidates run. A faulting kernel poisons its process, so that process is not the parent's.
#pragma once

namespace cutegen {

// Serves requests (device/cuda/wire.h) on a connected stream socket until the peer closes it. The return value is the process's exit
// code: 0 after an orderly end, 1 when the device could not be opened, 2 after a malformed message, 3 when the CUDA context was lost.
int run_executor(int channel_fd);

}  // namespace cutegen
