// The row family's choices: which strategies fit a domain, with which parameters, and why.
#pragma once

#include <string>
#include <vector>

#include "propose/playbook/schema.h"

namespace cutegen::playbook {

// What the choice of a strategy depends on.
struct RowFacts {
  int64_t outer = 1, reduced = 1, inner = 1;  // the domain
  int passes = 1;                             // reduction passes that depend on each other
  bool has_map = false;                       // an output varies along the row
  int leaves = 1;                             // operands that vary along the row
  int64_t kept_bytes = 4;                     // a position's bytes over the operands worth keeping on chip
  int widest = 4;                             // largest operand element, bytes
  int best_vec = 4;                           // largest useful access, elements: divides the contiguous extent
  int sm_count = 132;
};

// "registers", "cluster", "split", "stream" (inner == 1); "column_registers", "column_split", "column_stream" (inner > 1).
// Best guess first. Never empty: the streams serve every shape.
std::vector<std::string> row_strategies(const RowFacts& facts);

// The strategy's parameters for these facts: {"strategy": "stream", "threads": 256, "vec": 4, "unroll": 4}.
Json row_config(const RowFacts& facts, const std::string& strategy);

// "strategy" itself first (structure before its parameters), then the axes of the configuration's strategy.
std::vector<Axis> row_axes(const RowFacts& facts, const Json& config);

// Why `config` cannot run (Errc::unsupported), if it cannot: too many threads, registers or bytes of shared memory.
Result<void> check_row_config(const RowFacts& facts, const Json& config);

// "a cluster of 8 CTAs keeps each row of 393216 in shared memory: one read, one write".
std::string describe_row(const RowFacts& facts, const Json& config);

}  // namespace cutegen::playbook
