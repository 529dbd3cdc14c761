// From source to PTX and cubin. An interface with two makers: nvcc (toolchain/nvcc.h) and a fake for tests.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "candidate/build.h"
#include "candidate/candidate.h"

namespace cutegen {

class Toolchain {
 public:
  virtual ~Toolchain() = default;
  virtual Result<BuildOutcome> build(const Task& task, const Candidate& candidate, Deadline deadline) = 0;
  virtual std::string version() const = 0;  // "nvcc 13.0.88, CUTLASS 4.2.0"
};

}  // namespace cutegen
