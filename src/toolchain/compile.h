// One compilation, uncached: source to PTX to cubin in a folder, with what the compilers said.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/clock.h"
#include "candidate/build.h"
#include "task/task.h"
#include "toolchain/locate.h"

namespace cutegen {

// The files and facts of a compilation that ended, well or badly.
struct Compiled {
  BuildOutcome outcome;                      // its paths are not set yet
  std::map<std::string, std::string> files;  // candidate.cu, task.h, log.txt, and as far as it came candidate.ptx, candidate.cubin
};

// nvcc's flags for every candidate, without paths. They are part of the build's key.
std::vector<std::string> compile_flags(const std::string& arch);

// Works in the folder `work`. Errors: timeout; missing_dependency when the tools themselves do not work; io.
Result<Compiled> compile(const Tools& tools, const std::string& arch, const Task& task, const std::string& source,
                         const std::filesystem::path& work, Deadline deadline);

// Limits that show only once the resources are known: shared memory and registers of each launch. Empty when all is well.
std::vector<Diagnostic> check_resources(const Plan& plan, const std::vector<KernelResources>& kernels);

}  // namespace cutegen
