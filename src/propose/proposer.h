// Who writes candidates: the playbook, a model, an agent, a stored run. The judge does not care which.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "candidate/candidate.h"
#include "task/analysis.h"
#include "task/task.h"

namespace cutegen {

// What a proposer may know of an earlier candidate.
struct Attempt {
  int id = 0;       // the node's number in the run, from 0
  int parent = -1;  // -1: none
  Candidate candidate;
  bool verified = false;
  std::optional<double> ms;       // median device time, when timed
  std::string why;                // the verdict's sentence when it fell short
  Json verdict = Json::object();  // judge/verdict.h's JSON: evidence, for proposers that can read it
};

struct ProposeContext {
  const Task& task;
  const Analysis& analysis;
  const std::vector<Attempt>& attempts;  // in order; empty at first
  std::string arch;                      // "sm_90a"
  int sm_count = 132;
};

struct Proposal {
  Candidate candidate;
  int parent = -1;        // id of the attempt that it improves, -1 for a fresh start
  std::string rationale;  // one sentence
};

class Proposer {
 public:
  virtual ~Proposer() = default;
  // The next candidate; nullopt when it has nothing more to try. Errc::unsupported with a clear sentence when it cannot
  // serve this task at all. Must depend on nothing but the context, so that a killed run resumes where it was.
  virtual Result<std::optional<Proposal>> propose(const ProposeContext& context) = 0;
  virtual std::string name() const = 0;
};

}  // namespace cutegen
