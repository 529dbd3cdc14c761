// Exclusive use of one GPU, among every process and user of the machine that asks through here.
//
// A lease is an advisory lock (flock) on a file that all users share, so the kernel lets go of it when its holder ends, also by kill -9:
// there are no stale locks. The file itself stays; it holds the last holder's process id, for the message that a waiter shows.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "device/device.h"

namespace cutegen {

// The lock file of a GPU: in $CUTEGEN_LOCK_DIR, else /run/lock when everybody may write there, else /tmp.
std::filesystem::path lease_path(const std::string& gpu);

// `gpu`: DeviceInfo::uuid, or an ordinal as text. Waits until the GPU is free; Errc::timeout at the deadline, naming the holder.
Result<std::unique_ptr<Lease>> acquire_gpu_lease(const std::string& gpu, Deadline deadline, const Clock& clock = system_clock());

}  // namespace cutegen
