// What a build is: files, plan, resources, diagnostics. Made by the toolchain, consumed by devices and the judge.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "candidate/plan.h"

namespace cutegen {

// What a compiler said, boiled down. The raw log is kept beside it.
struct Diagnostic {
  std::string severity;  // "error", "warning", "advisory"
  std::string file;      // as included: "candidate.cu", "cute/atom/copy_atom.hpp"
  int line = 0;
  std::string message;
  std::string user_line;   // the candidate's line that led there, with its text; empty if none
  std::string cute_frame;  // innermost CuTe frame of an instantiation chain; empty if none
  int repeats = 1;         // duplicates folded into this one
};

struct KernelResources {  // of one kernel, from ptxas -v
  std::string name;
  int registers = 0;
  int smem_bytes = 0;  // static
  int stack_bytes = 0;
  int spill_store_bytes = 0;
  int spill_load_bytes = 0;
  int barriers = 0;
};

struct Build {
  std::string key;            // content address of everything that went in
  std::filesystem::path ptx;  // files in the build cache, never changed once there
  std::filesystem::path cubin;
  std::string arch;  // "sm_90a"
  Plan plan;
  std::vector<KernelResources> kernels;
  std::vector<Diagnostic> advisories;
  std::string ptx_hash;  // normalised_ptx_hash of the PTX
  double seconds = 0;    // of the build that made it
  bool cached = false;   // this call found it in the cache
};

struct BuildFailure {
  std::string stage;                    // "policy", "nvcc", "ptxas", "plan"
  std::vector<Diagnostic> diagnostics;  // the first is the one to read
  std::filesystem::path raw_log;
  std::string summary() const;  // a few lines for a terminal or a prompt
};

// A build that the compiler rejects is an outcome, not an Error; Error is for a missing compiler, a full disk, a time-out.
struct BuildOutcome {
  std::shared_ptr<const Build> build;           // set on success
  std::shared_ptr<const BuildFailure> failure;  // set otherwise
};

}  // namespace cutegen
