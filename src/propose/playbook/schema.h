// A schema is one family of kernels that the playbook can write: how to recognise a task, which configurations there are,
// and how to write the source of one. A new family is one file that defines a Schema, and its line in registry.cc.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "task/analysis.h"
#include "task/task.h"

namespace cutegen::playbook {

// One dimension of a schema's space. The search takes one step along each axis in turn, then two: the likeliest to gain first.
struct Axis {
  std::string name;          // a member of the configuration: "threads"
  std::vector<Json> values;  // all values worth trying, in order: neighbours in the list are neighbours in the space
  std::string why;           // what it trades, for the rationale: "more bytes in flight a thread against registers"
};

struct MatchContext {
  const Task& task;  // with a graph
  std::string arch;  // "sm_90a"
  int sm_count = 132;
  std::filesystem::path kernels_dir;  // the templates: <kernels_dir>/<family>/*.cu.mustache
};

// A task that a schema has recognised. It owns what it needs; the context need not outlive it.
class Match {
 public:
  virtual ~Match() = default;
  // A JSON object of the schema's own parameters, fit for this task.
  virtual Json default_config() const = 0;
  // The axes around `config`; may depend on it (a strategy has its own axes). Each is tried one factor at a time.
  virtual std::vector<Axis> axes(const Json& config) const = 0;
  // The configuration with one member changed, other members adapted where the new one requires it; an error (Errc::unsupported)
  // when it has no sensible meaning for this task. The playbook drops such moves.
  virtual Result<Json> with(const Json& config, const std::string& axis, const Json& value) const = 0;
  // The candidate's source. Errors are bugs or a template that does not fit (Errc::internal, Errc::io).
  virtual Result<std::string> render(const Json& config) const = 0;
  // One short phrase for the rationale: "softmax over 393216 of 4096 rows, a cluster of 8 CTAs a row".
  virtual std::string describe(const Json& config) const = 0;
};

struct Schema {
  std::string name;  // "map", "row", "gemm"
  // Errc::unsupported with one sentence that names the operator that it cannot do.
  std::function<Result<std::unique_ptr<Match>>(const MatchContext&)> match;
};

// All schemas, in the order in which they are asked (registry.cc).
const std::vector<Schema>& schemas();

}  // namespace cutegen::playbook
