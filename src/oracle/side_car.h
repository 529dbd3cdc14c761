// The Python process behind PythonOracle: one request, one answer, each under a deadline.
#pragma once

#include <optional>
#include <string>

#include "base/subprocess.h"
#include "oracle/python_oracle.h"

namespace cutegen {

class SideCar {
 public:
  SideCar(OracleConfig config, std::string python, const Clock& clock);
  ~SideCar();  // lets the process end by itself for a moment, then kills it
  SideCar(const SideCar&) = delete;
  SideCar& operator=(const SideCar&) = delete;

  // Starts a process when none is running, and greets it. `doing` completes "... while ".
  Result<void> start();
  bool running() const { return child_.has_value(); }
  // Sends {"op": op, ...} and returns the answer without its "ok". The process is gone after Errc::timeout, io and protocol errors
  // of the channel; not after an error that it answered with, unless it says that it has lost the GPU.
  Result<Json> ask(Json request, Seconds limit, const std::string& doing);
  const Json& hello() const { return hello_; }

 private:
  Error lost(const Error& error, Seconds limit, const std::string& doing);
  std::string log_tail() const;
  ExitStatus stop(Seconds grace);

  OracleConfig config_;
  std::string python_;
  const Clock& clock_;
  std::optional<Child> child_;
  uintmax_t log_begin_ = 0;  // where this process's part of the log starts
  Json hello_;
};

}  // namespace cutegen
