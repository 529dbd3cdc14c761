// Why a step inside the executor did not succeed: the candidate's doing (an Outcome) or the device's (an Error).
#pragma once

#include <optional>
#include <string>

#include "device/cuda/driver.h"
#include "device/device.h"

namespace cutegen::cuda {

struct Failure {
  std::optional<Error> error;  // set: the device or the request is to blame, and there is no outcome
  Outcome outcome;
  bool fatal = false;  // the CUDA context is lost; this process must be replaced
};

// Nothing when a step succeeded.
using Failed = std::optional<Failure>;

// What was being asked of the driver: the same code means different things while loading and while launching.
enum class Phase { load, launch, other };

Failed failed_if(const Driver& driver, CUresult code, Phase phase, const std::string& where);
Failed fault(OutcomeKind kind, std::string detail);
Failed device_error(Error error);

}  // namespace cutegen::cuda

// Returns from the enclosing function, which returns Failed, when the step failed.
#define CUTEGEN_STEP(...)                                       \
  do {                                                          \
    if (auto cutegen_step = (__VA_ARGS__)) return cutegen_step; \
  } while (false)
