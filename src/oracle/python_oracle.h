// The Oracle in a Python process (python/cutegen_oracle): imports the user's file with the user's torch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "oracle/oracle.h"

namespace cutegen {

struct OracleConfig {
  std::filesystem::path task;         // the user's file
  std::string python;                 // interpreter; empty: see find_python()
  std::string device = "auto";        // "auto", "cpu" or "cuda"
  int64_t memory_limit_bytes = 0;     // of CPU memory; 0: most of what is free
  std::filesystem::path package_dir;  // holds cutegen_oracle/; empty: python/ of data_dir()
  std::filesystem::path log;          // what the process and the user's file print, appended; empty: a temporary file
  uint32_t poison = 0x7fc0dead;       // what devices fill outputs with (RunRequest::poison)
  Seconds start_limit{120};           // importing torch, reaching the GPU
  Seconds inspect_limit{300};         // importing the user's file and tracing it
  Seconds trial_limit{300};           // a trial's inputs, reference and float64 run
  Seconds compare_limit{120};
};

// $CUTEGEN_PYTHON, else `preferred`, else the first of python3 on PATH and /usr/bin/python3 that has torch.
// Errc::missing_dependency when there is none.
Result<std::string> find_python(const std::string& preferred = {});

// Starts the process, loads and traces the file. A mistake in the user's file is Errc::invalid_input, its message Python's own
// with file and line, its detail the traceback trimmed to the user's frames. Too little memory is Errc::unsupported.
//
// Every request has a deadline. A process that misses one or ends by itself is an Error (Errc::timeout, Errc::io) that carries the
// log's tail, and the next request starts a fresh one: trial ids stay good, their handles do not. For one thread at a time.
Result<std::unique_ptr<Oracle>> start_python_oracle(const OracleConfig& config, const Clock& clock = system_clock());

}  // namespace cutegen
