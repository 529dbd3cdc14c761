// Predicts how long a launch takes on a GPU that is not there.
//
//   CUTEGEN_TRY(const GpuProfile gpu, load_gpu_profile("gpus/h200.json"));
//   Forecast f = forecast(gpu, **program, memory, launch, resources, {});
//   f.seconds, f.limiter, f.work ...
//
// Runs the launch (or a sample of its CTAs, if it is long) on the virtual GPU with a Profiler, and adds up: see docs/vgpu-model.md.
#pragma once

#include "vgpu/time/machine_code.h"
#include "vgpu/time/occupancy.h"
#include "vgpu/time/profiler.h"
#include "vgpu/vgpu.h"

namespace cutegen::vgpu {

struct ForecastOptions {
  double budget = 2e6;  // PTX warp instructions to run before CTAs are left out
  Seconds time_limit{0};
};

// Seconds of each term, had it the machine for itself.
struct Terms {
  double launch = 0, start = 0;  // fixed; starting CTAs
  double latency = 0;            // CTAs one after another, at the occupancy that fits
  double issue = 0, alu = 0, fma = 0, fp64 = 0, xu = 0, lsu = 0, shared = 0, tensor = 0;  // an SM's pipes
  double sm_l2 = 0, l2 = 0, dram = 0, atomics = 0;
};

struct Forecast {
  std::optional<Fault> fault;  // of the launch; nothing else is set then
  double seconds = 0;
  Terms terms;
  const char* limiter = "";  // the name of the largest term
  Occupancy occupancy;
  Work work;                        // of all CTAs, those that were not run included
  double sampled_share = 1;         // of the CTAs; 1: all ran
  double machine_instructions = 0;  // estimate of what the GPU issues
  bool ok() const { return !fault.has_value(); }
};

// `code`: of this kernel; nullptr when there is no cubin, then `registers` is taken as 32.
Forecast forecast(const GpuProfile& gpu, const Program& program, Memory& memory, const LaunchConfig& launch, const MachineCode* code,
                  const ForecastOptions& options = {});

// The terms and their sum for work that is known. `grid`: CTAs.
Terms terms_of(const GpuProfile& gpu, const Work& work, double machine_instructions, uint64_t grid, uint32_t threads,
               const Occupancy& occupancy);
double seconds_of(const GpuProfile& gpu, const Terms& terms, const char** limiter);

}  // namespace cutegen::vgpu
