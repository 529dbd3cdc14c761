// A candidate: one CUDA source file and what is known about it before it is built.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "task/task.h"

namespace cutegen {

enum class Backend { cute, cuda, ptx };  // cute: must really use CuTe layouts, tensors or atoms
const char* to_string(Backend backend);

struct Candidate {
  std::string source;  // the .cu file
  Backend backend = Backend::cute;
  std::string origin;            // proposer and move: "playbook:map/vec4"
  Json config = Json::object();  // the proposer's own parameters, for reports and for its next move

  std::string hash() const;  // of source and backend
};

// Static policy, before any build: forbidden constructs (host code, includes outside the allowed set, inline asm that ends the
// process, reading the environment ...), and for Backend::cute the use of CuTe. One finding a rule broken.
struct PolicyFinding {
  std::string rule;     // "no_host_code", "include_allowed", "uses_cute", "has_plan", ...
  std::string message;  // with the line
  int line = 0;         // 1-based, 0 when not tied to a line
};
std::vector<PolicyFinding> check_policy(const Candidate& candidate);
// The part of the policy that only the built code shows: device variables that outlive a launch, however they were spelled.
std::vector<PolicyFinding> check_ptx_policy(std::string_view ptx);

// PTX with register numbers, labels, comments and .loc normalised, hashed: equal for candidates that compile to the same code.
std::string normalised_ptx_hash(std::string_view ptx);

}  // namespace cutegen
