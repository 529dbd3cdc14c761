// What inspect shows of a task.
#pragma once

#include <string>
#include <vector>

#include "oracle/oracle.h"
#include "task/analysis.h"
#include "task/task.h"

namespace cutegen::cli {

struct Inspection {
  Task task;
  Analysis analysis;
  GpuRates rates;  // of the GPU here, else of the one that floors are stated for
  bool gpu_here = false;
  std::vector<Warning> warnings;
};

Inspection inspect_task(const Task& task, const OracleInfo& oracle);
std::string to_text(const Inspection& inspection);
Json to_json(const Inspection& inspection);

}  // namespace cutegen::cli
